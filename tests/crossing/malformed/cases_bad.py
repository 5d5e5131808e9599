"""cases_bad.py - malformed traces, clause by clause of "Bad input" in fragsim-lines(5)."""

import re
from dataclasses import replace

from case_text import (
    ALLOC, CONTROL, DAMAGED, DEPTH, DEVICES, FORMAT, FREE, HEAD, LIVE, MARK, NEVER, NOT_LIVE,
    NO_EVENTS, PENDING, SAYS_UNKNOWN, SURROGATE, TRAILING, TRUNCATED, UTF8, Case, at_step,
    bad_event, bad_text, bad_value, document, flip, good, gz, label, lines, many_events, missing,
    nested, number, repeated, zst, zst_damaged, zst_raw)


# op: (what comes before, its members, the required ones)
COMMON = {'device': '0', 'stream': '0', 't': '1', 'tag': '"w"'}
OPS = {
    'alloc': ((), {'id': '7', 'size': '512', 'pool': '0', **COMMON}, ('id', 'size')),
    'free': ((ALLOC,), {'id': '1', 'pending': 'true', **COMMON}, ('id',)),
    'complete': ((ALLOC, PENDING), {'id': '1', **COMMON}, ('id',)),
    'record_stream': ((ALLOC,), {'id': '1', **COMMON, 'stream': '3'}, ('id', 'stream')),
    'sync': ((), COMMON, ()),
    'empty_cache': ((), COMMON, ()),
    'set_fraction': ((), {'value': '0.5', **COMMON}, ('value',)),
    'configure': ((), {'value': '"a:b"', **COMMON}, ('value',)),
    'mark': ((), {'name': '"m"', **COMMON}, ('name',)),
    'release_pool': ((), {'pool': '"p"', **COMMON}, ('pool',)),
}

HUGE = ('9007199254740992', '18446744073709551616', '18446744073709551617', '1' + '0' * 30)
NOT_INTEGERS = ('5.0', '5e2', '1E0', '-1', '-5.0')
NOT_SCALARS = ('null', 'true', '[]', '{}')
WRONG = {       # member of alloc: wrong values
    'id': (*NOT_INTEGERS, *HUGE, *NOT_SCALARS),
    'size': (*NOT_INTEGERS, *HUGE, *NOT_SCALARS, '"12XB"', '""', '"1.5KiB"', '"-1"', '"+1"', '"K"',
             '" 1K"', '"1K "', '"1 K"', '"1KB"', '"1Ki"', '"0x10"', '"1e3"', '"8192T"',
             '"9007199254740992"', '"18446744073709551617"', '"16777216TiB"', '"17179869185G"'),
    'device': (*NOT_INTEGERS, *HUGE, *NOT_SCALARS, '"0"', '1', '9007199254740991', '4294967296'),
    'stream': ('1.5', 'null', 'true', '[]', '{}'),
    'pool': ('1.5', 'null', 'false', '[]', '{}'),
    't': ('"12"', 'null', 'true', '[]', '{}'),
    'tag': ('5', 'null', 'true', '[]', '{}'),
}
WRONG_ELSEWHERE = {     # op, member: wrong values
    'free': {'id': ('5.0', '-1', 'null', HUGE[0]), 'pending': ('1', '"true"', 'null', '{}'),
             'device': ('"0"', '7'), 't': ('"1"',)},
    'complete': {'id': ('5.0', '-1', 'true'), 'device': ('7',)},
    'record_stream': {'id': ('5e2', '-1', '[]'), 'stream': ('1.5', 'null', '{}'),
                      'device': ('7',)},
    'sync': {'stream': ('true', 'null', '[1]'), 'device': ('1', '-1', '0.0')},
    'empty_cache': {'device': ('1', '"a"')},
    'set_fraction': {'value': ('1.1', '-0.1', '1.0000001', '2', '-1', '1e3', '"0.5"', 'null',
                               'true', '[]'), 'device': ('3',)},
    'configure': {'value': ('5', 'null', 'true', '{}', '[]'), 'device': ('3',)},
    'mark': {'name': ('5', 'null', 'false', '[]', '{}'), 'device': ('3',), 'tag': ('5',)},
    'release_pool': {'pool': ('0', '1.5', '-1', 'null', 'true', '[]', '{}'), 'device': ('1',)},
}


def event_text(op: str, members: dict[str, str], extra: str = '') -> str:
    body = ''.join(f',"{k}":{v}' for k, v in members.items())
    return f'{{"op":"{op}"{body}{extra}}}'


def member_cases() -> list[Case]:
    """Each member of each op: missing, repeated, wrong."""
    out = []
    for op, (before, members, required) in OPS.items():
        for name in required:
            rest = {k: v for k, v in members.items() if k != name}
            out += bad_event(f'{op}-without-{name}', event_text(op, rest), *missing(name),
                             before=before)
        for name, value in members.items():
            out += bad_event(f'{op}-repeats-{name}',
                             event_text(op, members, f',"{name}":{value}'), *repeated(name),
                             before=before)
        wrong = WRONG if op == 'alloc' else WRONG_ELSEWHERE[op]
        for name, values in wrong.items():
            for value in values:
                out += bad_event(f'{op}-{name}-{label(value)}',
                                 event_text(op, {**members, name: value}),
                                 *bad_value(name, value), before=before)
    out += bad_event('alloc-repeats-op', '{"op":"alloc","id":7,"size":5,"op":"alloc"}',
                     *repeated('op'))
    out += bad_event('alloc-repeats-escaped-op', r'{"op":"alloc","id":7,"size":5,"\u006fp":"mark"}',
                     *repeated('op'))
    out += bad_event('alloc-repeats-escaped-size', r'{"op":"alloc","\u0073ize":5,"id":7,"size":5}',
                     *repeated('size'))
    out += bad_event('alloc-other-case', '{"op":"alloc","id":7,"Size":5}', *missing('size'))
    return out


