"""printable.py - nothing from outside steers a terminal, or the log of a CI service.

Hostile text stands wherever a name may: file names, what traces, results, baselines and profiles
say, values of options. Whatever a command prints then, in whatever format, is plain text.
"""

import json
import os
import re
import subprocess

from harness import GOOD, HEADER, HEAVY, cases, test
import harness

WITNESS = 'zzq'         # in every hostile text, so that one sees where it came out
CONTROL = ''.join(map(chr, [*range(1, 0x20), *range(0x7f, 0xa0)]))
HOSTILE = {
    'control': f'{WITNESS}{CONTROL}',
    'escape sequence': f'\x1b[2J\x1b]0;{WITNESS}\x07',
    'line': f'{WITNESS}\n::stop-commands::{WITNESS}\n  ::error::x\r\n\r::set-output name=a::b',
    'first': f'::stop-commands::{WITNESS}',
    'blanks': f' \u3000\u00a0::stop-commands::{WITNESS}',
    'colon': ':',
    'v1': f'{WITNESS} ##[error]x ##vso[task.complete]',
    'bidi': f'{WITNESS}\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069',
    'separator': f'{WITNESS}\u2028::stop-commands::\u2029::x',
}
# file names alone may be no UTF-8 at all
BYTES = {'bytes': b'zzq\x9b1m\xff\xc3(\xed\xa0\x80\xf8\xe2\x80',
         **{name: text.encode() for name, text in HOSTILE.items()}}
FORMATS = ('text', 'markdown', 'json', 'junit', 'github', 'csv')

STEERS = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|##[A-Za-z]*\\[')
OURS = re.compile('::(error|warning|notice) (file=[^:]*,)?title=fragsim[^:]*::')


def run(folder, *args):
    done = subprocess.run([harness.PROGRAM, *args], cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, timeout=harness.PATIENCE)
    assert done.returncode in range(7), f'{args}: status {done.returncode}: {done.stderr[:300]}'
    return done


def plain(text: bytes, *, github: bool = False, json_: bool = False) -> None:
    """str.splitlines() would see more line ends than a log does."""
    shown = text.decode('utf-8')        # what is no UTF-8 is a ValueError
    if not json_:
        assert '\t' not in shown, f'a tab in {shown[:400]!r}'
    found = STEERS.search(shown)
    assert not found, f'{found.group()!r} in {shown[max(found.start() - 100, 0):][:300]!r}'
    for line in shown.split('\n'):
        if line.lstrip().startswith('::'):
            assert github and OURS.match(line), f'a line {line[:200]!r}'


def hold(folder, *args, github: bool = False, json_: bool = False) -> bytes:
    """Runs, holds all output against the rule above; the output."""
    done = run(folder, *args)
    plain(done.stdout, github=github, json_=json_)
    plain(done.stderr)
    return done.stdout + done.stderr


def told(*outputs: bytes) -> None:
    """Somewhere the text did come out: else this shows nothing."""
    assert any(WITNESS.encode() in x for x in outputs), 'the name was never printed'


def trace_of(text: str) -> str:
    """A name wherever a trace has one, and an out-of-memory that prints all of them."""
    device = {'name': text, 'total_bytes': 4 << 20}
    events = [
        {'op': 'alloc', 'id': text, 'size': 2 << 20, 'tag': text, 'stream': text, 'pool': text},
        {'op': 'alloc', 'id': 'live', 'size': 700, 'tag': '##[error]' + text},
        {'op': 'mark', 'name': text}, {'op': 'sync', 'stream': text},
        {'op': 'alloc', 'id': text + '2', 'size': 4 << 20, 'tag': text},
    ]
    head = {'format': 'fragsim-trace', 'version': 1, 'meta': {'source': text, text: [text]},
            'device': device}
    # JSON has raw whatever it may have so
    return '\n'.join(json.dumps(x, ensure_ascii=False) for x in [head, *events]) + '\n'


