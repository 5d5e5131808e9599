"""cases_good.py - traces that are odd but valid, and half-bad ones for --lenient."""

import gzip
import re
from collections.abc import Iterable

from case_text import (
    ALLOC, DEVICES, FORMAT, FREE, HEAD, MARK, MAX, PENDING, Case, document, good, gz, gz_fancy,
    label, lines, many_events, nested, number, zst, zst_raw, zst_skippable)


def alloc(id_: str, size: str | int, more: str = '') -> str:
    return f'{{"op":"alloc","id":{id_},"size":{size}{more}}}'


WHITE = b' \t\r\n'
SIZES = (('"1K"', 1024), ('"1KiB"', 1024), ('"512"', 512), ('"0"', 0), ('"512MiB"', 512 << 20),
         ('"3G"', 3 << 30), ('"2TiB"', 2 << 40), ('"8191TiB"', 8191 << 40), (r'"1\u004b"', 1024),
         ('"007"', 7), (f'"{MAX}"', MAX), (str(MAX), MAX), ('1', 1))

TEXTS = (       # name, the inside of a string
    ('escapes', rb'\"\\\/\b\f\n\r\t'), ('nul', rb'a\u0000b'), ('pair', rb'\ud83d\ude00'),
    ('pair-upper', rb'\uD83D\uDE00'), ('first-pair', rb'\ud800\udc00'),
    ('last-pair', rb'\udbff\udfff'), ('next-to-surrogates', rb'\ud7ff\ue000'),
    ('non-characters', rb'\uffff\ufffe'), ('delete', b'\x7f'), ('bom-inside', b'\xef\xbb\xbf'),
    ('utf8-2', b'\xc2\x80\xdf\xbf'),
    ('utf8-3', b'\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf'),
    ('utf8-4', b'\xf0\x90\x80\x80\xf4\x8f\xbf\xbf'),
    ('line-separators', '\u2028\u2029\x85'.encode()),
    ('looks-like-json', rb'\",\"events\":[{\"op\":\"bogus\"}]}'), ('brackets', b'}]{[,:'),
    ('double-backslash', rb'\\u12'), ('empty', b''), ('long', b'x' * 1_000_000),
    ('long-escapes', rb'\u00e9' * 100_000), ('long-behind-an-escape', rb'\n' + b'x' * 1_000_000),
    ('odd-borders', b'x' * 63 + rb'\ud83d\ude00' * 9),
)