def op_cases() -> list[Case]:
    out = []
    for op in ('malloc', 'Alloc', 'ALLOC', 'allo', 'alloc2', 'alloc ', 'frees', 'record-stream'):
        out += bad_event(f'op-{label(op)}', f'{{"op":"{op}","id":7,"size":5}}', SAYS_UNKNOWN,
                         re.escape(op.strip()))
    out += bad_event('op-nul', r'{"op":"alloc\u0000","id":7,"size":5}', SAYS_UNKNOWN)
    out += bad_event('op-empty', '{"op":"","id":7,"size":5}', r'\bop\b')
    out += bad_event('op-newline', r'{"op":"a\nb\u001b[31m\r\u0007","id":7}', SAYS_UNKNOWN)
    out += bad_event('op-long', '{"op":"' + 'x' * 100_000 + '","id":7}', SAYS_UNKNOWN)
    for value in ('5', 'null', 'true', '[]', '{}'):
        out += bad_event(f'op-{label(value)}', f'{{"op":{value},"id":7,"size":5}}', r'\bop\b')
    out += bad_event('op-missing', '{"id":7,"size":5}', *missing('op'))
    out += bad_event('op-of-empty-event', '{}', *missing('op'))
    for value in ('5', 'null', '"x"', '[]', '[{"op":"mark","name":"x"}]', 'true'):
        out += bad_event(f'event-is-{label(value)}', value, r'object|event')
    # an event where the header could stand, and the reverse
    out.append(bad_text('first-event-without-op', '{"id":1,"size":5}\n' + MARK + '\n',
                        r'\bop\b|\bformat\b', blame='{"id":1,"size":5}'))
    out.append(bad_text('header-in-the-middle', lines(ALLOC, HEAD, FREE), *missing('op'),
                        blame=HEAD + '\n{"op":"free"', step=1))
    out.append(bad_text('header-after-events', lines(ALLOC, HEAD, head=MARK), *missing('op'),
                        blame=HEAD, step=2))
    return out


def id_cases() -> list[Case]:
    """Events that are well formed but wrong where they stand."""
    out = []
    live = '{"op":"alloc","id":4711,"size":64}'
    other = '{"op":"alloc","id":"0x7f00","size":64}'
    out += bad_event('alloc-live', live, number(4711), at_step(1), LIVE,
                     before=(ALLOC, live, MARK))
    out += bad_event('alloc-live-string', other, '0x7f00', at_step(0), LIVE, before=(other, ALLOC))
    out += bad_event('alloc-live-escaped', r'{"op":"alloc","id":"\u0061\u0000b","size":1}',
                     at_step(0), LIVE, before=(r'{"op":"alloc","id":"a\u0000b","size":1}',))
    out += bad_event('alloc-live-size-0', '{"op":"alloc","id":4711,"size":0}', number(4711),
                     at_step(0), before=('{"op":"alloc","id":4711,"size":0}',))
    out += bad_event('alloc-live-other-device', '{"op":"alloc","id":4711,"size":64,"device":1}',
                     number(4711), at_step(0), before=(live,), header=DEVICES)
    out += bad_event('alloc-live-after-reuse', live, number(4711), at_step(2),
                     before=(live, '{"op":"free","id":4711}', live))
    out += bad_event('alloc-live-on-a-pipe', live, number(4711), at_step(1),
                     before=(ALLOC, live, MARK), pipe=True)

    free = '{"op":"free","id":4711}'
    out += bad_event('free-never', free, number(4711), NEVER)
    out += bad_event('free-never-first', free, number(4711), NEVER, before=())
    out += bad_event('free-never-string', '{"op":"free","id":"0x7f00"}', '0x7f00', NEVER)
    out += bad_event('free-other-type', '{"op":"free","id":"4711"}', '4711', NEVER, before=(live,))
    out += bad_event('free-other-type-too', free, number(4711), NEVER,
                     before=('{"op":"alloc","id":"4711","size":5}',))
    out += bad_event('free-newline-id', r'{"op":"free","id":"a\nb\u001b]0;x\u0007"}', NEVER)
    out += bad_event('free-long-id', '{"op":"free","id":"' + 'y' * 100_000 + '"}', NEVER)
    out += bad_event('free-before-alloc', free, number(4711), NEVER, before=(), after=(live,))
    out += bad_event('free-twice', free, number(4711), at_step(2), before=(ALLOC, live, free, MARK))
    out += bad_event('free-twice-first-step', '{"op":"free","id":4711}', number(4711), at_step(1),
                     before=(live, free))
    out += bad_event('free-twice-string', '{"op":"free","id":"0x7f00"}', '0x7f00', at_step(2),
                     before=(ALLOC, other, '{"op":"free","id":"0x7f00"}', MARK, MARK))
    out += bad_event('free-twice-last-of-two', free, number(4711), at_step(4),
                     before=(live, free, MARK, live, free, MARK))
    out += bad_event('free-twice-pending', free, number(4711), at_step(1),
                     before=(live, '{"op":"free","id":4711,"pending":true}'))
    out += bad_event('free-twice-completed', free, number(4711), at_step(1),
                     before=(live, '{"op":"free","id":4711,"pending":true}',
                             '{"op":"complete","id":4711}'))
    out += bad_event('free-twice-on-a-pipe', free, number(4711), NOT_LIVE + '|free',
                     before=(ALLOC, live, free, MARK), pipe=True)
    out += bad_event('free-never-on-a-pipe', free, number(4711), NOT_LIVE, pipe=True)

    record = '{"op":"record_stream","id":4711,"stream":3}'
    out += bad_event('record_stream-never', record, number(4711), NEVER)
    out += bad_event('record_stream-freed', record, number(4711), at_step(1), before=(live, free))
    out += bad_event('record_stream-pending', record, number(4711), at_step(1),
                     before=(live, '{"op":"free","id":4711,"pending":true}'))
    out += bad_event('record_stream-on-a-pipe', record, number(4711), NOT_LIVE + '|free',
                     before=(live, free), pipe=True)

    done, pend = '{"op":"complete","id":4711}', '{"op":"free","id":4711,"pending":true}'
    pending = r'pending'
    out += bad_event('complete-never', done, number(4711), pending)
    out += bad_event('complete-live', done, number(4711), pending, before=(live,))
    out += bad_event('complete-freed', done, number(4711), pending, before=(live, free))
    out += bad_event('complete-twice', done, number(4711), pending, before=(live, pend, done))
    out += bad_event('complete-three-of-two', done, number(4711), pending,
                     before=(live, pend, live, pend, done, done))
    out += bad_event('complete-string', '{"op":"complete","id":"4711"}', '4711', pending,
                     before=(live, pend))
    out += bad_event('complete-of-recorded', done, number(4711), pending,
                     before=(live, record, free))
    out += bad_event('complete-pending-false', done, number(4711), pending,
                     before=(live, '{"op":"free","id":4711,"pending":false}'))
    out += bad_event('complete-on-a-pipe', done, number(4711), pending, before=(live,), pipe=True)

    for op, before in (('free', (live,)), ('record_stream', (live,)), ('complete', (live, pend))):
        more = ',"stream":3' if op == 'record_stream' else ''
        out += bad_event(f'{op}-wrong-device',
                         f'{{"op":"{op}","id":4711{more},"device":1}}', r'device', number(1),
                         before=before, header=DEVICES)
        out += bad_event(f'{op}-no-such-device',
                         f'{{"op":"{op}","id":4711{more},"device":2}}', r'device', number(2),
                         before=before, header=DEVICES)
    out += bad_event('free-device-not-repeated', '{"op":"free","id":4711,"device":0}', r'device',
                     number(0), before=('{"op":"alloc","id":4711,"size":1,"device":1}',),
                     header=DEVICES)
    for op, more in (('alloc', ',"id":7,"size":1'), ('sync', ''), ('mark', ',"name":"x"'),
                     ('empty_cache', ''), ('set_fraction', ',"value":0.5'),
                     ('configure', ',"value":"x"'), ('release_pool', ',"pool":1')):
        out += bad_event(f'{op}-third-device', f'{{"op":"{op}"{more},"device":2}}', r'device',
                         number(2), header=DEVICES)
    return out