READERS = [
    ('trace', 'info'), ('trace', 'info', '--json', '-'), ('run',), ('run', '-p', 'bestfit', '-p', 'pytorch'),
    ('run', '-p', 'pytorch', '--summary', 'pytorch', '--on-oom', 'continue'),
    ('run', '--json', '-'), ('run', '--placements', '-'), ('run', '-q', '--fail-if', 'oom > 0'),
    ('run', '--check'), ('verify',), *[('diff', '--format', f) for f in FORMATS],
    *[('diff', '-p', 'bestfit', '-p', 'buddy', '--gate', '--format', f) for f in FORMATS],
]
WRITERS = [
    *[('trace', 'convert', '-t', form) for form in ('lines', 'object', 'minimalloc', 'rmm', 'perfetto')],
    ('trace', 'anonymize', '-t', 'lines'), ('trace', 'slice', '--from-mark', 'nosuch', '-t', 'lines'),
    ('trace', 'slice', '--from-step', '1', '-t', 'lines'), ('trace', 'shrink', '-t', 'lines'),
    ('trace', 'merge', '-t', 'lines'),
]


def is_json(args) -> bool:
    return 'json' in args or '--json' in args


@cases(*BYTES)
def file_names(folder, which):
    """a hostile file name in every command, format and message"""
    name = BYTES[which]
    missing = name + b'.missing'
    at = os.fsencode(folder) + b'/' + name
    with open(at, 'w', encoding='utf-8') as f:
        f.write(trace_of('x'))
    outputs = []
    for args in READERS:
        for path in (name, missing):
            outputs.append(hold(folder, *args, path, github='github' in args,
                                json_=is_json(args)))
    for args in WRITERS:
        outputs.append(hold(folder, *args, name, '-'))
        hold(folder, *args, missing, '-')
        hold(folder, *args, name, b'nosuch/' + name)
    hold(folder, 'run', '--profile', name, name)
    hold(folder, 'run', '--json', b'nosuch/' + name, name)
    hold(folder, 'diff', '-b', name, name)
    hold(folder, 'diff', name, name)
    hold(folder, 'diff', '-o', b'nosuch/' + name, name)
    hold(folder, 'replay', name)
    if which != 'colon':
        told(*outputs)


@cases(*HOSTILE)
def inside_traces(folder, which):
    """hostile names in a trace, in every command and format"""
    text = HOSTILE[which]
    (folder / 't').write_text(trace_of(text), encoding='utf-8')
    outputs = [hold(folder, *args, 't', github='github' in args, json_=is_json(args))
               for args in READERS]
    outputs += [hold(folder, *args, 't', '-') for args in WRITERS]
    # in messages of bad input, and among what --lenient counts
    bad = {'op': text}, {'op': 'free', 'id': text}, {'op': 'alloc', 'id': 1, 'size': text}, \
        {'op': 'configure', 'value': text}, {'op': 'alloc', 'id': 1, 'size': 1, text: 1, 'op ': 2}
    for event in bad:
        (folder / 'b').write_text(GOOD + json.dumps(event, ensure_ascii=False) + '\n',
                                  encoding='utf-8')
        for more in ((), ('--lenient',), ('-p', 'pytorch'), ('-p', 'pytorch', '--lenient')):
            outputs.append(hold(folder, 'run', *more, 'b'))
            hold(folder, 'diff', *more, 'b')
    if which != 'colon':
        told(*outputs)


def with_strings(node, text: str, keys: tuple):
    """A document whose members of these names, and keys of parameters, are such text."""
    if isinstance(node, dict):
        return {(text + k if 'params' in keys and k in ('align', 'min') else k):
                text if isinstance(v, str) and k in keys else with_strings(v, text, keys)
                for k, v in node.items()}
    if isinstance(node, list):
        return [with_strings(x, text, keys) for x in node]
    return node


# members that are such text together: all but the status, which is refused where it is unknown
PLACES = (('path', 'text', 'name'), ('version', 'content'), ('params',), ('status',),
          ('path', 'text', 'name', 'version', 'content', 'params'))