def good_cases() -> list[Case]:
    live = {'allocated': '1024', 'requested': '1000', 'blocks': '1'}
    dead = {'allocated': '0', 'active': '0', 'blocks': '0'}
    text = lines(ALLOC, FREE, ALLOC)
    obj = document(ALLOC, FREE, ALLOC)
    out = [
        good('lines', text, 3, last=live), good('object', obj, 3, last=live),
        good('lines-on-a-pipe', text, 3, pipe=True, last=live),
        good('object-on-a-pipe', obj, 3, pipe=True, last=live),
        # more than half of the window that it takes, 2 MiB
        good('header-name-long-behind-an-escape', document(
            ALLOC, members=FORMAT + r',"\n' + 'x' * 1_100_000 + '":0'), 1, last=live),
        good('crlf', lines(ALLOC, FREE, ALLOC, end=b'\r\n'), 3, last=live),
        good('blank-lines', lines('', ALLOC, '', ' \t', FREE, '\r', ALLOC, '', ''), 3, last=live),
        good('blank-lines-first', b'\n \r\n' + text, 3, last=live),
        good('no-header', lines(FREE, head=ALLOC), 2, last=dead),
        good('no-header-blank-first', b'\n' + lines(FREE, head=ALLOC), 2, last=dead),
        good('one-event-only', ALLOC.encode(), 1, last=live),
        good('no-final-newline', text.rstrip(), 3, last=live),
        good('object-no-final-newline', obj.rstrip(), 3, last=live),
        good('white-space-after', obj + b' \t\r\n\n', 3, last=live),
        good('white-space-before', b'\n\t ' + obj, 3, last=live),
        good('indented-event', lines('  ' + ALLOC + '\t ', head=' ' + HEAD + ' '), 1, last=live),
        good('white-space-everywhere', spread(obj), 3, last=live),
        good('object-one-event-a-line', ('{' + FORMAT + ',"events":[\n' + ALLOC + ',\n' + FREE +
                                         ',\n' + ALLOC + '\n]}\n').encode(), 3, last=live),
        good('members-in-any-order', lines('{"size":1000,"t":1,"id":1,"tag":"x","op":"alloc"}',
                                           head='{"version":1,"meta":{},"format":"fragsim-trace"}'),
             1, last=live),
        good('events-first', f'{{"events":[{ALLOC}],"version":1,"format":"fragsim-trace",'
             '"device":{"total_bytes":"1GiB","granularity_bytes":4096}}'.encode(), 1,
             last={'device_free': str((1 << 30) - (2 << 20)), 'allocated': '1024'}),
        good('events-before-devices', ('{' + FORMAT + ',"events":[' + alloc('1', 5, ',"device":1') +
                                       '],"devices":[{},{}]}').encode(), 1, last={'device': '1'}),
        good('events-first-on-a-pipe', f'{{"events":[{ALLOC}],"version":1,'
             '"format":"fragsim-trace","device":{"total_bytes":"1GiB"}}'.encode(), 1, pipe=True,
             last=live, or_refused=r'events'),
        good('events-first-gzip', gz(f'{{"events":[{ALLOC}],{FORMAT}}}'.encode()), 1, last=live),
        good('no-events', document(), 0), good('no-events-on-a-pipe', document(), 0, pipe=True),
        good('no-events-white-space', ('{' + FORMAT + ',"events":[ \n ]}').encode(), 0),
        good('unknown-members', document(
            '{"x":{"op":["mark",{"id":1}]},"op":"alloc","id":1,"size":1000,'
            '"y":[[],{},null,-0.1e-9]}',
            members=FORMAT + ',"foo":[1,{"events":[1,2]}],"device":{"sm":82,"bus":{"x":[1]}}'), 1,
            last=live),
        good('unknown-repeated', document(
            '{"x":1,"op":"alloc","x":2,"id":1,"x":[3],"size":1000}',
            members='"x":1,"x":"y",' + FORMAT + ',"device":{"x":1,"x":2}'), 1, last=live),
        good('unknown-big-numbers', lines(
            '{"op":"alloc","id":1,"size":1000,"x":' + '9' * 5000 + ',"y":-1.5E+400,"z":1e-999}'), 1,
            last=live),
        good('meta-looks-like-a-trace', document(ALLOC, members=FORMAT +
             ',"meta":{"events":[{"op":"bogus"}],"format":"x","version":7}'), 1, last=live),
        good('header-meta-with-events', lines(ALLOC, head='{"meta":{"events":[1]},' + FORMAT + '}'),
             1, last=live),
        good('event-with-events', lines(ALLOC[:-1] + ',"events":[{"op":"bogus"}],"format":5}'), 1,
             last=live),
        good('escaped-names', lines(r'{"\u006f\u0070":"\u0061lloc","i\u0064":1,"size":1000}',
                                    head=r'{"f\u006frmat":"fragsim\u002dtrace","version":1}'), 1,
             last=live),
        good('header-depth-64', lines(ALLOC, head='{' + FORMAT + ',"x":' + nested(63) + '}'), 1,
             last=live),
        good('object-depth-64', document(ALLOC[:-1] + ',"x":' + nested(61) + '}',
                                         members=FORMAT + ',"x":' + nested(63)), 1, last=live),
        good('event-depth-64', lines(ALLOC[:-1] + ',"x":' + nested(63) + '}'), 1, last=live),
        good('depth-64-many-times', lines(ALLOC[:-1] + ',"x":[' + ','.join(
            [nested(62)] * 100) + ']}'), 1, last=live),
        good('largest-id', lines(alloc(str(MAX), 1000), f'{{"op":"free","id":{MAX}}}'), 2,
             last=dead),
        good('largest-sizes', lines(*(alloc(str(i), MAX) for i in range(3))), 3,
             last={'requested': str(3 * MAX), 'allocated': str(3 * (MAX + 1))}),
        good('largest-device', document(MARK, members=FORMAT + f',"device":{{"total_bytes":{MAX},'
             '"context_bytes":0,"other_bytes":0,"granularity_bytes":1}'), 1,
             last={'device_free': str(MAX)}),
        good('largest-granularity', document(ALLOC, members=FORMAT +
             f',"device":{{"granularity_bytes":{MAX}}}'), 1, last=live),
        good('device-less-than-context', document(MARK, members=FORMAT +
             ',"device":{"total_bytes":1000,"context_bytes":3000}'), 1,
             last={'device_free': '-2000', 'process_used': '3000'}),
        good('device-sizes-as-text', document(MARK, members=FORMAT +
             ',"device":{"total_bytes":"6GiB","context_bytes":"446M","other_bytes":"1K"}'), 1,
             last={'device_free': str((6 << 30) - (446 << 20) - 1024)}),
        good('device-total-0', document(ALLOC, members=FORMAT + ',"device":{"total_bytes":0}'), 1,
             last={'device_free': ''}),
        good('device-empty', document(ALLOC, members=FORMAT + ',"device":{}'), 1, last=live),
        good('devices-one', document(ALLOC, members=FORMAT + ',"devices":[{}]'), 1, last=live),
        good('devices-two', document(
            alloc('1', 1000, ',"device":1'), '{"op":"free","id":1}', MARK,
            '{"op":"mark","name":"m","device":1}', '{"op":"sync"}', '{"op":"empty_cache"}',
            '{"op":"set_fraction","value":0.5}', '{"op":"configure","value":"x"}',
            '{"op":"release_pool","pool":1}', '{"op":"release_pool","pool":1,"device":1}',
            members=DEVICES), 5 + 5 * 2, last={'device': '1', **dead}),
        good('free-names-its-device', document(
            alloc('1', 1000, ',"device":1'), '{"op":"free","id":1,"device":1}', members=DEVICES), 2,
            last={'device': '1', **dead}),
        good('ids-of-two-kinds', lines(alloc('1', 1000), alloc('"1"', 24), FREE), 3,
             last={'requested': '24'}),
        good('ids-differ-behind-nul', lines(alloc(r'"a\u0000b"', 1000), alloc(r'"a\u0000c"', 24),
                                            alloc('"a"', 1)), 3, last={'requested': '1025'}),
        good('ids-same-when-decoded', lines(alloc('"abc"', 1000), r'{"op":"free","id":"\u0061bc"}'),
             2, last=dead),
        good('id-empty', lines(alloc('""', 1000), '{"op":"free","id":""}'), 2, last=dead),
        good('id-long', lines(alloc('"' + 'y' * 100_000 + '"', 1000)), 1, last=live),
        good('id-needs-csv-quotes', lines(alloc(r'"a,\"b\""', 1000)), 1,
             last={'id': 'a,"b"', **live}),
        good('id-reused', lines(*[ALLOC, FREE] * 50), 100, last=dead),
        good('size-0', lines(alloc('1', 0), alloc('2', '"0K"'), FREE), 3,
             last={'allocated': '0', 'reserved': '0'}),
        good('size-0-live', lines(alloc('1', 0)), 1, last={'requested': '0'}),
        good('pending', lines(ALLOC, PENDING), 2, last={'allocated': '0', 'active': '1024'}),
        good('pending-complete', lines(ALLOC, PENDING, '{"op":"complete","id":1}'), 3, last=dead),
        good('pending-false', lines(ALLOC, '{"op":"free","id":1,"pending":false}'), 2, last=dead),
        good('pending-not-ended-by-sync', lines(ALLOC, PENDING, '{"op":"sync"}'), 3,
             last={'active': '1024'}),
        good('pending-id-reused', lines(ALLOC, PENDING, alloc('1', 3000), PENDING,
                                        '{"op":"complete","id":1}'), 5,
             last={'allocated': '0', 'active': '3072'}),
        good('pending-both', lines(ALLOC, '{"op":"record_stream","id":1,"stream":3}', PENDING,
                                   '{"op":"complete","id":1}'), 4, last={'active': '1024'}),
        good('pending-both-ended', lines(ALLOC, '{"op":"record_stream","id":1,"stream":3}', PENDING,
                                         '{"op":"sync","stream":3}', '{"op":"complete","id":1}'), 5,
             last=dead),
        good('record-own-stream', lines(ALLOC, '{"op":"record_stream","id":1,"stream":0}', FREE), 3,
             last=dead),
        good('streams-of-two-kinds', lines(ALLOC, '{"op":"record_stream","id":1,"stream":"0"}',
                                           FREE, '{"op":"sync","stream":0}'), 4,
             last={'active': '1024'}),
        good('sync-of-a-new-stream', lines('{"op":"sync","stream":"never"}'), 1, last=dead),
        good('pools-of-two-kinds', lines(alloc('1', 1000, ',"pool":1'), alloc('2', 1000,
                                                                              ',"pool":"1"')), 2,
             last={'segments': '2'}),
        good('times', lines(*(f'{{"op":"mark","name":"x","t":{t}}}' for t in (
            '-7', '0', '0.0', '1e-9', '0.5', '1E+2', '123.456e1', '1234567890.123456789'))), 8),
        good('times-run-backwards', lines(*(f'{{"op":"mark","name":"x","t":{t}}}' for t in (
            5, 4, 9, 3))), 4, wants=(r'(?i)time|\bt\b',)),
        good('times-run-backwards-quiet', lines(*(f'{{"op":"mark","name":"x","t":{t}}}' for t in (
            5, 4, 9, 3))), 4, args=('--quiet',)),
        good('fractions', lines(*(f'{{"op":"set_fraction","value":{v}}}' for v in (
            '0', '1', '0.5', '1.0', '0.0', '5e-1', '1e-300', '0.999999999999'))), 8),
        good('configure-anything', lines(r'{"op":"configure","value":"\u0000,:;"}',
                                         '{"op":"configure","value":""}'), 2),
        good('marks-of-any-name', lines('{"op":"mark","name":""}', MARK, MARK,
                                        r'{"op":"mark","name":"\n\u0000é"}'), 4),
        good('size-on-a-free', lines(ALLOC, '{"op":"free","id":1,"size":1000}'), 2, last=dead),
        good('many-events', lines(*many_events(3000)), 3000, last={'requested': str(3000 * 64)}),
        good('many-events-object', document(*many_events(3000)), 3000, last={'blocks': '3000'}),
        good('many-events-gzip', gz(document(*many_events(3000))), 3000, last={'blocks': '3000'}),
        good('gzip', gz(text), 3, last=live), good('gzip-object', gz(obj), 3, last=live),
        good('gzip-called-json', gz(text), 3, file='trace.json', last=live),
        good('plain-called-gz', obj, 3, file='trace.ndjson.gz', last=live),
        good('plain-called-zst', text, 3, file='trace.json.zst', last=live),
        good('gzip-on-a-pipe', gz(text), 3, pipe=True, last=live),
        good('gzip-all-header-fields', gz_fancy(text), 3, last=live),
        good('gzip-members', gz(text[:70]) + gz(b'') + gz(text[70:]), 3, last=live),
        good('gzip-member-a-byte', b''.join(gz(obj[i:i + 1]) for i in range(len(obj))), 3,
             last=live),
        good('gzip-stored', gzip.compress(text, 0, mtime=0), 3, last=live),
        good('zstd-raw', zst_raw(text), 3, last=live),
        good('zstd-raw-on-a-pipe', zst_raw(obj), 3, pipe=True, last=live),
        good('zstd-frames', zst_raw(obj[:70]) + zst_raw(b'') + zst_raw(obj[70:]), 3, last=live),
        good('zstd-frame-a-byte', b''.join(zst_raw(obj[i:i + 1]) for i in range(len(obj))), 3,
             last=live),
        good('zstd-skippable-frame', zst_raw(text[:70]) + zst_skippable(b'note') +
             zst_raw(text[70:]), 3, last=live),
        good('zstd-called-gz', zst_raw(text), 3, file='trace.gz', last=live),
        good('zstd-many-events', zst_raw(lines(*many_events(3000))), 3000, last={'blocks': '3000'}),
        good('zstd', lambda: zst(text), 3, last=live),
        good('zstd-object-on-a-pipe', lambda: zst(document(*many_events(300))), 300, pipe=True),
    ]
    out += [good(f'size-{label(t)}', lines(alloc('1', t)), 1, last={'requested': str(n)})
            for t, n in SIZES]
    for name, inside in TEXTS:
        event = b'{"op":"alloc","id":1,"size":1000,"tag":"' + inside + b'"}'
        out.append(good(f'tag-{name}', lines(event), 1, last=live))
        out.append(good(f'text-{name}', document(
            event, members=FORMAT.encode() + b',"meta":{"source":"' + inside + b'"},"device":'
            b'{"name":"' + inside + b'"},"x' + inside + b'":[]'), 1, last=live))
    return out