NUMBERS = ('01', '00', '-01', '-', '--1', '+1', '1.', '.5', '-.5', '1.e5', '1e', '1e+', '1E-', '0e',
           '1.5.2', '0x10', '1_000', '1,000', 'NaN', 'Infinity', '-Infinity', 'nan', '1f', '1 2',
           '٣')
LITERALS = ('True', 'NULL', 'nul', 'tru', 'truee', 'falsee', 'none', 'undefined', 'a')

SYNTAX = (      # name, event, facts, how far the place may lie
    ('no-colon', '{"op" "mark","name":"x"}', (), 'event'),
    ('equals-for-colon', '{"op"="mark","name":"x"}', (), 'event'),
    ('two-colons', '{"op"::"mark","name":"x"}', (), 'event'),
    ('no-comma', '{"op":"mark" "name":"x"}', (), 'event'),
    ('semicolon', '{"op":"mark";"name":"x"}', (), 'event'),
    ('two-commas', '{"op":"mark",,"name":"x"}', (), 'event'),
    ('comma-first', '{,"op":"mark","name":"x"}', (), 'event'),
    ('comma-last', '{"op":"mark","name":"x",}', (), 'event'),
    ('comma-last-nested', '{"op":"mark","name":"x","y":[1,2,]}', (), 'event'),
    ('comma-last-nested-object', '{"op":"mark","name":"x","y":{"a":1,}}', (), 'event'),
    ('comma-only', '{"op":"mark","name":"x","y":[,]}', (), 'event'),
    ('no-value', '{"op":"mark","name":"x","y":}', (), 'event'),
    ('no-value-nested', '{"op":"mark","name":"x","y":{"a"}}', (), 'event'),
    ('colon-in-array', '{"op":"mark","name":"x","y":["a":1]}', (), 'event'),
    ('bare-key', '{op:"mark","name":"x"}', (), 'event'),
    ('number-key', '{1:2,"op":"mark","name":"x"}', (), 'event'),
    ('null-key', '{null:2,"op":"mark","name":"x"}', (), 'event'),
    ('single-quotes', "{'op':'mark','name':'x'}", (), 'event'),
    ('single-quoted-value', '{"op":"mark","name":\'x\'}', (), 'event'),
    ('typographic-quotes', '{“op”:"mark","name":"x"}', (), 'event'),
    ('bare-value', '{"op":mark,"name":"x"}', (), 'event'),
    ('line-comment', '{"op":"mark","name":"x"} // no', (), 'end'),
    ('hash-comment', '{"op":"mark","name":"x"} # no', (), 'end'),
    ('block-comment', '{"op":"mark",/* no */"name":"x"}', (), 'event'),
    ('wrong-bracket', '{"op":"mark","name":"x"]', (), 'end'),
    ('wrong-bracket-nested', '{"op":"mark","name":"x","y":[1,2}}', (), 'event'),
    ('extra-brace', '{"op":"mark","name":"x"}}', (), 'end'),
    ('extra-bracket', '{"op":"mark","name":"x"}]', (), 'end'),
    ('parentheses', '("op":"mark","name":"x")', (), 'event'),
    ('no-closing-brace', '{"op":"mark","name":"x"', (), 'end'),
    ('no-closing-bracket', '{"op":"mark","name":"x","y":[1,2', (), 'end'),
    ('no-closing-quote', '{"op":"mark","name":"x}', (), 'end'),
    ('quote-inside', '{"op":"mark","name":"a"b"}', (), 'event'),
    ('two-on-one-line', '{"op":"mark","name":"x"} {"op":"mark","name":"y"}', (), 'end'),
    ('two-values', '{"op":"mark","name":"x" "y"}', (), 'event'),
    ('vertical-tab', '{"op":"mark",\x0b"name":"x"}', (), 'event'),
    ('form-feed', '{"op":"mark",\x0c"name":"x"}', (), 'event'),
    ('no-break-space', '{"op":"mark",\xa0"name":"x"}', (), 'event'),
    ('line-separator', '{"op":"mark",\u2028"name":"x"}', (), 'event'),
    ('zero-width-space', '{"op":"mark",\u200b"name":"x"}', (), 'event'),
    ('nul-between', '{"op":"mark",\0"name":"x"}', (), 'event'),
    ('delete-between', '{"op":"mark",\x7f"name":"x"}', (), 'event'),
    ('bom-between', '{"op":"mark",\ufeff"name":"x"}', (), 'event'),
    ('backslash-between', '{"op":"mark",\\"name":"x"}', (), 'end'),
)

