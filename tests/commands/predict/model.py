"""model.py - what each change of fragsim predict makes of a trace, from the manual's words.

A trace is a list of events, each a dict as in the lines form. resolve() gives those about a block
a number of it, "_b"; a block that a change adds has no "id" but a number.
"""
import copy
import fnmatch
import itertools
import math
import re
from fractions import Fraction

REFERS = ('free', 'complete', 'record_stream')
FRESH = itertools.count(10**9)


def resolve(events: list[dict]) -> list[dict]:
    live: dict = {}
    pending: dict = {}
    numbers = itertools.count()
    out = []
    for ev in events:
        ev = dict(ev)
        key = repr(ev.get('id'))
        if ev['op'] == 'alloc':
            live[key] = ev['_b'] = next(numbers)
        elif ev['op'] == 'record_stream':
            ev['_b'] = live[key]
        elif ev['op'] == 'free':
            ev['_b'] = live.pop(key)
            if ev.get('pending'):
                pending.setdefault(key, []).append(ev['_b'])
        elif ev['op'] == 'complete':
            ev['_b'] = pending[key].pop(0)
        out.append(ev)
    return out


def kind(name: str) -> str:
    return re.sub('[0-9]+', '#', name)


def lasting(events: list[dict]) -> set[int]:
    """The blocks that live long, by the rule of fragsim-what-if(1)."""
    born = {ev['_b']: i for i, ev in enumerate(events) if ev['op'] == 'alloc'}
    ends = {ev['_b']: i for i, ev in enumerate(events) if ev['op'] == 'free'}
    marks = [(i, kind(ev['name'])) for i, ev in enumerate(events) if ev['op'] == 'mark']
    kinds = [k for _, k in marks]
    repeating = [k for k in kinds if kinds.count(k) > 1]
    starts = [i for i, k in marks if repeating and k == repeating[0]]
    found = set()
    for block, birth in born.items():
        end = ends.get(block, len(events))
        never = block not in ends
        if not starts:
            if end - birth >= len(events) // 2 or (never and birth < len(events) // 10):
                found.add(block)
            continue
        before = sum(1 for i in starts if i <= birth)
        outlived = sum(1 for i in starts if i <= end) - before
        if (not before and (never or outlived >= 2)) or \
                (before and (outlived >= 2 or (never and outlived))):
            found.add(block)
    return found


def scale(events: list[dict], factor: str, tag: str = '', lasts: bool = False, least: int = 0) \
        -> list[dict]:
    long = lasting(events)
    out = []
    for ev in events:
        if ev['op'] == 'alloc' and ev['size'] >= least \
                and (not tag or ('tag' in ev and fnmatch.fnmatchcase(ev['tag'], tag))) \
                and (not lasts or ev['_b'] in long):
            ev = {**ev, 'size': math.ceil(Fraction(factor) * ev['size'])}
        out.append(ev)
    return out


def shard(events: list[dict], count: int, tag: str = '') -> list[dict]:
    return scale(events, f'1/{count}', tag, lasts=not tag)


def split(events: list[dict], most: int) -> list[dict]:
    pieces: dict[int, list[int]] = {}
    out = []
    for ev in events:
        if ev['op'] == 'alloc' and ev['size'] > most:
            left = ev['size']
            pieces[ev['_b']] = []
            while left > 0:
                piece = {**ev, 'size': min(most, left)}
                if pieces[ev['_b']]:
                    piece['_b'] = next(FRESH)
                    piece['id'] = None
                pieces[ev['_b']].append(piece['_b'])
                out.append(piece)
                left -= most
        elif ev['op'] in REFERS and ev['_b'] in pieces:
            for i, block in enumerate(pieces[ev['_b']]):
                out.append({**ev, '_b': block, 'id': None if i else ev['id']})
        else:
            out.append(ev)
    return out


def drop(events: list[dict], tag: str) -> list[dict]:
    gone = {ev['_b'] for ev in events if ev['op'] == 'alloc' and 'tag' in ev
            and fnmatch.fnmatchcase(ev['tag'], tag)}
    return [ev for ev in events if ev.get('_b') not in gone]


def isolate(events: list[dict], how: str) -> list[dict]:
    long = lasting(events)
    name, _, rest = how.partition(':')
    limits = [int(x) for x in rest.split(',')] if name == 'by=size' else []

    def group(ev: dict) -> str:
        if name == 'by=life':
            return 'long-lived' if ev['_b'] in long else ''
        if name == 'by=size':
            below = [x for x in limits if x <= ev['size']]
            return f'from {below[-1]} bytes' if below else ''
        if rest:
            return rest if 'tag' in ev and fnmatch.fnmatchcase(ev['tag'], rest) else ''
        return '=' + ev['tag'] if 'tag' in ev else ''

    groups = {group(ev) for ev in events if ev['op'] == 'alloc'}
    if len(groups) < 2:
        return events
    made: dict = {}
    out = []
    for ev in events:
        pool = ev.get('pool', 0)
        if ev['op'] == 'alloc' and group(ev):
            words = group(ev).removeprefix('=')
            ev = {**ev, 'pool': words or '-' if pool == 0 else f'{pool} {words}'}
            made.setdefault(repr(pool), [])
            if ev['pool'] not in made[repr(pool)]:
                made[repr(pool)].append(ev['pool'])
            out.append(ev)
        elif ev['op'] == 'release_pool':
            out.append(ev)
            out += [{**ev, 'pool': p} for p in made.get(repr(pool), [])]
        else:
            out.append(ev)
    return out


