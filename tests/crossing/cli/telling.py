"""telling.py - what is said: on a terminal, of settings, of what differs, of long input."""

import json
import os
import re
import time

from harness import (GOOD, Terminal, cases, ended, equal, one_line, run, started, test,
                     unread, until, write)

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
    with (Terminal(columns) as terminal,
          started(folder, 'run', '--steps', '-', 'long.ndjson', stderr=terminal.fd) as process):
        until(lambda: unread(process.stdout) > 0, 'it writes')
        time.sleep(1.2)
        out = ended(process)
    shown = terminal.shown()
    equal((out.status, out.out.count(b'\n')), (0, 60001), 'status and lines')
    lines = shown.split(b'\r')
    assert re.fullmatch(LOOKS[columns], lines[1].rstrip()), shown[:300]
    assert all(len(line) < columns for line in lines), shown[:300]
    equal((lines[-2].strip(), lines[-1]), (b'', b''), 'what is left in the end')


LONG = 'pytorch:expandable_segments=true,max_split_size_mb=64'


def tables(folder, columns):
    """The tables of two policies on a terminal of so many columns; 0: on none."""
    words = ('run', '-v', '-p', 'bestfit', '-p', LONG, 'good.ndjson')
    env = {**os.environ, 'NO_COLOR': '1'}
    if columns:
        with Terminal(columns, rows=50) as terminal:
            out = run(folder, *words, stdout=terminal.fd, env=env)
        text = terminal.shown().decode()
    else:
        out = run(folder, *words, env=env)
        text = out.out.decode()
    equal(out.status, 0, 'status')
    return text[text.index('\nresult'):text.index('\n\nbestfit over')]


@cases(60, 80, 100, 130, 200)
def narrow_tables(folder, columns):
    """the tables fit a terminal of 80 columns and more; a name that is too long has a line"""
    write(folder, good=GOOD)
    plain, fitted = tables(folder, 0), tables(folder, columns)
    equal(plain.count(LONG + '  '), 4, 'rows of the long name')
    widest = max(map(len, fitted.splitlines()))
    assert widest <= max(columns, 80), f'{widest} columns of {columns}'
    # the same words, wherever the lines are broken, in a name that is too long for one too
    equal(''.join(fitted.split()), ''.join(plain.split()), 'words')
    lines = (3 if columns < len(LONG) + 69 else 0) + (columns < len(LONG) + 50)
    equal(fitted.count(LONG + '\n'), lines, 'lines of a name')


def shown(folder, words, terminal, said):
    """What a good run prints, on a terminal or not, where the environment says that of colour."""
    env = {k: v for k, v in os.environ.items() if k not in ('NO_COLOR', 'CLICOLOR_FORCE')}
    with Terminal() as screen:
        out = run(folder, *words, env={**env, 'TERM': 'xterm', **said},
                  **({'stdout': screen.fd} if terminal else {}))
    text = screen.shown() if terminal else out.out
    equal((out.status, bool(text)), (0, True), 'status and output')
    return text


# on a terminal or not, what the environment says, and whether there is colour then
COLOURS = {
    'terminal': (True, {}, True),
    'terminal, NO_COLOR': (True, {'NO_COLOR': '1'}, False),
    'terminal, NO_COLOR empty': (True, {'NO_COLOR': ''}, True),
    'terminal, TERM=dumb': (True, {'TERM': 'dumb'}, False),
    'terminal, TERM=dumb, forced': (True, {'TERM': 'dumb', 'CLICOLOR_FORCE': '1'}, True),
    'pipe': (False, {}, False),
    'pipe, forced': (False, {'CLICOLOR_FORCE': '1'}, True),
    'pipe, forced by a word': (False, {'CLICOLOR_FORCE': 'yes'}, True),
    'pipe, CLICOLOR_FORCE=0': (False, {'CLICOLOR_FORCE': '0'}, False),
    'pipe, CLICOLOR_FORCE empty': (False, {'CLICOLOR_FORCE': ''}, False),
    'pipe, forced, NO_COLOR': (False, {'CLICOLOR_FORCE': '1', 'NO_COLOR': '1'}, False),
}