STRINGS = (     # name, inside of a string, facts
    ('escape-x', rb'\x41', ()), ('escape-quote', rb"\'", ()), ('escape-0', rb'\0', ()),
    ('escape-a', rb'\a', ()), ('escape-v', rb'\v', ()), ('escape-U', rb'\U00000041', ()),
    ('escape-upper', rb'\N', ()), ('escape-space', b'\\ ', ()),
    ('u-nothing', rb'\u', ()), ('u-two', rb'\u12', ()), ('u-three', rb'\u123', ()),
    ('u-not-hex', rb'\u12G4', ()), ('u-minus', rb'\u-123', ()), ('u-plus', rb'\u+123', ()),
    ('u-space', rb'\u 123', ()), ('u-braces', rb'\u{41}', ()), ('u-0x', rb'\u0x41', ()),
    ('u-full-width', '\\u００４１'.encode(), ()),
    ('high-alone', rb'\ud83d', (SURROGATE,)), ('high-first', rb'\ud800', (SURROGATE,)),
    ('high-last', rb'\udbff', (SURROGATE,)), ('high-then-text', rb'\ud83dxyzxyz', (SURROGATE,)),
    ('high-then-escape', rb'\ud83d\n', (SURROGATE,)), ('high-upper', rb'\uD83D', (SURROGATE,)),
    ('high-then-u', rb'\ud83d\u0041', (SURROGATE,)),
    ('high-then-high', rb'\ud83d\ud83d\ude00', (SURROGATE,)),
    ('high-then-next', rb'\ud83d\ue000', (SURROGATE,)),
    ('high-then-bad-hex', rb'\ud83d\udg00', ()), ('low-alone', rb'\ude00', (SURROGATE,)),
    ('low-first', rb'\udc00', (SURROGATE,)), ('low-last', rb'\udfff', (SURROGATE,)),
    ('reversed', rb'\ude00\ud83d', (SURROGATE,)), ('low-after-pair', rb'\ud83d\ude00\ude00',
                                                   (SURROGATE,)),
    ('tab', b'a\tb', (CONTROL,)), ('nul', b'a\0b', (CONTROL,)), ('bell', b'a\x07b', (CONTROL,)),
    ('unit-separator', b'a\x1fb', (CONTROL,)), ('escape-char', b'a\x1bb', (CONTROL,)),
    ('carriage-return', b'a\rb', (CONTROL,)),
    ('stray-80', b'a\x80b', (UTF8,)), ('stray-bf', b'a\xbfb', (UTF8,)),
    ('stray-after', b'\xc3\xa9\xa9', (UTF8,)),
    ('overlong-2', b'a\xc0\x80', (UTF8,)), ('overlong-2-slash', b'a\xc0\xaf', (UTF8,)),
    ('overlong-2-last', b'a\xc1\xbf', (UTF8,)), ('overlong-3', b'a\xe0\x80\x80', (UTF8,)),
    ('overlong-3-last', b'a\xe0\x9f\xbf', (UTF8,)), ('overlong-4', b'a\xf0\x80\x80\x80', (UTF8,)),
    ('overlong-4-last', b'a\xf0\x8f\xbf\xbf', (UTF8,)),
    ('surrogate-d800', b'a\xed\xa0\x80', (UTF8,)), ('surrogate-dfff', b'a\xed\xbf\xbf', (UTF8,)),
    ('surrogate-pair', b'a\xed\xa0\xbd\xed\xb8\x80', (UTF8,)),
    ('above-10ffff', b'a\xf4\x90\x80\x80', (UTF8,)), ('f5', b'a\xf5\x80\x80\x80', (UTF8,)),
    ('five-bytes', b'a\xf8\x88\x80\x80\x80', (UTF8,)),
    ('six-bytes', b'a\xfc\x84\x80\x80\x80\x80', (UTF8,)),
    ('fe', b'a\xfe', (UTF8,)), ('ff', b'a\xff', (UTF8,)),
    ('cut-2', b'a\xc3', (UTF8,)), ('cut-3-of-1', b'a\xe2', (UTF8,)),
    ('cut-3-of-2', b'a\xe2\x82', (UTF8,)), ('cut-4-of-1', b'a\xf0', (UTF8,)),
    ('cut-4-of-3', b'a\xf0\x9f\x98', (UTF8,)), ('cut-then-text', b'a\xe2\x28\xa1', (UTF8,)),
    ('cut-far-inside', b'x' * 70 + b'\xe2\x82' + b'y' * 70, (UTF8,)),
    ('latin-1', b'caf\xe9', (UTF8,)),
)


