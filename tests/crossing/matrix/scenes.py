"""scenes.py - a run that ends in each way, with names that need escapes wherever one may stand."""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'formats' / 'snapshot'))
import snaps  # noqa: E402

MIB = 1 << 20
# what JSON, XML, Markdown, CSV, HTML, workflows and terminals each have to escape or to keep
WORD = 'q"b\\s/\n\r\t\b\x01\x1b[31m\x7f\x85é\u2028😀</td>|`*_<!--&::error::%0A,;=\'$(x)\\u0041'
PATH = 't"\\\n\x1b[31mé😀\'$(x)|<&>,;=%0A'       # of files: no slash, and no end


@dataclass(frozen=True)
class Scene:
    """A trace, and how a run of it under each of the policies ends."""
    name: str
    trace: bytes
    status: int                     # of run
    policies: tuple = ('bestfit',)
    options: tuple = ()             # of run, and of diff
    conditions: tuple = ()          # that hold
    cause: str = ''                 # of the first out-of-memory under the first policy
    marks: int = 0                  # that this run gets to on device 0
    devices: int = 1
    snapshot: bool = False          # the trace is one
    mark: str = WORD                # their name

    def __str__(self) -> str:
        return self.name

    @property
    def decided(self) -> bool:
        """Whether PyTorch would have served a request before the first that failed."""
        return self.name not in ('no events', 'capacity', 'initial pool')

    @property
    def choices(self) -> list:
        """The words that a run and a comparison of these policies need."""
        return self.words(self.policies)

    @property
    def replayed(self) -> list:
        """The same for a replay, which moves nothing."""
        return self.words(x for x in self.policies if not x.startswith('compact'))

    def words(self, policies: Iterable) -> list:
        return [*(word for policy in policies for word in ('-p', policy)), *self.options]

    @property
    def judged(self) -> list:
        return [word for condition in self.conditions for word in ('--fail-if', condition)]


def alloc(number: object, size: int, **more: object) -> dict:
    return {'op': 'alloc', 'id': number, 'size': size, 'tag': f'{WORD} {size}', **more}


def free(number: object, **more: object) -> dict:
    return {'op': 'free', 'id': number, **more}


MARK = {'op': 'mark', 'name': WORD}


HEAD = {'format': 'fragsim-trace', 'version': 1, 'devices': [{'name': f'{WORD} 0'}],
        'meta': {'source': WORD, WORD: [WORD]}}


def lines(*events: dict, devices: tuple = ({},)) -> bytes:
    named = [{'name': f'{WORD} {i}', **device} for i, device in enumerate(devices)]
    return ''.join(json.dumps(x) + '\n' for x in ({**HEAD, 'devices': named}, *events)).encode()


def limited(mib: int) -> tuple:
    return ({'total_bytes': mib * MIB},)


ALL_OPS = (
    MARK, alloc(WORD, 3 * MIB, stream=WORD, t=1.5), alloc(2, 1000, t=2),
    {'op': 'record_stream', 'id': WORD, 'stream': 4, 't': 3}, free(WORD, t=4),
    free(2, pending=True, t=5), {'op': 'sync', 'stream': 4, 't': 6},
    {'op': 'complete', 'id': 2, 't': 7}, alloc(3, 0, t=8), alloc('', 5 * MIB, t=8.25),
    {'op': 'set_fraction', 'value': 1, 't': 9}, {'op': 'empty_cache', 't': 9}, {**MARK, 't': 10})

HERE = {**MARK, 'device': 0}
# 1 MiB in each half of three segments of 2 MiB; one of each goes. 4 MiB find three holes of 1 MiB
# and 2 MiB of the device: 5 MiB, not in one piece
HOLES = (*(alloc(i or WORD, MIB) for i in range(6)), HERE, *(free(i or WORD) for i in (0, 2, 4)),
         alloc('last', 4 * MIB), HERE)
THERE = (alloc('b', MIB, device=1), {**MARK, 'device': 1}, free('b'), alloc('c', 9 * MIB, device=1))
POOLS = (alloc(1, MIB, pool=WORD), alloc(2, 3 * MIB, pool=7), free(1), MARK,
         alloc(3, 12 * MIB, pool=WORD), free(2), {'op': 'empty_cache'},
         alloc(4, 64 * MIB, pool=WORD))
SETTINGS = ({'op': 'configure', 'value': 'garbage_collection_threshold:0.5'},
            alloc(1, 30 * MIB, stream=WORD), MARK, alloc(2, 5 * MIB, stream=1), free(1),
            alloc(3, 61 * MIB, stream=1))