# what --color says goes before all that
SAID = {
    'terminal, never': (True, {'CLICOLOR_FORCE': '1'}, 'never', False),
    'terminal, auto': (True, {}, 'auto', True),
    'terminal, auto, NO_COLOR': (True, {'NO_COLOR': '1'}, 'auto', False),
    'pipe, always': (False, {'NO_COLOR': '1'}, 'always', True),
    'pipe, auto': (False, {}, 'auto', False),
    'pipe, auto, forced': (False, {'CLICOLOR_FORCE': '1'}, 'auto', True),
}


@cases(*SAID)
def said_colours(folder, name):
    """--color, in front of a command or among its options, goes before the environment"""
    terminal, said, when, wanted = SAID[name]
    write(folder, good=GOOD)
    for words in (('--color', when, 'run', 'good.ndjson'), ('run', f'--color={when}', 'good.ndjson'),
                  (f'--color={when}', 'diff', '-p', 'direct', '-p', 'bestfit', 'good.ndjson'),
                  ('diff', '-p', 'direct', '-p', 'bestfit', 'good.ndjson', '--color', when),
                  ('--color', 'always', '--color', 'never', 'run', 'good.ndjson', '--color', when)):
        text = shown(folder, words, terminal, said)
        equal(b'\x1b[' in text, wanted, f'colour of {words}')
    run(folder, '--color', 'always', 'run', '--json', 'r.json', 'good.ndjson')
    equal('\x1b' in (folder / 'r.json').read_text(encoding='utf-8'), False, 'colour in a file')


@test
def wrong_colours(folder):
    """another word is wrong usage, and --color is nothing without a command"""
    for words in (('--color', 'sometimes', 'run', 'x'), ('--color=', 'run', 'x'), ('--color',),
                  ('--color', 'never'), ('run', '--color', 'x', 'y'), ('--colour', 'never', 'run')):
        out = run(folder, *words)
        equal((out.status, out.out, len(out.lines)), (2, b'', 1), f'outcome of {words}')
    for words in (('--color', 'never', '--version'), ('--color=always', '-V'), ('-V',)):
        equal(run(folder, *words).out.split()[:1], [b'fragsim'], f'version of {words}')


@cases(*COLOURS)
def colours(folder, name):
    """there is colour on a terminal, unless it is forbidden, and elsewhere where it is forced"""
    terminal, said, wanted = COLOURS[name]
    write(folder, good=GOOD)
    for words in (('run', 'good.ndjson'), ('diff', '-p', 'direct', '-p', 'bestfit', 'good.ndjson')):
        text = shown(folder, words, terminal, said)
        equal(b'\x1b[' in text, wanted, f'colour of {words[0]}')


STRINGS = ('', 'expandable_segments:True,max_split_size_mb:128', 'roundup_power2_divisions:4')
KEYS = ('pytorch', 'pytorch:expandable_segments=true,max_split_size_mb=128',
        'pytorch:roundup_power2_divisions=4')


def confs():
    """Each of them as an --alloc-conf."""
    return [word for text in STRINGS for word in ('--alloc-conf', text)]