def json_cases() -> list[Case]:
    """Not JSON, in an event's own members and inside what is otherwise ignored."""
    out = []
    for name, event, wants, reach in SYNTAX:
        out += bad_event(name, event, *wants, reach=reach)
    for value in NUMBERS:
        out += bad_event(f'number-{label(value)}', f'{{"op":"mark","name":"x","t":{value}}}')
    for value in ('01', '1.', '+1', '-', '1e', '.5', 'NaN', '0x1'):
        out += bad_event(f'ignored-number-{label(value)}',
                         f'{{"op":"mark","name":"x","y":{{"z":[{value}]}}}}')
    for value in ('01', '007', '-', '+1', '1.'):
        out += bad_event(f'size-number-{label(value)}',
                         f'{{"op":"alloc","id":7,"size":{value}}}')
        out += bad_event(f'id-number-{label(value)}', f'{{"op":"alloc","id":{value},"size":5}}')
    # seen twice: as a size, and because that it is not
    out += bad_event('size-long-behind-an-escape',
                     r'{"op":"alloc","id":7,"size":"\n' + 'x' * 1_000_000 + '"}', 'size')
    for value in LITERALS:
        out += bad_event(f'literal-{label(value)}', f'{{"op":"mark","name":"x","y":{value}}}')
    out += bad_event('pending-literal', '{"op":"free","id":1,"pending":truth}')
    for name, inside, wants in STRINGS:
        out += bad_event(f'tag-{name}', b'{"op":"mark","name":"x","tag":"' + inside + b'"}', *wants)
    for name, inside, wants in STRINGS[::5]:
        out += bad_event(f'id-{name}', b'{"op":"alloc","size":1,"id":"' + inside + b'"}', *wants)
        out += bad_event(f'key-{name}', b'{"op":"mark","name":"x","' + inside + b'":1}', *wants)
        out += bad_event(f'ignored-{name}',
                         b'{"op":"mark","name":"x","y":[{"z":"' + inside + b'"}]}', *wants)
        out.append(bad_text(f'meta-{name}', document(MARK, members=FORMAT.encode() +
                                                     b',"meta":{"source":"' + inside + b'"}'),
                            *wants, blame=b'"meta":{"source":"' + inside + b'"'))
    out += bad_event('tag-newline', '{"op":"mark","name":"x","tag":"a\nb"}', reach='end')
    out += bad_event('tag-backslash-at-the-end', '{"op":"mark","name":"x","tag":"a\\"}',
                     reach='end')
    out += bad_event('ff-outside', b'{"op":"mark",\xff"name":"x"}')
    # depth: an event is the first level of its line, and the third of the object form
    out.append(bad_text('depth-65/lines', lines(
        ALLOC, '{"op":"mark","name":"x","y":' + nested(64) + '}'), DEPTH, step=1,
        blame=nested(64)))
    out.append(bad_text('depth-65/object', document(
        ALLOC, '{"op":"mark","name":"x","y":' + nested(62) + '}'), DEPTH, step=1,
        blame=nested(62)))
    out.append(bad_text('depth-65/header', lines(
        ALLOC, head='{' + FORMAT + ',"y":' + nested(64) + '}'), DEPTH, blame=nested(64)))
    out.append(bad_text('depth-65/objects', document(
        ALLOC, members=FORMAT + ',"y":' + '{"a":' * 64 + '1' + '}' * 64), DEPTH,
        blame='{"a":' * 64))
    out.append(bad_text('depth-100000', document(
        ALLOC, members=FORMAT + ',"y":' + nested(100_000)), DEPTH))
    out.append(bad_text('depth-never-closed', '[' * 1_000_000, r'.'))
    return out


def head_case(name: str, members: str, *wants: str, blame: str) -> list[Case]:
    """Bad members of the object, before the events in both forms."""
    assert blame in members
    return [bad_text(f'{name}/{form}', text, *wants, blame=blame) for form, text in (
        ('lines', lines(ALLOC, FREE, head='{' + members + '}')),
        ('object', document(ALLOC, FREE, members=members)))]


DEVICE_MEMBERS = {      # member of a device: wrong values
    'total_bytes': ('-1', '5.0', '5e2', HUGE[0], 'null', 'true', '[]', '"1.5GiB"', '"x"', '""'),
    'context_bytes': ('-1', '1.0', HUGE[1], 'null', '{}', '"8192TiB"'),
    'other_bytes': ('-1', '1.0', HUGE[0], 'null', '"1 M"'),
    'granularity_bytes': ('0', '-1', '2.0', HUGE[0], 'null', '"0"', '"0MiB"', '"2MB"'),
    'name': ('5', 'null', 'true', '[]'),
}