SCENES = (
    Scene('no events', json.dumps({**HEAD, 'events': []}).encode(), 0, ('bestfit', 'pytorch')),
    Scene('done', lines(*ALL_OPS, devices=limited(64)), 0, ('bestfit', 'sizeclass', 'pytorch'),
          marks=2),
    Scene('fragmentation', lines(*HOLES, devices=limited(8)), 3, ('bestfit', 'firstfit:align=1KiB'),
          cause='fragmentation', marks=1),
    # the second request does not fit; of pytorch the first does not, for which it wants 20 MiB
    Scene('capacity', lines(MARK, alloc(WORD, 2 * MIB), MARK, alloc(2, 4 * MIB),
                            devices=limited(4)), 3,
          ('bestfit', 'firstfit', 'nextfit', 'worstfit', 'buddy', 'sizeclass', 'tlsf',
           'direct', 'bfc', 'cupy', 'rmm', 'plan', 'pytorch', 'compact:over=bestfit'),
          cause='capacity', marks=2),
    Scene('initial pool', lines(MARK, alloc(1, MIB), devices=limited(4)), 3,
          ('bestfit:pool=8MiB', 'buddy:pool=8MiB', 'rmm:initial=8MiB'), cause='capacity'),
    Scene('on-oom continue', lines(*HOLES, free('last'), alloc(WORD, 9 * MIB), {**MARK, 't': 4},
                                   alloc('end', 512), devices=limited(8)), 3,
          ('bestfit', 'pytorch', 'direct'), ('--on-oom', 'continue'), cause='fragmentation',
          marks=3),
    Scene('fail-if', lines(*ALL_OPS), 1, ('bestfit', 'buddy'), (),
          ('peak.reserved > 1', 'any > 1000'), marks=2),
    Scene('fail-if after an out-of-memory', lines(*HOLES, devices=limited(8)), 1, ('bestfit',), (),
          ('oom > 0',), cause='fragmentation', marks=1),
    # no step takes place on the last one
    Scene('devices', lines(*HOLES, *THERE, devices=(*limited(8), *limited(16), {})), 3,
          ('bestfit', 'worstfit', 'pytorch:expandable_segments=true'), cause='fragmentation',
          marks=1, devices=3),
    Scene('private pools', lines(*POOLS, devices=limited(64)), 3, ('pytorch', 'bestfit'),
          cause='capacity', marks=1),
    Scene('settings', lines(*SETTINGS, devices=limited(60)), 3, ('pytorch', 'bestfit'),
          ('--alloc-conf', 'max_split_size_mb:200'), cause='capacity', marks=1),
)


def frames(*names: str) -> list:
    return [{'name': f'{name} {WORD}', 'filename': f'/{WORD}/{name}.py', 'line': 7}
            for name in names]


def recorded() -> bytes:
    """HOLES as PyTorch would have recorded it behind what was there before: 512 bytes in a small
    segment, where the first MiB finds room; the others fill small segments of their own."""
    at = [snaps.SMALL + i * 2 * MIB for i in range(4)]
    first = at[0] + 512 + 300 * snaps.K
    places = (first, at[1], at[1] + MIB, at[2], at[2] + MIB, at[3])
    log = snaps.Log().alloc(at[0] + 512, 300 * snaps.K, frames=frames('f', 'g'))
    for i, place in enumerate(places):
        if place in at:
            log.segment(place, 2 * MIB)
        log.alloc(place, MIB, frames=frames('f', f'h{i}'))
    for place in places[::2]:
        log.free(place, MIB)
    log.segment(snaps.LARGE, 20 * MIB).alloc(snaps.LARGE, 4 * MIB, frames=frames('last'))
    halves = [snaps.segment(place, snaps.block(place, MIB, frames=frames('f', f'h{2 * i + 1}')),
                            snaps.hole(place + MIB, MIB)) for i, place in enumerate(at[1:])]
    return snaps.pickled(snaps.snapshot([
        snaps.segment(at[0], snaps.block(at[0], 512, 100, frames=frames('before')),
                      snaps.block(at[0] + 512, 300 * snaps.K, frames=frames('f', 'g')),
                      snaps.hole(first, at[1] - first)), *halves,
        snaps.segment(snaps.LARGE, snaps.block(snaps.LARGE, 4 * MIB, frames=frames('last')),
                      snaps.hole(snaps.LARGE + 4 * MIB, 16 * MIB))],
        log, annotations=[{'stage': 'START', 'name': WORD, 'device': 0, 'time_us': 1002}]))


# of 10 MiB four segments are taken when 4 MiB are asked for; 3.3 of the 8 MiB are live
SCENES += (Scene('stacks', recorded(), 3, ('bestfit', 'firstfit'), ('--device-bytes', '10MiB'),
                 cause='fragmentation', marks=1, snapshot=True, mark=f'{WORD} (start)'),)