@test
def several_settings(folder):
    """each --alloc-conf is the run that its keys are, named by its text as one pastes it"""
    write(folder, good=GOOD)
    named = ('default', *STRINGS[1:])
    text = run(folder, 'run', *confs(), 'good.ndjson').out.decode()
    equal([x.split()[1] for x in text.split('\n\n')[1].splitlines()], ['setting', *named], 'names')
    text = run(folder, 'run', '--alloc-conf', STRINGS[1], 'good.ndjson').out.decode()
    equal(text.split('\n\n')[1].splitlines()[1].split()[1], STRINGS[1], 'name of a single one')
    for option, name in (('--steps', 'steps.csv'), ('--json', 'json'), ('--placements', 'places')):
        keys = [word for text in KEYS for word in ('-p', text)]
        run(folder, 'run', '-q', *keys, option, name, 'good.ndjson')
        wanted = (folder / name).read_bytes()
        run(folder, 'run', '-q', *confs(), option, name, 'good.ndjson')
        equal((folder / name).read_bytes() == wanted, True, f'{option} is that of the keys')
    # in place of each pytorch, among the others; a single one leaves the policy's name as it is
    for words, wanted in (
            (('-p', 'direct', '-p', 'pytorch', '-p', 'buddy', *confs()), ['direct', *KEYS, 'buddy']),
            (('-p', 'pytorch', '--alloc-conf', STRINGS[1]), ['pytorch']),
            (('-p', 'pytorch', '-p', 'pytorch', *confs()), [*KEYS, *KEYS])):
        out = run(folder, 'run', '-q', '--json', '-', *words, 'good.ndjson')
        equal([x['policy']['text'] for x in json.loads(out.out)['runs']], wanted, 'policies')
    out = run(folder, 'diff', *confs(), 'good.ndjson').out.decode()
    equal(out.splitlines()[1:5], ['3 policies on 1 trace; differences are those from the first, default',
                                 *(f'    {i}  {x}' for i, x in enumerate(named, 1))], 'diff')
    out = run(folder, 'diff', *confs(), '--format', 'json', 'good.ndjson')
    equal([x['run']['policy'] for x in json.loads(out.out)['traces'][0]['runs']], list(KEYS),
          'policies of diff')
    for words in (('run', *confs(), '-p', 'direct', 'good.ndjson'),
                  ('run', *confs(), '-p', KEYS[1], 'good.ndjson'),
                  ('run', '--alloc-conf', '', '--alloc-conf', 'nokey:1', 'good.ndjson'),
                  ('run', *['--alloc-conf', 'nokey:1'] * 4, 'good.ndjson'),
                  ('run', '-p', 'pytorch', '-p', 'plan:period=a', *confs(), '--alloc-conf', 'nokey:1',
                   'good.ndjson'),
                  ('trace', 'convert', *confs(), '--to', 'perfetto', 'good.ndjson', 'out'),
                  ('diff', *confs(), '-p', 'direct', 'good.ndjson')):
        out = run(folder, *words)
        equal((out.status, out.out), (2, b''), f'outcome of {words}')
        one_line(out)


# each is refused by PyTorch, too, but for what stands behind `backend`; the words are ours
SETTINGS = {
    'block_size:5': 'never had', 'nokey:1': '"nokey"', 'max_split_size_mb': 'requires a value',
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
    'expandable_segments_reserve_by_class:': 'requires a value',
}


@cases(*SETTINGS)
def refused_setting(folder, setting):
    """a setting that PyTorch's allocator does not take, on the command line and in a trace"""
    write(folder, good=GOOD,
          late=GOOD + json.dumps({'op': 'configure', 'value': setting}) + '\n')
    for status, args in ((2, ('--alloc-conf', setting, 'good.ndjson')), (4, ('late.ndjson',))):
        out = run(folder, 'run', '-q', '-p', 'pytorch', *args)
        equal(out.status, status, 'status')
        one_line(out)
        assert SETTINGS[setting] in out.lines[0], out.err
    assert out.lines[0].startswith('fragsim: late.ndjson:6:1: event 4: configure: '), out.err


