"""mutants.py - documents with one thing changed, and whether the schemas see it."""

import copy
from collections.abc import Iterator

# Every member that a trace may have, in events that are good in this order.
TRACE = {
    'format': 'fragsim-trace', 'version': 1,
    'devices': [{'name': 'a', 'total_bytes': '1GiB', 'context_bytes': 0, 'other_bytes': 5,
                 'granularity_bytes': 4096}, {}],
    'meta': {'source': 'x'},
    'events': [
        {'op': 'alloc', 'id': 1, 'size': 1000, 'stream': 0, 'pool': 'p', 't': 1.5, 'tag': 'w',
         'device': 0},
        {'op': 'alloc', 'id': 'b', 'size': '1KiB'},
        {'op': 'record_stream', 'id': 1, 'stream': 3, 'device': 0},
        {'op': 'free', 'id': 1, 'pending': False, 't': 2},
        {'op': 'free', 'id': 'b', 'pending': True},
        {'op': 'complete', 'id': 'b'},
        {'op': 'sync', 'stream': 3, 'device': 0},
        {'op': 'sync'},
        {'op': 'empty_cache', 'device': 1},
        {'op': 'set_fraction', 'value': 0.5},
        {'op': 'configure', 'value': 'a:b'},
        {'op': 'mark', 'name': 'end', 'tag': 'x'},
        {'op': 'release_pool', 'pool': 'p', 'device': 0},
    ],
}
VALUES = (None, True, 0, -1, 1.5, 2.0, 2 ** 53 - 1, 2 ** 53, '', 'x', '1K', [], {}, [1], {'a': 1})

# those of a replay may lack it
LACKED = ('evidence',)

# What only the events before can tell, as the program words it.
BEYOND_A_SCHEMA = (r'live since|which is not live|is pending on one|does not exist|'
                   r'but it was allocated on')

Path = tuple[str | int, ...]


def paths(document: object, at: Path = ()) -> Iterator[Path]:
    """The paths to all values inside."""
    inside = (document.items() if isinstance(document, dict) else
              enumerate(document) if isinstance(document, list) else ())
    for key, value in inside:
        yield (*at, key)
        yield from paths(value, (*at, key))


def value_at(document: object, path: Path) -> object:
    for key in path:
        document = document[key]
    return document


def changed(document: dict, path: Path, *value: object) -> dict:
    """A copy in which the path holds the value, or without one nothing."""
    out = copy.deepcopy(document)
    inner = value_at(out, path[:-1])
    if value:
        inner[path[-1]] = value[0]
    else:
        del inner[path[-1]]
    return out


def name_of(path: Path) -> str:
    return '.'.join(map(str, path)) or '(all)'


def of_trace() -> Iterator[tuple[str, dict]]:
    """Mutants of TRACE, good and bad ones."""
    yield 'as it is', TRACE
    for path in paths(TRACE):
        yield f'{name_of(path)} missing', changed(TRACE, path)
        for value in VALUES:
            yield f'{name_of(path)} = {value!r}', changed(TRACE, path, value)
    for path in ((), *paths(TRACE)):
        if isinstance(value_at(TRACE, path), dict):
            yield f'{name_of(path)} and more', changed(TRACE, (*path, 'more'), [1])


def wrong_values(path: Path, value: object) -> list[object]:
    """Values that must not stand in the place of this one of a result."""
    if isinstance(value, bool):
        return [None, 'true', 1, []]
    if isinstance(value, int):
        nullable = path[-1] in ('device_free', 'at_least')
        negative = path[-1] == 'device_free' or (path[-2].startswith('oversize_') and path[-1] == 'current'
                                if len(path) > 1 and isinstance(path[-2], str) else False)
        return ['5', 1.5, True, [], {}, *([] if nullable else [None]), *([] if negative else [-1])]
    if isinstance(value, float):
        nullable = path[-1] == 'time_weighted_mean'
        return ['5', -1, 100.5, True, [], {}, *([] if nullable else [None])]
    if isinstance(value, str):
        return [5, True, [], {}, *([] if path[-2:] == ('device', 'name') else [None])]
    if value is None:
        return [*([] if path[-1] == 'grows' else [True]), [], {}]
    return [None, 'x', 5, True, {} if isinstance(value, list) else []]


def of_result(result: dict) -> Iterator[tuple[str, dict]]:
    """Mutants of a result, all of them bad. Of an answer result-bad.json has some: it may be
    missing, much of it may be null, and what may depends on the verdict."""
    for path in ((), *paths(result)):
        value = value_at(result, path)
        if 'answer' in path or 'params' in path[:-1] or path[-2:-1] == ('oom',) and path[-1:] == ('id',):
            continue
        if isinstance(value, dict) and path[-1:] != ('params',):
            yield f'{name_of(path)} and more', changed(result, (*path, 'more'), 1)
        if path and isinstance(path[-1], str) and path[-1] not in LACKED:
            yield f'{name_of(path)} missing', changed(result, path)
        if path and path[-1] != 'id':
            for wrong in wrong_values(path, value):
                yield f'{name_of(path)} = {wrong!r}', changed(result, path, wrong)