def at_time(ev: dict, of: dict) -> dict:
    ev = {k: v for k, v in ev.items() if k != 't'}
    return {**ev, 't': of['t']} if 't' in of else ev


def hoist(events: list[dict]) -> list[dict]:
    long = lasting(events)
    first = next((i for i, ev in enumerate(events) if ev['op'] == 'alloc'), len(events))
    seen: set = set()
    renamed = set()
    for ev in events:
        if ev['op'] == 'alloc':
            if ev['id'] is not None and repr(ev['id']) in seen and ev['_b'] in long:
                renamed.add(ev['_b'])
            seen.add(repr(ev['id']))
    out = events[:first]
    out += [at_time(ev, events[first]) for ev in events
            if ev['op'] == 'alloc' and ev['_b'] in long]
    out += [ev for ev in events[first:] if not (ev['op'] == 'alloc' and ev['_b'] in long)]
    return [{**ev, 'id': None} if ev.get('_b') in renamed else ev for ev in out]


def warmup(events: list[dict], mark: str) -> list[dict]:
    names = [(i, ev['name']) for i, ev in enumerate(events) if ev['op'] == 'mark']
    front = next(i for i, n in names if kind(n) == kind(mark))
    begin = next(i for i, n in names if n == mark)
    end = next((i for i, n in names if i > begin and kind(n) == kind(mark)), len(events))
    copies: dict[int, int] = {}
    state: dict[int, str] = {}
    early = []
    for ev in events[begin:end]:
        if ev['op'] == 'alloc':
            copies[ev['_b']] = next(FRESH)
            state[ev['_b']] = 'live'
        elif ev['op'] in REFERS and ev['_b'] in copies:
            if ev['op'] == 'free':
                state[ev['_b']] = 'pending' if ev.get('pending') else 'over'
            elif ev['op'] == 'complete':
                state[ev['_b']] = 'over'
        elif ev['op'] not in ('sync', 'empty_cache'):
            continue
        copied = copy.copy(ev)
        if '_b' in ev:
            copied.update(_b=copies[ev['_b']], id=None)
        early.append(copied)
    early += [{'op': 'free' if state[b] == 'live' else 'complete', 'id': None, '_b': copies[b]}
              for b in copies if state[b] != 'over']
    early = [at_time(ev, events[front]) for ev in early]
    return events[:front] + early + events[front:]


def preallocate(events: list[dict], size: int) -> list[dict]:
    seen: set = set()
    out = []
    for ev in events:
        if ev['op'] == 'alloc' and ev.get('device', 0) not in seen:
            seen.add(ev.get('device', 0))
            block = next(FRESH)
            out.append({**ev, 'size': size, 'id': None, '_b': block, 'tag': 'preallocated'})
            free = {'op': 'free', 'id': None, '_b': block}
            out.append({**free, 't': ev['t']} if 't' in ev else free)
        out.append(ev)
    return out


def prime_pool(events: list[dict], size: int) -> list[dict]:
    seen: set = set()
    out = []
    for ev in events:
        pool = repr(ev.get('pool', 0)), ev.get('device', 0)
        if ev['op'] == 'alloc' and pool[0] != '0' and pool not in seen:
            seen.add(pool)
            block = next(FRESH)
            out.append({**ev, 'size': size, 'id': None, '_b': block, 'tag': 'primed pool'})
            free = {'op': 'free', 'id': None, '_b': block}
            out.append({**free, 't': ev['t']} if 't' in ev else free)
        out.append(ev)
    return out


def fits_mark(ev: dict, glob: str) -> bool:
    return ev['op'] == 'mark' and fnmatch.fnmatchcase(ev['name'], glob)


def operate(events: list[dict], mark: str, operation: dict) -> list[dict]:
    """An operation behind each mark that fits."""
    out = []
    for ev in events:
        out.append(ev)
        if fits_mark(ev, mark):
            out.append(at_time(operation, ev))
    return out


def park(events: list[dict], tag: str, start: str, end: str) -> list[dict]:
    """Blocks of such a tag are freed at one mark, and requested again at the other."""
    known: dict[int, dict] = {}     # requests of live blocks that fit, in their order
    number: dict[int, int] = {}     # of the block that stands for it now
    parked: set[int] = set()
    out = []
    for ev in events:
        block = ev.get('_b')
        if ev['op'] == 'alloc' and 'tag' in ev and fnmatch.fnmatchcase(ev['tag'], tag):
            known[block] = ev
            number[block] = block
        if ev['op'] in REFERS and block in number:
            if ev['op'] == 'free':
                del known[block]
            if block in parked:
                continue
            again = number[block] != block
            ev = {**ev, '_b': number[block], 'id': None if again else ev['id']}
        out.append(ev)
        if fits_mark(ev, end):
            for block in [b for b in known if b in parked]:
                parked.remove(block)
                number[block] = next(FRESH)
                out.append(at_time({**known[block], '_b': number[block], 'id': None}, ev))
        if fits_mark(ev, start):
            for block in [b for b in known if b not in parked]:
                parked.add(block)
                again = number[block] != block
                out.append(at_time({'op': 'free', '_b': number[block],
                                    'id': None if again else known[block]['id']}, ev))
    return out