def header_cases() -> list[Case]:
    out = []
    for value in ('"fragsim"', '"Fragsim-Trace"', '"fragsim-trace "', '"fragsim-result"', '"x"'):
        out += head_case(f'format-{label(value)}', f'"format":{value},"version":1', r'format',
                         re.escape(value.strip('"')), blame=f'"format":{value}')
    for value in ('""', '1', 'null', '["fragsim-trace"]', r'"fragsim-trace\u0000"'):
        out += head_case(f'format-{label(value)}', f'"format":{value},"version":1', r'format',
                         blame=f'"format":{value}')
    for value in ('2', '0', '-1', '10', '1.5', '4294967297', '18446744073709551617', '"1"'):
        out += head_case(f'version-{label(value)}', f'"format":"fragsim-trace","version":{value}',
                         r'version', re.escape(value.strip('"')), blame=f'"version":{value}')
    for value in ('null', 'true', '[1]', '1.0'):
        out += head_case(f'version-{label(value)}', f'"format":"fragsim-trace","version":{value}',
                         r'version', blame=f'"version":{value}')
    out += [bad_text('format-missing', '{"version":1,"events":[]}\n', *missing('format')),
            bad_text('version-missing', '{"format":"fragsim-trace","events":[]}\n',
                     *missing('version')),
            bad_text('format-missing/lines', lines(MARK, head='{"version":1}'),
                     r'\bformat\b|\bop\b'),
            bad_text('version-missing/lines', lines(MARK, head='{"format":"fragsim-trace"}'),
                     *missing('version')),
            bad_text('empty-object', '{}\n', r'.'),
            bad_text('empty-object-then-events', lines(MARK, head='{}'), r'\bformat\b|\bop\b')]
    for member, value in (('format', '"fragsim-trace"'), ('version', '1'), ('meta', '{}')):
        extra = ',"meta":{}' if member == 'meta' else ''
        out += head_case(f'repeats-{member}', f'{FORMAT}{extra},"{member}":{value}',
                         *repeated(member), blame=f'"{member}":{value}')
    out += head_case('repeats-device', FORMAT + ',"device":{},"meta":{},"device":{}',
                     *repeated('device'), blame='"device":{}')
    out += head_case('repeats-devices', FORMAT + ',"devices":[{}],"meta":{},"devices":[{}]',
                     *repeated('devices'), blame='"devices":[{}]')
    out += head_case('device-and-devices', FORMAT + ',"device":{},"devices":[{}]', r'devices',
                     blame='"device":{},"devices":[{}]')
    out += [bad_text('repeats-events', '{' + FORMAT + ',"events":[],"events":[]}\n',
                     *repeated('events'), blame='"events":[]'),
            bad_text('repeats-events-later', '{' + FORMAT + f',"events":[{MARK}],"events":[]}}\n',
                     *repeated('events'), blame='"events":[]'),
            bad_text('repeats-format-behind', '{"format":"fragsim-trace","version":1,"events":[' +
                     MARK + '],"format":"fragsim-trace"}\n', *repeated('format'),
                     blame='"format":"fragsim-trace"}')]
    for value in ('null', '{}', '"x"', '5', 'true'):
        out.append(bad_text(f'events-{label(value)}', '{' + FORMAT + f',"events":{value}}}\n',
                            r'events', blame=f'"events":{value}'))
    for value in ('null', '5', '"x"', '[]', 'true'):
        out += head_case(f'meta-{label(value)}', f'{FORMAT},"meta":{value}', r'meta',
                         blame=f'"meta":{value}')
        out += head_case(f'device-{label(value)}', f'{FORMAT},"device":{value}', r'device',
                         blame=f'"device":{value}')
    for value in ('[]', 'null', '{}', '5', '[5]', '[null]', '[{},"x"]', '[[]]'):
        out += head_case(f'devices-{label(value)}', f'{FORMAT},"devices":{value}', r'device',
                         blame=f'"devices":{value}')
    for member, values in DEVICE_MEMBERS.items():
        for value in values:
            out += head_case(f'{member}-{label(value)}',
                             f'{FORMAT},"device":{{"{member}":{value}}}',
                             *bad_value(member, value), blame=f'"{member}":{value}')
        out += head_case(f'second-device-{member}',
                         f'{FORMAT},"devices":[{{}},{{"{member}":{values[0]}}}]',
                         *bad_value(member, values[0]), blame=f'"{member}":{values[0]}')
        again = '"x"' if member == 'name' else '5'
        out += head_case(f'device-repeats-{member}',
                         f'{FORMAT},"device":{{"{member}":{again},"q":1,"{member}":{again}}}',
                         *repeated(member), blame=f'"{member}":{again}')
    # the same behind the events, where an object may have it
    out += [bad_text('version-behind',
                     f'{{"format":"fragsim-trace","events":[{MARK}],"version":3}}',
                     r'version', number(3), blame='"version":3'),
            bad_text('granularity-behind', '{' + FORMAT + f',"events":[{MARK}],'
                     '"device":{"granularity_bytes":0}}', r'granularity_bytes', number(0),
                     blame='"granularity_bytes":0'),
            bad_text('device-of-event-before-devices', '{' + FORMAT + ',"events":['
                     '{"op":"sync","device":2}],"devices":[{},{}]}', r'device', number(2), step=0)]
    # a header may be judged as a whole: its line is asked for, not the column of the member
    return [replace(case, place=first_line(case.place)) for case in out]


def first_line(place: tuple[bytes, int, int] | None) -> tuple[bytes, int, int] | None:
    return place and (place[0], 0, place[0].index(b'\n') if b'\n' in place[0] else len(place[0]))


