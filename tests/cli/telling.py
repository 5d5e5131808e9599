"""telling.py - what is said: on a terminal, of settings, of what differs, of long input."""

import fcntl
import json
import os
import pty
import re
import struct
import termios
import time

from harness import (GOOD, cases, ended, equal, one_line, run, started, test,
                     unread, until, write)


# A terminal keeps some 4 KiB; one line of progress is 100 bytes.
def everything(fd: int) -> bytes:
    """What a terminal shows until nobody writes to it any more."""
    parts = []
    try:
        while part := os.read(fd, 1 << 16):
            parts.append(part)
    except OSError:             # so ends a terminal
        pass
    return b''.join(parts)


# columns: what a line of progress looks like; a bar has at least 6 cells
LOOKS = {
    100: rb'\[#+\.*\]  ?\d+%, \d+ s to go, \d+ events, [\d.]+( [kM])?/s',
    24: rb' *\d+%, \d+ s to go',
}


@cases(*LOOKS)
def progress(folder, columns):
    """a long reading shows on a terminal how far it is, and takes it away again"""
    # the rows fill a pipe that is not read for longer than the patience of a second
    write(folder, long=''.join(f'{{"op":"alloc","id":{i},"size":5}}\n' for i in range(60000)))
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    with started(folder, 'run', '--steps', '-', 'long.ndjson', stderr=theirs) as process:
        os.close(theirs)
        until(lambda: unread(process.stdout) > 0, 'it writes')
        time.sleep(1.2)
        out = ended(process)
    shown = everything(mine)
    os.close(mine)
    equal((out.status, out.out.count(b'\n')), (0, 60001), 'status and lines')
    lines = shown.split(b'\r')
    assert re.fullmatch(LOOKS[columns], lines[1].rstrip()), shown[:300]
    assert all(len(line) < columns for line in lines), shown[:300]
    equal((lines[-2].strip(), lines[-1]), (b'', b''), 'what is left in the end')


LONG = 'pytorch:expandable_segments=true,max_split_size_mb=64'


def tables(folder, columns):
    """The tables of two policies on a terminal of so many columns; 0: on none."""
    words = ('run', '-p', 'bestfit', '-p', LONG, 'good.ndjson')
    env = {**os.environ, 'NO_COLOR': '1'}
    if columns:
        mine, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 50, columns, 0, 0))
        out = run(folder, *words, stdout=theirs, env=env)
        os.close(theirs)
        text = everything(mine).decode().replace('\r\n', '\n')
        os.close(mine)
    else:
        out = run(folder, *words, env=env)
        text = out.out.decode()
    equal(out.status, 0, 'status')
    return text[text.index('\npolicy'):text.index('\n\nbestfit over')]


@cases(60, 80, 100, 130, 200)
def narrow_tables(folder, columns):
    """the tables fit a terminal of 80 columns and more; a name that is too long has a line"""
    write(folder, good=GOOD)
    plain, fitted = tables(folder, 0), tables(folder, columns)
    equal(plain.count(LONG + '  '), 3, 'rows of the long name')
    widest = max(map(len, fitted.splitlines()))
    assert widest <= max(columns, 80), f'{widest} columns of {columns}'
    # the same words, wherever the lines are broken
    equal(fitted.split(), plain.split(), 'words')
    equal(fitted.count(LONG + '\n'), 3 if columns < len(LONG) + 69 else 0, 'lines of a name')