def spread(text: bytes) -> bytes:
    """White space around every token (no string of the text has one of these inside)."""
    return re.sub(rb'([\[\]{},:])', WHITE + rb'\1' + WHITE, text)


def lenient(name: str, data: bytes, counts: Iterable[int], rows: int | None = None,
            last: dict[str, str] | None = None, **more) -> Case:
    """--lenient: status 0, and one line on standard error for each kind, with its count."""
    return Case(name, 'lenient', data, tuple(number(n) for n in counts),
                args=('--lenient', *more.pop('args', ())), last=last or {}, rows=rows, **more)


def both(name: str, events: list[str], counts: Iterable[int], last: dict[str, str],
         header: str = FORMAT, **more) -> list[Case]:
    counts = tuple(counts)
    return [lenient(f'lenient-{name}/lines', lines(*events, head='{' + header + '}'), counts,
                    last=last, **more),
            lenient(f'lenient-{name}/object', document(*events, members=header), counts, last=last,
                    **more)]


def lenient_cases() -> list[Case]:
    """What --lenient is taken to mean.

    An event that is bad in itself (its members, its values, its id) is skipped; it changes nothing
    and keeps its number, so the steps of the others do not move.  Whether a skipped event has a row
    of its own in --steps is not asked.  What damages the file stays an error: no JSON, no UTF-8,
    too deep, truncated, bytes after the end, a bad header, a damaged compressed stream.
    """
    unknown, twice = '{"op":"malloc","id":7,"size":5}', FREE
    out = both('unknown-op', [ALLOC, unknown, MARK, unknown, unknown, alloc('9', 24)], (3,),
               {'step': '5', 'requested': '1024'})
    out += both('free-twice', [ALLOC, FREE, twice, twice, MARK], (2,), {'step': '4', 'blocks': '0'})
    out += both('free-never', ['{"op":"free","id":%d}' % i for i in range(50, 57)] + [ALLOC], (7,),
                {'step': '7', 'requested': '1000'})
    out += both('alloc-live', [ALLOC, *[alloc('1', 4096)] * 4, FREE, MARK], (4,),
                {'step': '6', 'allocated': '0', 'blocks': '0'})
    out += both('complete', [ALLOC, *['{"op":"complete","id":1}'] * 5, MARK], (5,),
                {'step': '6', 'requested': '1000'})
    out += both('record_stream', ['{"op":"record_stream","id":1,"stream":1}'] * 6 + [ALLOC], (6,),
                {'step': '6', 'requested': '1000'})
    out += both('no-such-device', [*[alloc('5', 5, ',"device":8')] * 3, ALLOC], (3,),
                {'step': '3', 'requested': '1000'})
    out += both('wrong-device', [ALLOC, *['{"op":"free","id":1,"device":1}'] * 3, FREE], (3,),
                {'step': '4', 'blocks': '0'}, header=DEVICES)
    out += both('missing-size', [*['{"op":"alloc","id":5}'] * 3, ALLOC], (3,),
                {'step': '3', 'requested': '1000'})
    out += both('size-12XB', [*[alloc('5', '"12XB"')] * 3, ALLOC], (3,),
                {'step': '3', 'requested': '1000'})
    out += both('size-negative', [*[alloc('5', -1)] * 3, ALLOC], (3,),
                {'step': '3', 'requested': '1000'})
    out += both('repeated-member', [*[alloc('5', 5, ',"size":5')] * 3, ALLOC], (3,),
                {'step': '3', 'requested': '1000'})
    out += both('fraction-out-of-range', ['{"op":"set_fraction","value":1.5}'] * 2 + [ALLOC], (2,),
                {'step': '2', 'requested': '1000'})
    out += both('three-kinds', [ALLOC, *[unknown] * 3, *[alloc('1', 1)] * 11, FREE,
                                *[twice] * 7, alloc('2', 24)], (3, 11, 7),
                {'step': '23', 'requested': '24'})
    out += both('quiet', [ALLOC, unknown, unknown, MARK], (), {'step': '3'}, args=('--quiet',))
    out += both('nothing-bad', [ALLOC, FREE], (), {'step': '1', 'blocks': '0'})
    out += both('first-bad', [unknown, unknown, ALLOC], (2,), {'step': '2', 'requested': '1000'})
    out += both('all-bad', [unknown] * 3, (3,), {})
    out += both('on-a-pipe', [ALLOC, FREE, twice, twice, MARK], (2,), {'step': '4', 'blocks': '0'},
                pipe=True)
    out.append(lenient('lenient-gzip', gz(lines(ALLOC, FREE, FREE, FREE, FREE, MARK)), (3,),
                       last={'step': '5'}))
    # of a program that was killed while it wrote
    out.append(lenient('lenient-torn-line', lines(ALLOC, MARK, FREE)[:-5], (1,),
                       last={'step': '1', 'requested': '1000'}))
    # damage to the file
    damage = (
        ('syntax', lines(ALLOC, '{"op":"mark",}', MARK)),
        ('number', lines(ALLOC, '{"op":"mark","name":"x","t":01}')),
        ('utf-8', lines(ALLOC, b'{"op":"mark","name":"\xff"}', MARK)),
        ('surrogate', lines(ALLOC, r'{"op":"mark","name":"\ud800"}', MARK)),
        ('control', lines(ALLOC, '{"op":"mark","name":"\t"}', MARK)),
        ('depth', lines(ALLOC, '{"op":"mark","name":"x","y":' + nested(64) + '}')),
        ('cut-object', document(ALLOC, FREE)[:-10]),
        ('after-the-end', document(ALLOC) + b'x'), ('empty', b''), ('header-only', HEAD.encode()),
        ('version', lines(ALLOC, head='{"format":"fragsim-trace","version":2}')),
        ('format', lines(ALLOC, head='{"format":"x","version":1}')),
        ('device', lines(ALLOC, head='{' + FORMAT + ',"device":{"granularity_bytes":0}}')),
        ('devices', lines(ALLOC, head='{' + FORMAT + ',"devices":[]}')),
        ('gzip', gz(lines(ALLOC))[:-8]), ('zstd', zst_raw(lines(ALLOC))[:-2]),
    )
    out += [Case(f'lenient-{name}-stays-an-error', 'bad', data, args=('--lenient',))
            for name, data in damage]
    return out
