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
        return {name: data[value[0]:value[0] + value[1]] if name in ('cells', 'tags', 'stacks')
                else unpacked(data, value) for name, value in node.items()}
    if isinstance(node, list):
        return [unpacked(data, x) for x in node]
    return node


def read(html: str) -> dict:
    """All facts, with texts and columns unpacked."""
    facts = facts_of(html)
    for i, section in enumerate(facts['sections']):
        data = gzip.decompress(base64.b64decode(section.pop('data'), validate=True))
        section = facts['sections'][i] = unpacked(data, section)
        for who in section['who']:
            who['tags'] = [json.loads(line) for line in who['tags'].decode().splitlines()]
            who['stacks'] = [[json.loads(f'"{frame}"') for frame in line.split('\t') if frame]
                             for line in who['stacks'].decode().split('\n')[:-1]]
    return facts