def shape_cases() -> list[Case]:
    """What is not a trace at all, stops too early, or goes on too long."""
    one = document(ALLOC, FREE)
    out = [bad_text('empty', b'', NO_EVENTS),
           bad_text('empty-on-a-pipe', b'', NO_EVENTS, pipe=True),
           bad_text('white-space', b' \t\r\n\n  \n', NO_EVENTS),
           bad_text('newline', b'\n', NO_EVENTS),
           bad_text('header-only', HEAD + '\n', r'events'),
           bad_text('header-only-no-newline', HEAD, r'events'),
           bad_text('header-only-blank-lines', HEAD + '\r\n\r\n  \n', r'events'),
           bad_text('header-only-on-a-pipe', HEAD + '\n', r'events', pipe=True),
           bad_text('header-only-pretty', '{\n  "format": "fragsim-trace",\n  "version": 1\n}\n',
                    r'events'),
           bad_text('bom', b'\xef\xbb\xbf' + one, r'(?i)byte order mark|BOM|EF BB BF|feff|object'),
           bad_text('bom-lines', b'\xef\xbb\xbf' + lines(ALLOC), r'.'),
           bad_text('utf-16', one.decode().encode('utf-16'), r'.'),
           bad_text('utf-16-le', one.decode().encode('utf-16-le'), r'.'),
           bad_text('utf-32-le', one.decode().encode('utf-32-le'), r'.'),
           bad_text('array', f'[{ALLOC},{FREE}]\n', r'.'), bad_text('string', '"fragsim"\n', r'.'),
           bad_text('number', '5\n', r'.'), bad_text('null', 'null\n', r'.'),
           bad_text('csv', 'op,id,size\nalloc,1,512\n', r'.'),
           bad_text('xml', '<trace format="fragsim-trace"/>\n', r'.'),
           bad_text('nul-bytes', bytes(1000), r'.'), bad_text('ff-bytes', b'\xff' * 1000, r'.'),
           bad_text('text-before', 'x' + HEAD + '\n' + ALLOC + '\n', r'this is a text'),
           bad_text('lone-1f', b'\x1f', r'.'), bad_text('lone-28', b'\x28\xb5\x2f', r'.')]
    for name, tail in (('letter', b'x'), ('brace', b'}'), ('bracket', b']'), ('comma', b','),
                       ('nul', b'\0'), ('object', b'{}'), ('null', b'null'), ('comment', b'//'),
                       ('ctrl-z', b'\x1a'), ('ff', b'\xff'), ('event', MARK.encode())):
        facts = () if name in ('ff', 'nul') else (TRAILING,)
        out.append(bad_text(f'after-the-end-{name}', one + tail, *facts, blame=tail))
        out.append(bad_text(f'close-after-the-end-{name}', one.rstrip() + b' ' + tail, *facts,
                            blame=b' ' + tail))
    out += [bad_text('after-the-end-trace', one + one, TRAILING, blame=one),
            bad_text('after-the-end-on-a-pipe', one + b'x', TRAILING, pipe=True, blame=b'x'),
            bad_text('after-last-line', lines(ALLOC, FREE, 'x'), blame=b'x'),
            bad_text('header-then-event-on-one-line', HEAD + ALLOC + '\n', blame=ALLOC),
            bad_text('events-two-commas', document(ALLOC + ',', FREE), blame=',,'),
            bad_text('events-comma-last', '{' + FORMAT + f',"events":[{ALLOC},]}}\n', blame=',]}'),
            bad_text('events-comma-first', '{' + FORMAT + f',"events":[,{ALLOC}]}}\n',
                     blame='[,{'),
            bad_text('events-no-comma', '{' + FORMAT + f',"events":[{ALLOC}{FREE}]}}\n',
                     blame='}' + FREE),
            bad_text('events-wrong-bracket', '{' + FORMAT + f',"events":[{ALLOC}}}}}\n',
                     blame='}}}'),
            bad_text('object-comma-last', '{' + FORMAT + f',"events":[{ALLOC}],}}\n', blame='],}'),
            bad_text('pretty-line', '{\n "format":"fragsim-trace",\n "version":1,\n "events":[\n' +
                     ALLOC + ',\n  {"op":"free","id":7}\n ]\n}\n', number(7), NEVER, step=1,
                     blame='{"op":"free","id":7}'),
            bad_text('crlf-line', lines(ALLOC, MARK, '{"op":"free","id":7}', end=b'\r\n'),
                     number(7), NEVER, step=2, blame='{"op":"free","id":7}'),
            bad_text('blank-lines-count', b'\n\n' + lines(ALLOC, '', ' ', '{"op":"free","id":7}'),
                     number(7), NEVER, step=1, blame='{"op":"free","id":7}'),
            bad_text('no-header', lines(MARK, '{"op":"free","id":7}', head=ALLOC), number(7), NEVER,
                     step=2, blame='{"op":"free","id":7}'),
            bad_text('no-header-first', '{"op":"free","id":7}\n', number(7), NEVER, step=0,
                     blame='{"op":"free","id":7}'),
            bad_text('far-inside', lines(*many_events(3000), '{"op":"free","id":7}', MARK),
                     number(7), NEVER, step=3000, blame='{"op":"free","id":7}'),
            bad_text('far-inside-object', document(*many_events(3000), '{"op":"free","id":7}',
                                                   MARK), number(7), NEVER, step=3000,
                     blame='{"op":"free","id":7}')]
    return out


def cut_cases() -> list[Case]:
    """Every prefix of a small trace of either form: no cut may be taken for an end."""
    members = FORMAT + ',"device":{"name":"\\u00e9","total_bytes":1073741824},"x":[true,null]'
    events = ('{"op":"alloc","id":"a","size":"1KiB","t":-1.5e1}', '{"op":"free","id":"a"}')
    whole = document(*events, members=members).rstrip()
    first, second = (whole.index(x.encode()) for x in events)
    out = []
    for n in range(1, len(whole)):
        step = None
        for i, start in enumerate((first, second)):
            if start < n < start + len(events[i]):
                step = i
        out.append(Case(f'cut-object-{n}', 'bad', whole[:n], (TRUNCATED,), step,
                        (whole[:n], 0, n), pipe=n % 7 == 0))
    whole = lines(*events, head='{' + members + '}').rstrip()
    starts = [whole.index(x.encode()) for x in events]
    ends = [start + len(x) for start, x in zip(starts, events, strict=True)]
    for n in range(1, len(whole)):
        text = whole[:n]
        if n in (ends[0], ends[0] + 1):
            out.append(good(f'cut-lines-{n}', text, 1, last={'requested': '1024'}))
        elif n in (starts[0] - 1, starts[0]):
            out.append(bad_text(f'cut-lines-{n}', text, 'events'))
        else:
            step = None if n < starts[0] else 0 if n < ends[0] else 1
            out.append(Case(f'cut-lines-{n}', 'bad', text, (TRUNCATED,), step, (text, 0, n),
                            pipe=n % 7 == 0))
    return out


