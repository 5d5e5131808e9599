"""torch_case.py - a case whose settings are PyTorch's, and its settings as fragsim's options.

In the header's `meta` stand `alloc_conf`, PyTorch's own string, `addresses`, where the fake device
puts new segments, and `torch`, where it is not the newest, the N of the version 2.N whose rules it
is held against.
"""
from collections.abc import Iterator
from dataclasses import dataclass, replace

from case import MIB, Case

ADDRESSES = ('rise', 'fall', 'reuse')
NEWEST = 15                     # the N of the version 2.N whose rules are the default
BY_ADDRESS = 11                 # up to this version, equal blocks are told apart by their address
BY_CREATION = 12                # in this version, by when they came to be
TOTAL = 80 << 30


@dataclass
class TorchCase(Case):
    """One trace, its device and its settings."""
    total: int = TOTAL
    conf: str = ''
    addresses: str = 'rise'
    version: int = NEWEST

    real = 'PyTorch'
    plain_sizes = (512, MIB, 2 * MIB, 10 * MIB, 20 * MIB)
    plain_units = (20 * MIB, 2 * MIB, MIB, 512)

    def take_settings(self) -> None:
        self.total = self.total or TOTAL
        self.conf = self.meta.pop('alloc_conf', '')
        self.addresses = self.meta.pop('addresses', 'rise')
        self.version = self.meta.pop('torch', NEWEST)

    def settings(self) -> dict:
        return {'alloc_conf': self.conf,
                **({'addresses': self.addresses} if self.addresses != 'rise' else {}),
                **({'torch': self.version} if self.version != NEWEST else {})}

    def options(self, _policy: str) -> list[str]:
        """The cases of odd seeds name their settings as keys."""
        if self.conf and self.meta.get('seed', 0) % 2:
            return ['--policy', policy_of(self.conf, self.version)]
        return ['--policy', policy_of('', self.version),
                *(['--alloc-conf', self.conf] if self.conf else [])]

    def plainer_settings(self) -> Iterator[Case]:
        for part in split_settings(self.conf):
            yield replace(self, conf=without(self.conf, part))
        yield replace(self, addresses='rise')

    def plainer_totals(self) -> tuple:
        return tuple(filter(None, (TOTAL, self.total // MIB * MIB,
                                   self.total // (100 * MIB) * 100 * MIB)))

    def plainer_members(self, event: dict) -> Iterator[dict]:
        parts = split_settings(event['value']) if event['op'] == 'configure' else ()
        for part in parts if len(parts) > 1 else ():
            yield dict(event, value=without(event['value'], part))
        yield from super().plainer_members(event)


def split_settings(conf: str) -> list[str]:
    """KEY:VALUE,KEY:[a:b,c:d] at the commas outside brackets."""
    parts, depth = [], 0
    for letter in conf:
        depth += (letter == '[') - (letter == ']')
        if not parts or (letter == ',' and depth == 0):
            parts.append('')
        if letter != ',' or depth:
            parts[-1] += letter
    return parts


def without(conf: str, part: str) -> str:
    return ','.join(other for other in split_settings(conf) if other != part)


def policy_of(conf: str, version: int = NEWEST) -> str:
    """A settings string as keys of the policy."""
    keys = conf.replace(':True', ':true').replace(':False', ':false')
    named = ['version=2.%d' % version] if version != NEWEST else []
    named += [part.replace(':', '=', 1) for part in split_settings(keys) if part]
    return 'pytorch' + ':' * bool(named) + ','.join(named)