CONFIGURED = {
    'run': ('run', '-q', '-p', 'pytorch', 't'),
    'several policies': ('run', '-q', '-p', 'bestfit', '-p', 'pytorch', 't'),
    'diff': ('diff', '-q', '-p', 'bestfit', '-p', 'pytorch', 't'),
    'convert to a snapshot': ('trace', 'convert', '-q', '-p', 'pytorch', '-t', 'snapshot', 't', 'out'),
    'convert to perfetto': ('trace', 'convert', '-q', '-p', 'pytorch', '-t', 'perfetto', 't', 'out'),
    'shrink': ('trace', 'shrink', '-q', '-p', 'pytorch', '--device-bytes', '4MiB', '-t', 'lines', 't',
               'out'),
}
SOME = ('{"op":"alloc","id":1,"size":"2MiB"}\n'
        '{"op":"configure","value":"roundup_power2_divisions:4"}\n'
        '%s\n{"op":"alloc","id":2,"size":"5MiB"}\n{"op":"free","id":1}\n'
        '{"op":"alloc","id":3,"size":"600KiB"}\n{"op":"alloc","id":4,"size":"30MiB"}\n')
NO_SETTING = '{"op":"configure","value":"nokey:1"}'


@cases(*CONFIGURED)
def configured_badly(folder, command):
    """settings in a trace that pytorch does not take are bad input, which --lenient skips"""
    args = CONFIGURED[command]
    (folder / 't').write_text(SOME % NO_SETTING, encoding='ascii')
    out = run(folder, *args)
    equal(out.status, 4, 'status')
    one_line(out)
    assert out.lines[0].startswith('fragsim: t:3:1: event 2: configure: policy pytorch: '), out.err
    assert not (folder / 'out').exists(), 'there is an output'
    plain = tuple(x for x in args if x != '-q')
    out = run(folder, *plain, '--lenient')
    equal(out.status, 0, 'status')
    # an export names its policy behind it
    equal(len(out.lines), 2 if args[1] == 'convert' else 1, 'lines')
    assert 'left out 1 event: settings that a policy does not take' in out.lines[0], out.err
    assert 't:3:1: event 2: ' in out.lines[0], out.err


@test
def configured_for_nobody(folder):
    """settings in a trace are nothing to policies that read none, and to commands without one"""
    (folder / 't').write_text(SOME % NO_SETTING, encoding='ascii')
    for args in (('run', '-p', 'bestfit', '-p', 'direct'), ('trace', 'info'), ('diff', '-p', 'buddy')):
        equal(run(folder, *args, 't').status, 0, 'status')
    equal(run(folder, 'trace', 'convert', '-q', '-t', 'lines', 't', 'out').status, 0, 'status')
    assert NO_SETTING in (folder / 'out').read_text(encoding='ascii'), 'the event is gone'


@test
def configured_skipped(folder):
    """skipped settings change nothing: what was set before stays, and other policies' rows"""
    (folder / 't').write_text(SOME % NO_SETTING, encoding='ascii')
    # a mark is a step that does nothing either
    (folder / 'm').write_text(SOME % '{"op":"mark","name":"x"}', encoding='ascii')
    # later settings build on those that were taken
    more = '{"op":"configure","value":"large_segment_size_mb:40"}\n'
    for name in 'tm':
        with (folder / name).open('a', encoding='ascii') as f:
            f.write(more + '{"op":"alloc","id":5,"size":"3MiB"}\n')
    both = [run(folder, 'run', '-q', '--lenient', '-p', 'pytorch', '--placements', '-', x).out
            for x in 'tm']
    assert both[0] and both[0] == both[1], both
    alone, beside = [run(folder, 'run', '-q', '--lenient', *more, '-p', 'bestfit', '--steps', '-',
                         't').out.decode().splitlines() for more in ((), ('-p', 'pytorch'))]
    equal([x for x in beside if x.startswith('bestfit,')], ['bestfit,' + x for x in alone[1:]],
          'rows of bestfit')


@test
def lenient_diff(folder):
    """diff leaves out bad events as run does"""
    (folder / 't').write_text(GOOD + '{"op":"nosuch"}\n', encoding='ascii')
    out = run(folder, 'diff', '--lenient', '-p', 'buddy', 't')
    equal(out.status, 0, 'status')
    equal(len(out.lines), 1, 'lines')
    assert 'left out 1 event: an unknown op' in out.lines[0], out.err