def packed_cases() -> list[Case]:
    plain = lines(*many_events(200))
    whole = gz(plain)
    never = lines(ALLOC, FREE, MARK, FREE)
    facts = (number(1), at_step(1))
    place = (never, never.rindex(FREE.encode()), len(never))
    zip_bad = (
        ('crc', flip(whole, -5)), ('length', flip(whole, -1)), ('body', flip(whole, 40)),
        ('method', flip(whole, 2)), ('flags', whole[:3] + b'\xe0' + whole[4:]),
        ('cut-magic', whole[:2]), ('cut-header', whole[:7]), ('cut-no-body', whole[:10]),
        ('cut-body', whole[:len(whole) // 2]), ('cut-before-trailer', whole[:-8]),
        ('cut-in-trailer', whole[:-1]), ('garbage-after', whole + b'garbage'),
        ('text-after', whole + MARK.encode() + b'\n'),
        ('second-cut', whole + gz(MARK.encode())[:-9]),
        ('second-crc', gz(plain) + flip(gz(MARK.encode()), -5)))
    out = [bad_text(f'gzip-{name}', data, DAMAGED) for name, data in zip_bad]
    out += [bad_text(f'gzip-{name}-on-a-pipe', data, DAMAGED, pipe=True)
            for name, data in zip_bad[:9:2]]
    at_line = gz(lines(ALLOC, FREE))
    out += [bad_text('gzip-whole-lines-then-cut', at_line[:-8], DAMAGED),
            bad_text('gzip-object-then-bad-crc', flip(gz(document(ALLOC, FREE)), -5), DAMAGED),
            bad_text('gzip-of-nothing', gz(b''), NO_EVENTS),
            bad_text('gzip-of-nothing-twice', gz(b'') + gz(b''), NO_EVENTS),
            bad_text('gzip-of-header', gz(HEAD.encode()), r'events'),
            bad_text('gzip-cut-json', gz(document(ALLOC, FREE)[:-9]), TRUNCATED),
            bad_text('gzip-bom', gz(b'\xef\xbb\xbf' + lines(ALLOC)), r'.'),
            bad_text('gzip-after-the-end', gz(document(ALLOC)) + gz(b'x'), TRAILING),
            Case('gzip-free-twice', 'bad', gz(never), facts, 3, place, file='trace.json'),
            Case('gzip-free-twice-in-members', 'bad', gz(never[:60]) + gz(never[60:]), facts, 3,
                 place),
            Case('gzip-free-on-a-pipe', 'bad', gz(never), (number(1),), 3, place, pipe=True)]
    frame = zst_raw(plain)
    raw_bad = (('magic-only', frame[:4]), ('cut-header', frame[:7]), ('cut-body', frame[:-20]),
               ('cut-last-byte', frame[:-1]), ('reserved-block', frame[:9] + b'\x06\0\0'),
               ('length', frame[:5] + b'\1\0\0\0' + frame[9:]), ('reserved-bit', flip4(frame)),
               ('garbage-after', frame + b'garbage'), ('text-after', frame + MARK.encode()),
               ('second-cut', frame + zst_raw(MARK.encode())[:-3]))
    out += [bad_text(f'zstd-{name}', data, DAMAGED) for name, data in raw_bad]
    out += [bad_text(f'zstd-{name}-on-a-pipe', data, DAMAGED, pipe=True)
            for name, data in raw_bad[::3]]
    out += [bad_text('zstd-of-nothing', zst_raw(b''), NO_EVENTS),
            bad_text('zstd-of-header', zst_raw(HEAD.encode()), r'events'),
            bad_text('zstd-cut-json', zst_raw(document(ALLOC, FREE)[:-9]), TRUNCATED),
            Case('zstd-free-twice', 'bad', zst_raw(never), facts, 3, place),
            Case('zstd-free-twice-in-frames', 'bad', zst_raw(never[:60]) + zst_raw(never[60:]),
                 facts, 3, place),
            Case('zstd-free-twice-compressed', 'bad', lambda: zst(never), facts, 3, place),
            Case('zstd-checksum', 'bad', zst_damaged(plain, lambda x: flip(x, -1)), (DAMAGED,)),
            Case('zstd-body', 'bad', zst_damaged(plain, lambda x: flip(x, len(x) // 2)),
                 (DAMAGED,)),
            Case('zstd-cut-half', 'bad', zst_damaged(plain, lambda x: x[:len(x) // 2]),
                 (DAMAGED,)),
            Case('zstd-cut-checksum', 'bad', zst_damaged(plain, lambda x: x[:-4]), (DAMAGED,))]
    return out


def flip4(frame: bytes) -> bytes:
    """Set the reserved bit of a zstd frame's descriptor."""
    return frame[:4] + bytes([frame[4] | 8]) + frame[5:]


def file_cases() -> list[Case]:
    return [Case('file-missing', 'bad', b'', (r'(?i)no such file',), special='missing'),
            Case('file-in-missing-folder', 'bad', b'', (r'(?i)no such file',), special='missing',
                 file='nowhere/trace'),
            Case('file-below-a-file', 'bad', b'', (r'(?i)not a directory',), special='below'),
            Case('file-is-a-directory', 'bad', b'', (r'(?i)directory',), special='directory'),
            Case('file-unreadable', 'bad', document(ALLOC), (r'(?i)permission',),
                 special='unreadable'),
            Case('file-name-with-spaces', 'bad', lines(FREE), (NEVER,), 0, file='a b %s %d.json')]


def bad_cases() -> list[Case]:
    return (member_cases() + op_cases() + id_cases() + json_cases() + header_cases() +
            shape_cases() + cut_cases() + packed_cases() + file_cases())