# each is refused by PyTorch, too, but for what stands behind `backend`; the words are ours
SETTINGS = {
    'block_size:5': 'never had', 'nokey:1': '"nokey"', 'max_split_size_mb': 'wants a value',
    ',max_split_size_mb:64': 'missing before', 'max_split_size_mb:10': 'is too small',
    'max_split_size_mb:x': 'whole number', 'large_segment_size_mb:5': 'whole number from 11',
    'garbage_collection_threshold:1.5': 'between 0 and 1',
    'garbage_collection_threshold:1e999': 'between 0 and 1',
    'per_process_memory_fraction:2': 'from 0 to 1',
    'expandable_segments:yes': 'True or False', 'expandable_segments_reserve:0': 'a fraction',
    'expandable_segments_reserve:1e9G': 'a fraction',
    'roundup_power2_divisions:3': 'a power of two',
    'roundup_power2_divisions:[3:1]': 'a power of two',
    'roundup_power2_divisions:[256:3]': 'a power of two',
    'roundup_power2_divisions:[256:1': 'a power of two',
    'roundup_power2_divisions:[256]': 'a power of two',
    'roundup_power2_divisions:x': 'a power of two', 'backend:foo': 'neither native',
    'backend:cudaMallocAsync': "driver's own", 'pinned_use_background_threads:1': 'True or False',
    'pinned_num_register_threads:3': 'a power of two',
    'pinned_num_register_threads:256': 'up to 128',
    'pinned_reserve_segment_size_mb:x': 'whole number',
    'graph_capture_record_stream_reuse:maybe': 'True or False',
    'expandable_segments_reserve_by_class:': 'wants a value',
}


@cases(*SETTINGS)
def refused_setting(folder, setting):
    """a setting that PyTorch's allocator does not take, on the command line and in a trace"""
    write(folder, good=GOOD,
          late=GOOD + json.dumps({'op': 'configure', 'value': setting}) + '\n')
    for args in (('--alloc-conf', setting, 'good.ndjson'), ('late.ndjson',)):
        out = run(folder, 'run', '-q', '-p', 'pytorch', *args)
        equal(out.status, 2, 'status')
        one_line(out)
        assert SETTINGS[setting] in out.lines[0], out.err


@test
def long_setting(folder):
    """settings longer than PyTorch would ever see are refused with one line"""
    write(folder, good=GOOD)
    out = run(folder, 'run', '-p', 'pytorch', '--alloc-conf', 'x:' + 'y' * 5000, 'good.ndjson')
    equal(out.status, 2, 'status')
    one_line(out)
    assert '4095 at most' in out.lines[0], out.err


# of the two runs, one was on a device of 2 GiB, one of 1 GiB
CONDITIONS = {
    'text': 'device total: 2147483648 (2.00 GiB), before 1073741824 (1024.00 MiB)',
    'markdown': '**The conditions differ:**',
    'json': '"device total: 2147483648 (2.00 GiB), before 1073741824 (1024.00 MiB)"',
    'github': '::warning file=good.ndjson,title=fragsim%3A conditions differ::',
}


@cases(*CONDITIONS)
def conditions_differ(folder, form):
    """what two results do not have in common is said"""
    write(folder, good=GOOD)
    for name, size in (('a', '1GiB'), ('b', '2GiB')):
        run(folder, 'run', '-q', '--device-bytes', size, '--json', name, 'good.ndjson')
    out = run(folder, 'diff', '--format', form, 'a', 'b')
    equal(out.status, 0, 'status')
    assert CONDITIONS[form] in out.out.decode(), out.out


@test
def warnings_of_a_sweep(folder):
    """each warning of diff is a line that names its trace, once for all policies"""
    write(folder, back='{"op":"mark","name":"a","t":2}\n{"op":"mark","name":"b","t":1}\n')
    out = run(folder, 'diff', '-p', 'bestfit', '-p', 'buddy', 'back.ndjson')
    equal(out.status, 0, 'status')
    one_line(out)
    assert 'back.ndjson' in out.lines[0] and 'time runs backwards' in out.lines[0], out.err


@test
def long_profile(folder):
    """a profiler's trace longer than any window is read on, and cut short it is refused"""
    count = 20000
    text = '{"schemaVersion":1,"traceEvents":[' + ',\n'.join(
        '{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":7,'
        f'"ts":{i},"args":{{"Bytes":{512 if i % 2 == 0 else -512},"Addr":4096,'
        '"Device Type":1,"Device Id":0}}' for i in range(count)) + ']}'
    write(folder, long=text, cut=text[:-len(text) // 3], wrong=text[:-1] + ',x}')
    out = run(folder, 'info', '--json', '-', 'long.ndjson')
    equal((out.status, json.loads(out.out)['events']), (0, count), 'status, events')
    for name, words in (('cut', 'truncated'), ('wrong', '')):
        out = run(folder, 'info', f'{name}.ndjson')
        equal(out.status, 4, f'status of {name}')
        one_line(out)
        assert words in out.lines[0], out.err
