"""reading.py - the facts of a report, decoded as its script does it, but in another language."""
import base64
import gzip
import json
import re

FIGURES = ('reserved', 'allocated', 'requested', 'non_releasable')


def facts_of(html: str) -> dict:
    """What is in the page's one data script, as JSON."""
    found = re.findall(r'<script type="application/json" id="facts">(.*?)</script>', html, re.S)
    assert len(found) == 1, f'{len(found)} scripts of data'
    return json.loads(found[0])


def column(data: bytes, place: list) -> list[int]:
    """Planes of bytes, the lowest first; maybe folded differences, and divided by a power of 2."""
    offset, count, planes, shift, differences = place
    values = [sum(data[offset + k * count + i] << 8 * k for k in range(planes))
              for i in range(count)]
    if differences:
        before = 0
        for i, value in enumerate(values):
            before += -((value + 1) // 2) if value % 2 else value // 2
            values[i] = before
    return [value << shift for value in values]


def is_place(value: object) -> bool:
    return isinstance(value, list) and len(value) == 5 and all(
        isinstance(x, (int, bool)) for x in value)


def unpacked(data: bytes, node: object) -> object:
    """The same with the columns in place of where they are."""
    if is_place(node):
        return column(data, node)
    if isinstance(node, dict):
        return {name: data[value[0]:value[0] + value[1]] if name in ('cells', 'tags', 'origins') or (name == 'stacks' and isinstance(value, list) and len(value) == 2)
                else unpacked(data, value) for name, value in node.items()}
    if isinstance(node, list):
        return [unpacked(data, x) for x in node]
    return node


PLACES_BACK = 16


def places(a: dict) -> list[int]:
    """Where each rectangle is: where another one of its size was that has ended, or so far from the one before."""
    unit = 1 << a['place_shift']
    ends = [birth + life for birth, life in zip(a['birth'], a['life'])]
    order = sorted(range(len(ends)), key=lambda i: (ends[i], i))
    left: dict[int, list[int]] = {}
    found: list[int] = []
    last = e = 0
    for i, code in enumerate(a['place']):
        while e < len(order) and order[e] < i and ends[order[e]] <= a['birth'][i]:
            left.setdefault(a['size'][order[e]], []).append(order[e])
            e += 1
        mine = left.setdefault(a['size'][i], [])
        if code:
            found.append(last + unit * (-(code // 2) if (code - 1) % 2 else (code - 1) // 2))
        else:
            found.append(found[mine[-1]])
        for k in range(1, min(PLACES_BACK, len(mine)) + 1):
            if found[mine[-k]] == found[i]:
                del mine[-k]
                break
        last = found[i] + a['bytes'][i]
    return found


def addresses(a: dict) -> list[int]:
    """Where the recording had each block: as far above its place as the last one near it, unless it is said by how much else."""
    above: list[int] = []
    last: dict[int, int] = {}
    for y, code in zip(a['y'], a['address']):
        expected = last.get(y >> 21, above[-1] if above else 0)
        above.append(expected + (-(code + 1) // 2 if code % 2 else code // 2))
        last[y >> 21] = above[-1]
    return [(by << a['address_shift']) + y for by, y in zip(above, a['y'])]


def stacks(lines: bytes) -> list[list[str]]:
    """The frames of each, the innermost first."""
    return [[json.loads(f'"{frame.removeprefix("*")}"') for frame in line.split('\t') if frame]
            for line in lines.decode().split('\n')[:-1]]


def read(html: str) -> dict:
    """All facts, with texts and columns unpacked."""
    facts = facts_of(html)
    for i, section in enumerate(facts['sections']):
        data = gzip.decompress(base64.b64decode(section.pop('data'), validate=True))
        section = facts['sections'][i] = unpacked(data, section)
        for who in section['who']:
            who['tags'] = [json.loads(line) for line in who['tags'].decode().splitlines()]
            who['stacks'] = stacks(who['stacks'])
        section['origins'] = [json.loads(line) for line in section.get('origins', b'').splitlines()]
        section['stacks'] = stacks(section.get('stacks', b''))
        for run in section['runs']:
            for a in run['blocks'], run['segments']:
                a['bytes'] = [a['sizes'][k] for k in a['size']]
                a['y'] = places(a)
                if 'address' in a:
                    a['address'] = addresses(a)
    return facts