@test
def no_name(folder):
    """an empty name of a file, and standard input, are told as what they are"""
    write(folder, good=GOOD)
    for args, status, words in (
            (('run', ''), 4, '"": No such file'), (('trace', 'info', ''), 4, '"": No such file'),
            (('diff', '', 'good.ndjson'), 4, '"": No such file'),
            (('run', '--json', '', 'good.ndjson'), 2, 'option --json requires the name of a file'),
            (('run', '--steps=', 'good.ndjson'), 2, 'option --steps requires the name of a file'),
            (('verify', '-'), 4, 'standard input: no snapshot of PyTorch')):
        out = run(folder, *args, input=GOOD.encode())
        equal(out.status, status, f'status of {args}')
        one_line(out)
        assert words in out.lines[0], out.err


@test
def long_setting(folder):
    """settings longer than PyTorch would ever see are refused with one line"""
    write(folder, good=GOOD)
    out = run(folder, 'run', '-p', 'pytorch', '--alloc-conf', 'x:' + 'y' * 5000, 'good.ndjson')
    equal(out.status, 2, 'status')
    one_line(out)
    assert '4095 at most' in out.lines[0], out.err


# of the two runs, one was on a device of 2 GiB, one of 1 GiB; csv and junit have figures alone
CONDITIONS = {
    'text': 'device total: 2147483648 (2.00 GiB), before 1073741824 (1.00 GiB)',
    'markdown': '**The conditions differ:**',
    'json': '"device total: 2147483648 (2.00 GiB), before 1073741824 (1.00 GiB)"',
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
    out = run(folder, 'trace', 'info', '--json', '-', 'long.ndjson')
    equal((out.status, json.loads(out.out)['events']), (0, count), 'status, events')
    for name, words in (('cut', 'truncated'), ('wrong', '')):
        out = run(folder, 'trace', 'info', f'{name}.ndjson')
        equal(out.status, 4, f'status of {name}')
        one_line(out)
        assert words in out.lines[0], out.err


# what is one is not many: events, allocs, frees and steps of a trace that has one of each
MANY = re.compile(r'\b1 (events|allocs|frees|steps|blocks|segments|bytes|runs|policies|traces|marks'
                  r'|devices|streams|pools|sizes|simulations|differences)\b')
ONE = '{"op":"alloc","id":1,"size":1}\n'
ONES = {
    'run': ('run', '-v', 'one.ndjson'),
    'a free': ('run', '-v', 'two.ndjson'),
    'that fails': ('run', '-v', '--device-bytes', '1KiB', 'one.ndjson'),
    'info': ('trace', 'info', 'one.ndjson'),
    'diff': ('diff', '-p', 'direct', '-p', 'bestfit', 'one.ndjson'),
    'diff, Markdown': ('diff', '-p', 'direct', '-p', 'bestfit', '--format', 'markdown', 'one.ndjson'),
    'diff of another trace': ('diff', 'one.json', 'two.json'),
    'left out': ('run', '--lenient', 'bad.ndjson'),
    'shrink': ('trace', 'shrink', '--tries', '1', '--device-bytes', '1KiB', 'one.ndjson', 'out.ndjson'),
}


@cases(*ONES)
def singular(folder, name):
    """one of a thing is named in the singular"""
    write(folder, one=ONE, two=ONE + '{"op":"free","id":1}\n', bad=ONE + '{"op":"nosuch"}\n')
    for trace in ('one', 'two'):
        run(folder, 'run', '-q', '-p', 'direct', '--json', f'{trace}.json', f'{trace}.ndjson')
    out = run(folder, *ONES[name])
    text = (out.out + out.err).decode()
    assert out.status in (0, 1, 3) and text, out
    equal(MANY.findall(text), [], text)


@test
def tagless(folder):
    """blocks without a tag are called so"""
    write(folder, one=ONE)
    text = run(folder, 'run', 'one.ndjson').out.decode()
    equal(re.findall('(?:top tags) .*', text)[-1], 'top tags  512 bytes in 1 block without a tag', text)