@cases(*HOSTILE)
def inside_results(folder, which):
    """hostile names in results and baselines, in every format of a comparison"""
    text = HOSTILE[which]
    (folder / 't').write_text(trace_of('x') + '{"op":"mark","name":"m"}\n', encoding='utf-8')
    hold(folder, 'run', '-q', '-p', 'bestfit', '-p', 'buddy', '--json', 'now', 't')
    hold(folder, 'diff', '-q', '-p', 'bestfit', '-p', 'buddy', '-b', 'base', '--update-baseline',
         't')
    shown = []
    for name in ('now', 'base'):
        plain_one = json.loads((folder / name).read_text(encoding='utf-8'))
        for keys in PLACES if HEAVY else PLACES[::4]:
            (folder / 'h').write_text(json.dumps(with_strings(plain_one, text, keys)), encoding='utf-8')
            (folder / 'o').write_text(
                json.dumps(with_strings(plain_one, text + 'other', keys)).replace('2097152', '2097664'),
                encoding='utf-8')
            for form in FORMATS:
                how = {'github': form == 'github', 'json_': form == 'json'}
                for pair in (('h', 'o'), (name, 'h'), ('h', name), ('h', 'h'), ('-b', 'h', 't'), ('-b', 'h')):
                    shown.append(hold(folder, 'diff', '--format', form, '--gate', *pair, **how))
            hold(folder, 'diff', '-q', '--fail-if', 'peak.reserved > 1', 'h', 'o')
            hold(folder, 'run', '--profile', 'h', 't')
    if which != 'colon':
        told(*shown)


@cases(*HOSTILE)
def option_values(folder, which):
    """hostile values of options, commands, policies, plug-ins and settings"""
    text = HOSTILE[which]
    (folder / 't').write_text(trace_of('x'), encoding='utf-8')
    outputs = []
    options = ('--policy', '--alloc-conf', '--steps', '--placements', '--json', '--summary',
               '--stacks', '--on-oom', '--fail-if', '--profile', '--device-bytes', '--threads',
               '--format', '--output', '--baseline', '--to', '--from-mark', '--from-step', '--ties',
               '--keep', '--tries', '--device', '--limit', '--allocator', '--pace', '--probe')
    for command in ('trace anonymize', 'trace convert', 'diff', 'trace info', 'trace merge', 'run',
                    'trace shrink', 'trace slice', 'verify', 'replay'):
        for option in options:
            # an output of that name would be one
            if option in ('--steps', '--placements', '--json', '--output'):
                continue
            outputs.append(hold(folder, *command.split(), f'{option}={text}', 't', '-'))
        outputs.append(hold(folder, *command.split(), f'--{text}', 't'))
        outputs.append(hold(folder, *command.split(), f'-{text}', 't'))
    for value in (f'{text}', f'./{text}', f'./{text}/x.so:a=1', f'bestfit:{text}',
                  f'bestfit:align={text}', f'pytorch:{text}', f'bestfit:align=512,{text}=1'):
        for command in ('run', 'diff'):
            outputs.append(hold(folder, command, '-p', value, 't'))
    outputs.append(hold(folder, 'run', '-p', 'pytorch', '--alloc-conf', f'max_split_size_mb:{text}', 't'))
    outputs += [hold(folder, text), hold(folder, '-' + text), hold(folder, 'help', text),
                hold(folder, 'trace', 'gen', text), hold(folder, 'trace', 'gen', 'random', f'--{text}=1'),
                hold(folder, 'trace', 'gen', 'random', f'--events={text}'),
                hold(folder, 'complete', '--', 'run', '-p', 'pytorch:' + text, json_=True)]
    hold(folder, 'complete', '--', 'run', '-p', f'pytorch:{text},', json_=True)
    hold(folder, 'complete', '--', 'diff', '--output', text, json_=True)
    # conditions keep what they were given
    for command in ('run', 'diff'):
        for value in (text, f'{text} > 1', f'peak.reserved {text}', f'peak.reserved > {text}',
                      f'{"" if text[0] != " " else text[0]}peak.reserved > 1\n'):
            outputs.append(hold(folder, command, '--fail-if', value, 't'))
    if which != 'colon':
        told(*outputs)


@test
def plain_names_stay(folder):
    """names that steer nothing are printed as they are: other alphabets, backslashes, colons"""
    for name in ('größe β 模型', 'a\\n\\u001b', 'c10::x', 'a ## [b]', 'x:', '\u200f\u05d0', '[x] #1'):
        (folder / name).write_text(HEADER % (',"device":' + json.dumps({'name': name})) + GOOD[GOOD.index('\n') + 1:], encoding='utf-8')
        out = run(folder, 'run', '-v', name)
        assert f'\n  {name}: 4 events'.encode() in out.stdout, out.stdout[:300]
        assert f'device 0: {name}, unlimited'.encode() in out.stdout, out.stdout[:300]
        err = run(folder, 'run', name + 'é.none').stderr
        assert err.startswith(f'fragsim: {name}é.none: '.encode()), err
