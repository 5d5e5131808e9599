#!/usr/bin/python3
"""run.py - fragsim explain of texts: what it finds, whatever is around it, and what that comes to.

    run.py PROGRAM          prints TAP

Messages that people have published, in every wording (public.py); messages made from known bytes,
printed as PyTorch prints them; each alone, in logs, wrapped, coloured, quoted and cut. What they
come to is worked out in arithmetic.py. HEAVY=1 reads a log of a GiB.
"""
import gzip
import itertools
import json
import os
import pty
import random
import re
import resource
import string
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / 'support'), str(HERE)]
import made                                             # noqa: E402
from arithmetic import WORDS, VERDICTS, Expected, Figure, judge, possible     # noqa: E402
from made import GIB, KIB, MIB                          # noqa: E402
from public import MESSAGES, Message                    # noqa: E402
from servers import LOGS, Log                           # noqa: E402
from texts import FULL, PIECES, TEXTS                           # noqa: E402
from program import times  # noqa: E402
from tap import Tap                                     # noqa: E402

PROGRAM = Path()
TAP = Tap()
SAN = bool(os.environ.get('SAN'))
ADVICE = ('export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True',)

# of PyTorch 1.4 to 2.0, which does not know the others
SHOWN, SHOWN_ADVICE = MESSAGES[8], 'export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512'
NEW = next(m for m in MESSAGES if (m.wording, m.verdict) == ('pytorch-sentences', 'nearly_full'))


def explain(data: bytes | None, *args: str, **more: object) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, 'explain', *args], input=data,
                          capture_output=True, check=False, **more)


def found(data: bytes) -> list:
    """The messages that JSON has of these bytes; memory figures are none."""
    done = explain(data, '--top', 'all', '--json', '-')
    if done.returncode == 4 and not done.stdout:
        return []
    if done.returncode or done.stderr:
        return [f'status {done.returncode}: {done.stderr.decode()}']
    document = json.loads(done.stdout)
    head = {'format': 'fragsim-message', 'version': 4}
    if {k: v for k, v in document.items() if k not in ('messages', 'accounts')} != head:
        return [f'not the head: {list(document)}']
    if bool(document['messages']) == bool(document['accounts']):
        return ['messages and accounts']
    return document['messages']


def differences(got: list, wanted: list) -> list[str]:
    if len(got) != len(wanted):
        return [f'{len(got)} messages, not {len(wanted)}: {got[:2]}']
    return [f'{i}: {k} is {g.get(k) if isinstance(g, dict) else g}, not {w[k]}'
            for i, (g, w) in enumerate(zip(got, wanted)) for k in w
            if not isinstance(g, dict) or k not in g or g[k] != w[k]]


def kinds(messages: list) -> dict:
    """How many messages there are of each program and verdict."""
    counts: dict = {}
    for m in messages:
        key = (m, '') if isinstance(m, str) else (m['wording'], m['verdict'], m['nearly_full'])
        counts[key] = counts.get(key, 0) + (1 if isinstance(m, str) else m.get('count', 1))
    return counts


def count_of(messages: list) -> int:
    return sum(kinds(messages).values())


def kind_differences(got: list, wanted: list) -> list[str]:
    have, want = kinds(got), kinds(wanted)
    return [f'{k}: {have.get(k, 0)}, not {want.get(k, 0)}' for k in {**have, **want}
            if have.get(k, 0) != want.get(k, 0)]


def expected(message: Message) -> dict:
    return Expected(message.wording, message.said, message.text).json()


def check_public() -> None:
    for message in MESSAGES:
        wanted = expected(message)
        wrong = differences(found(message.text.encode()), [wanted])
        if message.verdict not in ('', Expected(message.wording, message.said).verdict):
            wrong.append(f'{wanted["verdict"]}, by hand {message.verdict}')
        TAP.result(f'{message.wording}, {message.source.rpartition("github.com/")[2]}', wrong)
    missing = set(VERDICTS) - {m.verdict for m in MESSAGES}
    TAP.result('every verdict is among them', sorted(missing))


# how a text may come: what a log, a terminal or a person does to it
def wrapped(text: str, columns: int, head: str = '', end: str = '\n') -> str:
    """Cut at so many columns, words and figures too."""
    return end.join(head + line[i:i + columns] for line in text.split('\n')
                    for i in range(0, max(1, len(line)), columns))


def coloured(text: str) -> str:
    """As a terminal shows an error: words in colours, and a title set."""
    words = text.split(' ')
    return '\x1b]0;title\x07' + ' '.join(f'\x1b[1;3{i % 8}m{word}\x1b[0m' if i % 3 == 0 else word
                                          for i, word in enumerate(words))


DRESSES = {
    'as it is': lambda t: t,
    'in lines of 80 columns': lambda t: wrapped(t, 80),
    'of 23': lambda t: wrapped(t, 23),
    'of 7': lambda t: wrapped(t, 7),
    'with CRLF and indented': lambda t: wrapped(t, 60, '        ', '\r\n'),
    'of a rank, each line': lambda t: wrapped(t, 400, '[rank3]: '),
    'of a rank, wrapped': lambda t: '[rank3]: RuntimeError: x ' + wrapped(t, 70, '[rank3]: ')[9:],
    'of mpirun, wrapped': lambda t: 'x\n' + wrapped(t, 90, '[1,12]<stderr>:'),
    'in a container log': lambda t: wrapped(t, 85, '2024-06-22T15:13:25.079123456Z stderr F | '),
    'quoted': lambda t: wrapped(t, 72, '> '),
    'in a comment': lambda t: wrapped(t, 72, '# '),
    'coloured': coloured,
    'wrapped and coloured': lambda t: coloured(wrapped(t, 50)),
    'in JSON': lambda t: json.dumps({'message': coloured(t), 'level': 'error'}),
    'in JSON, in pieces': lambda t: json.dumps({'log': wrapped(t, 64, '[rank0]: ')}),
    'with NULs': lambda t: '\0'.join(t.split(' ')),
    'with no-break spaces': lambda t: t.replace(' ', '\u00a0'),
    'with words between': lambda t: f'\u9519\u8bef\n{t}\n  \u4f60\u597d 7 GiB free; 1 MiB cached',
}


def check_dresses() -> None:
    messages = [m for m in MESSAGES if 'bfc_allocator' not in m.text]
    wanted = [expected(m) for m in messages]
    for name, dress in DRESSES.items():
        log = '\n\nTraceback (most recent call last):\n'.join(dress(m.text) for m in messages)
        TAP.result(f'found {name}', kind_differences(found(log.encode()), wanted))
    bytes_before = bytes(range(256)) * 40
    log = b'\n'.join(bytes_before + b'\n' + m.text.encode() + b'\n' for m in messages)
    TAP.result('found between any bytes', kind_differences(found(log), wanted))


def check_cut() -> None:
    """Each message is cut at each byte: what is there is said, nothing breaks."""
    rng = random.Random(7)
    wrong = []
    for message in rng.sample(MESSAGES, times(12, len(MESSAGES), 12)):
        whole = expected(message)
        text = message.text.encode()
        for end in range(rng.randrange(3), len(text), times(9, 6, 9)):
            for got in found(text[:end]):
                if isinstance(got, str):
                    wrong.append(f'{message.source} at {end}: {got}')
                elif got['asked'] is None:
                    wrong += [f'{message.source} at {end}: {got["verdict"]}'] * \
                        (got['verdict'] != 'unknown')
                elif got['asked'] != whole['asked'] and abs(got['asked'] - whole['asked']) > \
                        max(whole['precision'], got['precision']):
                    wrong.append(f'{message.source} at {end}: asked {got["asked"]}')
                elif message.wording.startswith('pytorch') and \
                        got['total'] not in (None, whole['total']):
                    wrong.append(f'{message.source} at {end}: total {got["total"]}')
    TAP.result('what is cut is not more than it was', wrong)


def check_made() -> None:
    """Messages made of known bytes: the true verdict is among those named."""
    rng = random.Random(20)
    devices = [made.Device(rng) for _ in range(times(400, 1500, 100))]
    got = [x for device in devices for x in found(device.text.encode())]
    wrong, seen = [], dict.fromkeys((*VERDICTS, 'more than one'), 0)
    wanted = [Expected(x.wording, x.said, x.text) for x in devices]
    other = ('verdict', 'nearly_full', 'also_possible')
    wrong += differences([{k: g[k] for k in g if k not in other}
                          for g in got],
                         [{k: v for k, v in w.json().items()
                           if k not in other} for w in wanted])
    for device, said, want in zip(devices, got, wanted):
        names = [said['verdict'], *said['also_possible']]
        true = judge(*device.point, want.segments)
        seen[true] += 1
        seen['more than one'] += len(names) > 1
        if WORDS.get(true, true) not in names and names[0] not in ('limit', 'contradiction'):
            wrong.append(f'{device.text}: {true} is not among {names}')
        if said['verdict'] != want.word:
            wrong.append(f'{device.text}: {said["verdict"]}, not {want.word}')
        # no more than the inequalities allow, and no less but for a few bytes
        most = {WORDS.get(x, x) for x in want.possible | {want.verdict}} | {want.word}
        least = {WORDS.get(x, x) for x in possible(want.ranges, want.bound, want.segments, 10)} | {want.word}
        if want.word in ('limit', 'contradiction'):
            continue
        if not least <= set(names) <= most:
            wrong.append(f'{device.text}: {names}, not {sorted(least)} to {sorted(most)}')
    TAP.result('of known bytes the true verdict is named, and none that cannot be', wrong)
    TAP.result('there are some of each kind', [f'{k}: {v}' for k, v in seen.items() if v < times(5, 5, 1)])


def check_dumps() -> None:
    """A BFC allocator's chunks are a heap."""
    rng = random.Random(3)
    wrong = []
    for number in range(40):
        dump = made.Dump(rng, number)
        wrong += [f'{dump.name}: {x}' for x in
                  differences(found(dump.text.encode()), [Expected('bfc', dump.said).json()])]
        text = explain(dump.text.encode(), '-v').stdout.decode()
        line = [x for x in text.splitlines() if x.startswith('  largest')]
        want = f'of {len(dump.free)} free chunks; fragmentation index {dump.index:.1f}%'
        if dump.free and (len(line) != 1 or not line[0].endswith(want)):
            wrong.append(f'{dump.name}: {line}, not {want}')
    TAP.result('the dump of a BFC allocator is read as a heap', wrong)
    dump = made.Dump(rng, 1)
    twice = dump.text + f'\nRESOURCE_EXHAUSTED: Out of memory while trying to allocate ' \
                        f'{dump.asked} bytes.\n'
    TAP.result('and what JAX says of it again is no other message',
               differences(found(twice.encode()), [Expected('bfc', dump.said).json()]))
    harmless = ('Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.29GiB with '
                'freed_by_count=0. The caller indicates that this is not a failure')
    TAP.result('a warning is no failure', found(harmless.encode()))


def check_rmm() -> None:
    """The forms are those of rapidsai/rmm, pull request 1827."""
    at = '/opt/conda/include/rmm/mr/device/'
    cases = (
        (f'MemoryError: std::bad_alloc: out_of_memory: CUDA error (failed to allocate 33295450768 '
         f'bytes) at: {at}cuda_memory_resource.hpp:62: cudaErrorMemoryAllocation out of memory',
         'rmm', {'asked': '33295450768 bytes'}, 'unknown'),
        (f'std::bad_alloc: out_of_memory: RMM failure at:{at}pool_memory_resource.hpp:73: Maximum '
         'pool size exceeded (failed to allocate 10.371208 GiB): Not enough room to grow, '
         'current/max/try size = 78.000000 GiB, 78.000000 GiB, 10.371208 GiB', 'rmm-pool',
         {'asked': '10.371208 GiB', 'reserved': '78.000000 GiB', 'total': '78.000000 GiB'},
         'unknown'),
        ('Maximum pool size exceeded (failed to allocate 80.5 GiB): Not enough room to grow, '
         'current/max/try size = 1.0 GiB, 78.0 GiB, 80.5 GiB', 'rmm-pool',
         {'asked': '80.5 GiB', 'reserved': '1.0 GiB', 'total': '78.0 GiB'}, 'request_too_large'),
        ('Maximum pool size exceeded (failed to allocate 512.000000 MiB): No room in arena.',
         'rmm-pool', {'asked': '512.000000 MiB'}, 'unknown'),
    )
    for text, wording, said, verdict in cases:
        want = Expected(wording, said, text).json()
        TAP.result(f'{wording}: {said["asked"]}', differences(found(text.encode()), [want]),
                   want['verdict'] != WORDS.get(verdict, verdict)
                   and f'{want["verdict"]}, by hand {verdict}')


# those whose verdict follows from the printed values alone, as of any allocator; CuPy's pool has a limit, and
# Paddle's other bytes are everyone's
PLAIN = ('onnxruntime', 'tensorflow', 'xla', 'tensorrt', 'rmm-pool', 'bfc')
# what a log can leave out
SAID = ('asked', 'total', 'limit', 'kv_free', 'max_model_len', 'nonreleasable')


def printed_bytes(text: str) -> int:
    return -Figure(text[1:]).bytes if text.startswith('-') else Figure(text).bytes


def log_differences(log: Log, got: dict) -> list[str]:
    wanted: dict = dict.fromkeys(SAID) | {k: printed_bytes(v) for k, v in log.said.items()}
    wanted |= {'wording': log.wording, 'verdict': log.verdict, 'missing': list(log.missing),
               'parts': {k: printed_bytes(v) for k, v in log.parts.items()}}
    return [f'{k} is {got.get(k)}, not {v}' for k, v in wanted.items() if got.get(k) != v]


def check_logs() -> None:
    """Logs of servers and frameworks, as they are and as logs have them."""
    for log in LOGS:
        got = found(log.text.encode())
        wrong = [f'{count_of(got)} messages, not {log.count}'] * (count_of(got) != log.count)
        wrong += [x for g in got for x in ([g] if isinstance(g, str) else log_differences(log, g))]
        if log.wording in PLAIN and log.said.get('asked'):
            word = Expected(log.wording, log.said).word
            wrong += [f'{word} by arithmetic'] if word != log.verdict else []
        said = explain(log.text.encode()).stdout.decode()
        if log.record not in said:
            wrong.append(f'{log.record!r} is not recommended: {said}')
        TAP.result(f'{log.wording}, {log.source}', wrong)
    logs = [x for x in LOGS if x.count]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'log'
        wrong = []
        for log in logs:
            path.write_text(log.text, encoding='utf-8')
            done = subprocess.run([PROGRAM, 'explain', path], capture_output=True, check=False)
            wrong += [f'{log.source}: {done.stderr!r}'] if done.returncode else []
        TAP.result('logs are recognised in files', wrong)
    # a summary or a repetition would join the message before it: each has its own log
    dresses = {name: DRESSES[name] for name in
               ('of a rank, each line', 'coloured', 'with NULs', 'in JSON')}
    dresses['with CRLF and indented'] = lambda t: t.replace('\n', '\r\n        ')
    dresses['quoted'] = lambda t: ''.join(f'> {x}\n' for x in t.split('\n'))
    for name, dress in dresses.items():
        wrong = []
        for log in logs:
            text = dress(log.text)
            got = found(text.encode())
            wrong += [f'{log.source}: {x}' for g in got[:1] for x in log_differences(log, g)]
            wrong += [f'{log.source}: {count_of(got)} messages'] * (count_of(got) != log.count)
        TAP.result(f'logs {name}', wrong)
    missing = {'outside', 'limit', 'unknown', 'request_too_large', 'capacity'} - \
        {x.verdict for x in LOGS}
    TAP.result('several verdicts are among them', sorted(missing))


def check_texts() -> None:
    """Each program's verdict, and advice that is valid where the text is from."""
    for case in TEXTS:
        got = found(case.text.encode())
        said = explain(case.text.encode()).stdout.decode()
        TAP.result(f'a text: {case.name}', [x for x in got if x['verdict'] != case.verdict],
                   len(got) != 1 and f'{len(got)} messages', [x for x in case.has if x not in said] and said,
                   [x for x in case.lacks if x in said])
    utf16 = b'\xff\xfe' + TEXTS[0].text.encode('utf-16-le')
    TAP.result('in UTF-16', kind_differences(found(utf16), found(TEXTS[0].text.encode())))
    # rank 1 writes into rank 0's line
    head, body = FULL.split(' GPU 0')
    other = head.replace('4.00 GiB', '5.00 GiB') + ' GPU 1' + body
    got = found(f'[rank0]: {head} [rank1]: {other.split(" GPU 1")[0]} GPU 0{body}\nGPU 1{body}'.encode())
    TAP.result('messages of ranks within each other', len(got) != 1 and got,
               got and [got[0][k] for k in ('verdict', 'count', 'ranks')] != ['capacity', 2, [0, 1]] and got)


HEALTHY = ''.join(f'2026-01-02 10:{i // 60 % 60:02}:{i % 60:02} INFO step {i} loss {2 + i % 97 / 100:.3f}\n'
                  for i in range(48000))


def html(text: str) -> str:
    return ''.join('<span style="x">' + line.replace('&', '&amp;').replace('<', '&lt;').replace(' ', '&nbsp;', 1)
                   + '</span>\n' for line in text.split('\n'))


def notebook(text: str, indent: int | None = 1) -> str:
    lines = [line + '\n' for line in text.split('\n')]
    output = {'name': 'stderr', 'text': lines}
    picture = {'data': {'image/png': 'CUDA out of memory. Tried to allocate 9.00 GiB.'}}
    return json.dumps({'cells': [{'cell_type': 'code', 'outputs': [picture, output]}], 'nbformat': 4},
                      indent=indent)


def ranks(text: str) -> str:
    """A line of another rank in the middle: where a sentence begins in the longest line."""
    lines = text.split('\n')
    at = max(range(len(lines)), key=lambda i: len(lines[i]))
    ends = [x.end() for x in re.finditer(r'[.)] (?=[A-Z])', lines[at])]
    other = '[rank7]: step 812: loss 2.131, 0.41 s/step'
    if ends:
        cut = min(ends, key=lambda i: abs(i - len(lines[at]) // 2))
        lines[at:at + 1] = [lines[at][:cut], other, lines[at][cut:]]
    else:
        lines.insert(at + (len(lines) > 2), other)
    return '\n'.join(lines)


DISGUISES = {
    'CRLF': lambda t: t.replace('\n', '\r\n').encode(),
    'a prefix': lambda t: ''.join(f'2026-01-02T10:00:00.123Z w-3 | {x}\n' for x in t.split('\n')).encode(),
    'colours': lambda t: ''.join(f'\x1b[31m{x}\x1b[0m\n' for x in t.split('\n')).encode(),
    'UTF-16': lambda t: b'\xff\xfe' + t.encode('utf-16-le'),
    'UTF-16 without a mark': lambda t: t.encode('utf-16-le'),
    'two ranks': lambda t: ranks(t).encode(),
    'a notebook in one line': lambda t: notebook(t, None).encode(),
    'JSON lines': lambda t: ''.join(json.dumps({'log': x + '\n', 'stream': 'stderr'}) + '\n'
                                    for x in t.split('\n')).encode(),
    'gzip': lambda t: gzip.compress(t.encode()),
    'behind 2 MB': lambda t: (HEALTHY + t).encode(),
    'HTML': lambda t: html(t).encode(),
    'a notebook': lambda t: notebook(t).encode(),
    'a letter': lambda t: t.replace('out of memory', 'out of menory').encode(),
}


def verdict(data: bytes) -> str:
    done = explain(data, '--json', '-')
    if done.returncode:
        return 'none' if done.returncode == 4 else f'status {done.returncode}: {done.stderr.decode()}'
    messages = json.loads(done.stdout)['messages']
    return '+'.join(sorted({m['verdict'] for m in messages})) if messages else 'accounts'


def check_others() -> None:
    """Texts of many programs, and the same texts in disguises."""
    cases = [case for name in ('others.txt', 'threads.txt')
             for case in (HERE / name).read_text(encoding='utf-8').split('\n=== ')[1:]]
    wrong: dict = {name: [] for name in DISGUISES}
    for case in cases:
        head, _, text = case.partition('\n')
        name, wanted, has, lacks = (x.strip() for x in f'{head} '.split(' | '))
        said = ' '.join(explain(text.encode()).stdout.decode().split())
        got = verdict(text.encode())
        TAP.result(f'others: {name}', got != wanted and f'{got}, not {wanted}',
                   [x for x in has.split('; ') if x and x not in said] and said,
                   [x for x in lacks.split('; ') if x and x in said])
        for disguise, dress in DISGUISES.items():
            other = verdict(dress(text))
            if other != wanted:
                wrong[disguise].append(f'{name}: {other}, not {wanted}')
    for disguise, faults in wrong.items():
        TAP.result(f'others in {disguise}', faults)
    check_letters(cases)


def check_letters(cases: list) -> None:
    """One wrong letter anywhere but in a unit: the same verdict or unknown, seldom nothing; never another."""
    rng = random.Random(31)
    wrong = []
    tries = lost = 0
    for case in cases:
        head, _, text = case.partition('\n')
        words = [m for m in re.finditer('[A-Za-z]{3,}', text) if not re.fullmatch('[KMGT]i?[Bb]', m[0])]
        right = verdict(text.encode())
        known = {*right.split('+'), 'unknown', 'none', 'accounts'}
        for word in rng.sample(words, min(len(words), times(4, 10, 1))):
            at = rng.randrange(word.start(), word.end())
            letter = rng.choice([x for x in string.ascii_lowercase if x != text[at].lower()])
            got = verdict((text[:at] + letter + text[at + 1:]).encode())
            wrong += [f'{head}: {word[0]}, {letter}: {got}'] * (not {*got.split('+')} <= known)
            tries += 1
            lost += got in ('none', 'accounts') and got != right
    TAP.result('a wrong letter gives no other verdict', wrong)
    if tries >= 500:       # of a few hundred, as under a sanitizer, a share says nothing
        TAP.result('and loses few messages', lost * 50 > tries and f'{lost} of {tries}')


# of PyTorch's own messages: each sentence has a value, decides the advice, or says nothing of this failure
SENTENCES = (
    r'CUDA out of memory', r'Tried to allocate [\d.]+ \w+', r'GPU \d+ has a total capacity of .* is free',
    r'[\d.]+ \w+ allowed; Of the allocated memory .* is allocated by PyTorch, and .* reserved by PyTorch but '
    r'unallocated',
    r'Of the allocated memory .* is allocated by PyTorch, and .* reserved by PyTorch but unallocated',
    r'expandable_segments is enabled', r'(Including non-PyTorch memory, t|T)his process has .* memory in use',
)
IGNORED = (
    # general advice, also where it does not help
    r'If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to '
    r'avoid fragmentation',
    r'See documentation for Memory Management\s+\(https://\S+\)',
    # of address space, which no value of the message is about
    r'If instead the process is running out of virtual address space .*',
)


def check_releases() -> None:
    """The messages that scripts/record_messages.py let PyTorch print, read back."""
    records = (HERE / 'releases.txt').read_text(encoding='utf-8').split('=== ')[1:]
    seen = set()
    for record in records:
        head, _, text = record.partition('\n')
        release, setting = head.split(' | ')
        seen.add(release)
        done = explain(f'PYTORCH_CUDA_ALLOC_CONF={setting} python a.py\n{text}'.encode())
        said = done.stdout.decode()
        wanted = 'limit' if setting == 'fraction' else 'fragmentation'
        on = 'expandable_segments:True' in setting
        rest = text.strip()
        for pattern in SENTENCES + IGNORED:
            rest = re.sub(rf'(^|(?<=[.\s])){pattern}(\.|$|(?=\s))', '', rest).strip()
        TAP.result(f'PyTorch {release}, {setting}', [x['verdict'] for x in found(text.encode())] != [wanted]
                   and f'{found(text.encode())}', rest and f'a sentence that is not listed: {rest}',
                   on and 'set       ' in said and said,
                   'is enabled' in text and 'set       ' in explain(text.encode()).stdout.decode())
    TAP.result('four releases', len(seen) < 4 and f'{seen}')


# what a text has around the message: accelerator, system, framework, phase; and what is never said there
ACCELERATORS = ('CUDA', 'HIP', 'XPU', 'NPU')
SYSTEMS = {'linux': '  File "/usr/lib/python3/dist-packages/x.py", line 3\n', 'jetson': 'NVIDIA Jetson Orin\n',
           'windows': '  File "D:\\v\\Lib\\site-packages\\x.py", line 3\n', 'wsl': 'uname: WSL2\n', '': ''}
FRAMEWORKS = {'vllm': 'INFO vllm.engine: vllm==0.11.0\n', 'sglang': 'sglang==0.5.3\n', '': '',
              'comfyui': 'ComfyUI version 0.3\n', 'sleep': "LLM('m', enable_sleep_mode=True)\n"}
PHASES = {'load': '    model.to(device)\n', 'backward': '    loss.backward()\n', '': ''}


def never(on: str, system: str, framework: str, phase: str) -> list:
    """The words that are invalid there."""
    words = ['nvidia-smi', 'PYTORCH_CUDA_ALLOC_CONF', 'torch.cuda.'] if on in ('XPU', 'NPU') else []
    words += ['nvidia-smi'] if on == 'HIP' or system == 'jetson' else []
    words += ['expandable_segments:True'] if system in ('windows', 'wsl', 'jetson') or framework == 'sleep' else []
    words += ['activation checkpointing'] if framework in ('vllm', 'sglang', 'comfyui') else []
    words += ['smaller batch', 'activation checkpointing'] if phase == 'load' else []
    words += ['--gpu-memory-utilization'] if framework not in ('vllm', 'sleep') else []
    return words + (['--mem-fraction-static'] if framework != 'sglang' else [])


def check_crossing() -> None:
    """Each accelerator, system, framework and phase: no advice that is invalid there."""
    wrong = []
    for on, system, framework, phase in itertools.product(ACCELERATORS, SYSTEMS, FRAMEWORKS, PHASES):
        around = SYSTEMS[system] + FRAMEWORKS[framework] + PHASES[phase]
        for text in (PIECES, FULL):
            done = explain((around + text.replace('CUDA', on)).encode(), '--json', '-')
            message = json.loads(done.stdout)['messages'][0]
            said = ' '.join(a['text'] + ' ' + (a['set'] or '') for a in message['advice'])
            wrong += [f'{on} {system} {framework} {phase}: {w}' for w in never(on, system, framework, phase)
                      if w in said]
            wrong += [f'{on} {system} {framework} {phase}: nothing'] * (not message['advice'])
    TAP.result('advice is valid where it is given', wrong)
    mac = explain(b'RuntimeError: MPS backend out of memory (MPS allocated: 9.00 GB, other allocations: 4.00 GB, max '
                  b'allowed: 18.00 GB). Tried to allocate 8.00 GB on private pool.').stdout
    TAP.result('a Mac has no nvidia-smi', b'nvidia' in mac or b'CUDA' in mac)


# of a text that is printed: variables, flags, calls and keys; and what of that is fragsim's own, or a word
NAMED = re.compile(r'(?<![\w-])(?:[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+|--[a-z][a-z0-9-]+|(?:torch|jax|cupy|rmm)(?:\.\w+)+|'
                   r'[a-z0-9]+(?:_[a-z0-9]+)+)')
OURS = {'--device', '--torch', '--format', 'torch_npu', 'torch.cuda', 'torch.xpu', 'torch.npu', 'rmm.csv', 'q8_0',
        'process_name', 'used_memory', 'pool_memory_resource', 'known_cards', 'launch_server', 'set_per_process',
        'enable_sleep_mode', 'kv_cache_memory_bytes'}


def check_sources() -> None:
    """Each name that advice prints has a source with its date, and each source a name that is printed."""
    rows = [x.split(' | ') for x in (HERE / 'sources.txt').read_text(encoding='utf-8').split('\n')
            if x and x[0] != '#']
    text = ''
    for path in ('messages/advice.c', 'answers/message_answer.c'):
        code = (HERE.parents[2] / 'src' / path).read_text(encoding='utf-8')
        text += ' '.join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r'#include .*|frag_setting_in\(.*', '', code)))
    names = {x.strip('.') for x in NAMED.findall(text.replace('%m.', ' ').replace('\\n', ' '))} - OURS
    sources = {x[0] for x in rows}
    TAP.result('each name has a source', sorted(names - sources))
    TAP.result('each source is of a name that is printed', sorted(sources - names))
    TAP.result('each source has its date', [x for x in rows if len(x) != 3 or not x[1] or not
                                           re.fullmatch('20..-..-..|not dated: not read', x[2])])


def check_given() -> None:
    """What the text lacks is given: 4 GiB of 16, of which 6 or 1 are free."""
    text = b'onnxruntime: Failed to allocate memory for requested buffer of size 4294967296\n'
    for free, wanted in (('6GiB', 'refused'), ('1GiB', 'unknown')):
        done = explain(text, '--json', '-', '--total', '16GiB', '--free', free)
        got = json.loads(done.stdout or '{"messages":[]}')['messages']
        TAP.result(f'given: {free} free', [x for x in got if (x['verdict'], x['total'], x['free']) !=
                                           (wanted, 16 * GIB, int(free[0]) * GIB)], len(got) != 1 and f'{done}')
    done = explain(text, '--device-bytes', '2GiB')
    TAP.result('given: a device', not done.stdout.startswith(b'request_too_large: 4.00 GiB') and f'{done}')
    full = FULL.encode()
    TAP.result('what the text has counts', explain(full, '--free', '30GiB').stdout != explain(full).stdout)
    done = explain(b'{"op":"alloc","id":1,"size":5}\n', '--free', '1GiB')
    TAP.result('given: not of a trace', done.returncode != 2 and f'{done}')


def check_changes(folder: Path) -> None:
    """diff of two logs: each figure by who has it, the largest change first."""
    lines = ('Model loading took {} GiB and 3.5 seconds\nAvailable KV cache memory: {} GiB\n'
             'Graph capturing finished in 5 secs, took {} GiB\n')
    old, new = folder / 'old', folder / 'new'
    old.write_text(lines.format('15.0', '53.0', '0.5'), encoding='utf-8')
    new.write_text(lines.format('15.0', '47.0', '6.5') + 'Sleep mode freed 60.00 GiB memory, 1.00 GiB memory'
                   ' is still in use.\n', encoding='utf-8')
    done = subprocess.run([PROGRAM, 'diff', '--json', '-', old, new], capture_output=True, check=False)
    changes = json.loads(done.stdout or '{}').get('changes', [])
    got = [(c['who'], c['old'], c['new'], c['change']) for c in changes]
    wanted = [('vLLM: freed by sleep mode', None, 60 * GIB, 60 * GIB),
              ('vLLM: CUDA graphs', GIB // 2, 13 * GIB // 2, 6 * GIB),
              ('vLLM: KV cache', 53 * GIB, 47 * GIB, -6 * GIB),
              ('vLLM: in use after sleep', None, GIB, GIB), ('vLLM: weights', 15 * GIB, 15 * GIB, 0)]
    TAP.result('figures of two logs', got != wanted and f'{got} {done.stderr!r}')
    new.write_text('nothing of it\n', encoding='utf-8')
    done = subprocess.run([PROGRAM, 'diff', old, new], capture_output=True, check=False)
    TAP.result('a log without figures has no changes', done.returncode != 4 and f'{done}',
               b'no memory figures were found in 1 line' not in done.stderr and done.stderr)
    done = subprocess.run([PROGRAM, 'diff', '--gate', old, old], capture_output=True, check=False)
    TAP.result('no condition is about figures', done.returncode != 2 and f'{done}')


def check_joined() -> None:
    """What belongs to a message joins it, whichever comes first."""
    torch = next(m for m in MESSAGES if m.wording == 'pytorch-reserved')
    alone = found(torch.text.encode())
    summary = next(x for x in LOGS if x.wording == 'pytorch-summary')
    # a row in the form of the others; its values are ours
    row = '| Non-releasable memory |   11357 MB |   11357 MB |   16924 MB |    5567 MB |\n'
    both = found(f'{torch.text}\n{summary.text}{row}'.encode())
    TAP.result('a summary behind a message', [f'{len(both)} messages'] if len(both) != 1 else [],
               differences(both, [{**alone[0], 'nonreleasable': 11357 << 20,
                                   'precision': both[0]['precision']}]))
    bfc, xla = (next(x for x in LOGS if x.wording == name) for name in ('bfc', 'xla'))
    text = bfc.text + xla.text.replace('4770354232', '29995136256')
    got = found(text.encode())
    TAP.result('statistics of buffers behind the dump of an allocator', len(got) != 1 and got,
               got[0]['verdict'] != 'capacity' and got,
               got[0]['parts'].get('temporaries') != printed_bytes('4.44 GiB') and got)
    again = bfc.text + 'OOM when allocating tensor with shape[29995136256] and type bool on ' \
        '/job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc\n'
    TAP.result('TensorFlow says again', len(found(again.encode())) != 1 and found(again.encode()))


def check_own() -> None:
    """fragsim's own messages are in PyTorch's words, with other names, and with figures left out."""
    text = ('CUDA out of memory. Tried to allocate 916.00 MiB (GPU 0; 6.00 GiB total capacity; 4.47 '
            'GiB already allocated; 186.44 MiB free; 5.47 GiB reserved in total by bestfit)')
    want = Expected('pytorch-reserved', {'asked': '916.00 MiB', 'total': '6.00 GiB',
                                         'allocated': '4.47 GiB', 'free': '186.44 MiB',
                                         'reserved': '5.47 GiB'}).json()
    TAP.result('of a simulation', differences(found(text.encode()), [want]),
               not want['nearly_full'] and want['verdict'])
    text = ('CUDA out of memory. Tried to allocate 8.00 MiB (GPU 1; 4.00 GiB already allocated; '
            '4.47 GiB reserved in total by pytorch)')
    want = Expected('pytorch-reserved', {'asked': '8.00 MiB', 'allocated': '4.00 GiB',
                                         'reserved': '4.47 GiB'}).json()
    TAP.result('without a total', differences(found(text.encode()), [want]),
               want['verdict'] != 'unknown' and want['verdict'])


def check_nothing(folder: Path) -> None:
    (folder / 'empty').write_bytes(b'')
    for data, words in ((b'', 'no out-of-memory and no memory figures were found in 0 lines'),
                        (b'all is\nwell', 'no out-of-memory and no memory figures were found in 2 lines'),
                        (b'// on CUDA error: out of memory, "CUDA error: out of memory"', 'no out-of-memory and'),
                        (b'"CUDA out of memory. Tried to allocate ", format_size(n)', 'no out-of-memory and'),
                        (b'raise MemoryError("out of memory")\nOOMs: 0', 'no out-of-memory and'),
                        (b'Tried to allocate 5 GiB of disk\n', 'no out-of-memory and')):
        done = explain(data, '--json', 'none.json', cwd=folder)
        said = done.stderr.decode()
        TAP.result(f'{data[:30]!r} is refused', done.returncode != 4 and f'{done.returncode}',
                   done.stdout, (words not in said or said.count('\n') != 1) and said,
                   (folder / 'none.json').exists() and 'a file is left')
    done = explain(b'x\n\nout of memory\n')
    TAP.result('the line is said', b'line 3, an unknown program' not in done.stdout and done.stdout)
    for args, status in ((('missing',), 4), (('.',), 4), (('empty',), 4), (('empty', 'empty'), 4),
                         (('--json', 'empty', 'empty'), 2), (('--json', 'no/o.json', 'empty'), 6)):
        done = explain(b'', *args, cwd=folder)
        TAP.result(' '.join(args), done.returncode != status and f'{done.returncode}',
                   done.stderr.count(b'\n') != 1 and done.stderr, done.stdout)


def check_outputs(folder: Path) -> None:
    text = SHOWN.text.encode()
    (folder / 'a.log').write_bytes(text)
    (folder / 'a.log.gz').write_bytes(gzip.compress(text))
    want = expected(SHOWN)
    for args in (('a.log',), ('a.log.gz',), ('--json', 'o.json', 'a.log'), ('-',), ()):
        done = explain(text, *args, cwd=folder)
        TAP.result(f'text: {" ".join(args)}', done.returncode, done.stderr,
                   b'fragmentation' not in done.stdout and done.stdout)
    TAP.result('and the file', differences(json.loads((folder / 'o.json').read_text())['messages'],
                                           [want]))
    for args in (('explain', 'a.log'), ('./a.log',)):
        done = subprocess.run([PROGRAM, *args], capture_output=True, check=False, cwd=folder)
        TAP.result(f'a log is recognised: {" ".join(args)}', done.returncode, done.stderr,
                   not done.stdout.startswith(b'fragmentation') and done.stdout)
    quiet = explain(text, '-q', '--json', 'q.json', cwd=folder)
    TAP.result('-q prints nothing', quiet.stdout, quiet.stderr, quiet.returncode,
               (folder / 'q.json').read_bytes() != (folder / 'o.json').read_bytes() and 'differs')
    plain = explain(text, '-v').stdout.decode()
    TAP.result('what to paste is there', f'      {SHOWN_ADVICE}\n' not in plain and plain,
               'expandable' in plain and plain)
    new = explain(NEW.text.encode(), '-v').stdout.decode()
    TAP.result('and of newer versions', [x for x in ADVICE if f'      {x}\n' not in new])
    TAP.result('colour where it is asked for',
               b'\x1b[33m' not in explain(text, '--color', 'always').stdout and 'none')
    limit = next(m for m in MESSAGES if ' allowed; ' in m.text)
    TAP.result('a limit of its own is said', b'this process may use 5.59 GiB' not in
               explain(limit.text.encode(), '-v').stdout and 'it is not')
    short = explain(text).stdout.decode()
    TAP.result('seven lines', short.count('\n') > 7 and short)
    (folder / 'b.log').write_text(NEW.text, encoding='utf-8')
    for args, head in (((SHOWN.text,), 'fragmentation: '), (('a.log', 'b.log'), '2 messages, 2 ')):
        done = subprocess.run([PROGRAM, 'explain', *args], capture_output=True, check=False,
                              cwd=folder)
        TAP.result(f'{len(args)} of them: {args[0][:20]}', done.returncode, done.stderr,
                   not done.stdout.decode().startswith(head) and done.stdout)
    pair = 'Allocator (GPU_0_bfc) ran out of memory trying to allocate 512.00MiB (rounded to ' \
           '536870912)\nLimit: 4000000000\nInUse: 3000000000\n'
    TAP.result('a limit and bytes in use decide',
               [x for x in found(pair.encode()) if x['verdict'] != 'fragmentation'])
    for name, wanted in (('xla', 'fragsim explain -p bfc'), ('cupy', 'fragsim explain -p cupy')):
        said = explain(next(m for m in MESSAGES if m.wording == name).text.encode()).stdout
        TAP.result(f'{name}: what to record', wanted.encode() not in said and said)
    pages = next(m for m in MESSAGES if '17.20 GiB already' in m.text)
    TAP.result('paging is named', b'pages to the host' not in
               explain(pages.text.encode()).stdout and 'it is not')
    TAP.result('with -v one screen', plain.count('\n') > 40 and plain)


def on_terminal(text: bytes) -> tuple[int, str]:
    """What is shown where that is pasted into a terminal, and Ctrl-D pressed; the status."""
    child, terminal = pty.fork()
    if not child:
        os.execve(PROGRAM, ['fragsim', 'explain', '-v'], {'TERM': 'xterm'})
    shown = b''
    while b'Ctrl-D' not in shown:
        shown += os.read(terminal, 4096)
    os.write(terminal, text + b'\n\x04')
    while True:
        try:
            shown += os.read(terminal, 4096)
        except OSError:         # the terminal has gone with the program
            break
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode()


def check_terminal() -> None:
    status, shown = on_terminal(wrapped(SHOWN.text, 70).encode())
    TAP.result('pasted into a terminal', status and f'status {status}',
               'enter the error or the log, then press Ctrl-D' not in shown and shown,
               '\x1b[33mfragmentation\x1b[0m: ' not in shown and shown,
               f'      {SHOWN_ADVICE}\r\n' not in shown and shown)
    status, shown = on_terminal(b'all is well')
    TAP.result('nothing pasted', status != 4 and f'status {status}',
               'no out-of-memory and' not in shown and shown)


def check_groups() -> None:
    """Eight ranks that fail a hundred times each say one thing."""
    text = SHOWN.text
    log = ''.join(f'[rank{rank}]: step {step}\n[rank{rank}]: {text.replace("GPU 0", f"GPU {rank}")}\n'
                  for step in range(100) for rank in range(8))
    out = explain(log.encode()).stdout.decode()
    TAP.result('equal ones are counted', '  count     800 messages, ranks 0-7' not in out and out,
               out.count('\n') > 30 and out)
    got = found(log.encode())
    TAP.result('and the JSON has one of them', len(got) != 1 and got,
               [got[0][k] for k in ('count', 'first_line', 'ranks')] != [800, 2, [*range(8)]] and got[0])
    rng = random.Random(1)
    many = [made.Device(rng) for _ in range(300)]
    out = explain('\n'.join(x.text for x in many).encode()).stdout.decode()
    TAP.result('many different ones are one of each verdict', out.count('\n') > 260 and out)
    for verdict in {found(x.text.encode())[0]['verdict'] for x in many}:
        TAP.result(f'with the first of {verdict} whole', f'\n{verdict}' not in out and out)


def processor_time() -> float:
    """Of the programs that have ended, whatever else the machine does."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def limited() -> None:
    """For a child: what reads any log needs no more than this."""
    if not SAN:
        resource.setrlimit(resource.RLIMIT_AS, (160 * MIB, 160 * MIB))


def check_large(folder: Path) -> None:
    """Any size in the same memory, in time that grows with it."""
    line = b'2024-06-22 15:13:25 INFO step 1234 loss 0.123 Limit: 5 of size 7 Tried to _ TOUL\n'
    text = SHOWN.text.encode() + b'\n'
    size = times(64 * MIB, GIB, 4 * MIB)
    path = folder / 'large.log'
    with path.open('wb') as f:
        while f.tell() < size:
            f.write(line * (MIB // len(line)))
        f.write(text)
    began = processor_time()
    done = explain(None, '--json', '-', str(path), preexec_fn=limited)
    took = processor_time() - began
    TAP.result(f'a log of {size >> 20} MiB', done.returncode, done.stderr,
               not done.returncode and len(json.loads(done.stdout)['messages']) != 1 and 'messages',
               took > 5 + size / (20 * MIB) and f'{took} s')
    path.unlink()
    halves = ('CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.79 GiB total capacity; 6.24 ',
              'Tried to allocate ', 'Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.',
              'Allocation on device 0 would exceed allowed memory. (out of memory) Requested : ',
              'InUse at 0x7f of size ', 'MPS backend out of memory (MPS allocated: 5 GB, ',
              '\x1b[', '\\u001', 'out of memory', '9' * 40, 'T', 'z', '\n', 'Process 1 has 1 GiB ')
    rng = random.Random(5)
    count = times(100000, 1000000, 20000)
    mixed = ''.join(rng.choices(halves, k=count)).encode()
    began = processor_time()
    done = explain(mixed, '-q', preexec_fn=limited)
    took = processor_time() - began
    TAP.result(f'{count} half messages', done.returncode not in (0, 4) and f'{done.returncode}',
               took > 60 and f'{took} s')
    for half in halves:
        done = explain((half * (count // 4)).encode()[:8 * MIB], '-q', preexec_fn=limited)
        TAP.result(f'{half[:30]!r} again and again',
                   done.returncode not in (0, 4) and f'{done.returncode} {done.stderr!r}')
    different = b''.join(b'CUDA out of memory. Tried to allocate %d.00 KiB (GPU 0; 7.79 GiB total '
                         b'capacity; 6.24 GiB already allocated; 10.38 MiB free; 6.30 GiB reserved '
                         b'in total by PyTorch)\n' % i for i in range(10000))
    out = explain(different, preexec_fn=limited)
    TAP.result('all different', out.returncode, out.stderr,
               not out.stdout.startswith(b'10000 messages, 2 different verdicts or programs\n')
               and out.stdout)


# The words of public threads, the last two with sizes of our own: message, setting, module, and
# what must not stand in the answer.
DEVICES = {
    'sgl-project/sglang#29838': (
        'torch.OutOfMemoryError: NPU out of memory. Tried to allocate 72.00 MiB (NPU 0; 61.27 GiB '
        'total capacity; 56.05 GiB already allocated; 56.05 GiB current active; 5.04 MiB free; '
        '58.39 GiB reserved in total by PyTorch).If reserved memory is >> allocated memory try '
        'setting max_split_size_mb to avoid fragmentation.',
        'PYTORCH_NPU_ALLOC_CONF=max_split_size_mb:512', 'torch.npu.', ('CUDA', 'nvidia', 'cuda')),
    'pytorch/pytorch#175431': (
        'torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 7 has a total '
        'capacity of 287.98 GiB of which 203.49 GiB is free. Of the allocated memory 68.63 GiB is '
        'allocated by PyTorch, and 14.93 GiB is reserved by PyTorch but unallocated.',
        None, '', ('CUDA', 'nvidia')),
    'c10/xpu/XPUCachingAllocator.cpp': (
        'torch.OutOfMemoryError: XPU out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total '
        'capacity of 15.91 GiB of which 1.00 GiB is free. Of the allocated memory 12.00 GiB is '
        'allocated by PyTorch, and 1.50 GiB is reserved by PyTorch but unallocated. Please use '
        '`empty_cache` to release all unoccupied cached memory.',
        'PYTORCH_ALLOC_CONF=expandable_segments:True', 'torch.xpu.', ('CUDA', 'nvidia', 'cuda')),
    'huggingface/autotrain-advanced#737': (
        'torch.OutOfMemoryError: HIP out of memory. Tried to allocate 124.00 MiB. GPU 0 has a '
        'total capacity of 19.94 GiB of which 0.00 MiB is free. Of the allocated memory 19.00 GiB '
        'is allocated by PyTorch, and 165.29 MiB is reserved by PyTorch but unallocated.',
        'PYTORCH_HIP_ALLOC_CONF=expandable_segments:True', 'torch.cuda.', ('CUDA', 'nvidia')),
}


def check_devices() -> None:
    """Advice is in the words of the device that the message names."""
    for source, (message, setting, module, others) in DEVICES.items():
        done = explain(message.encode(), '-v', env={'PATH': '/usr/bin', 'LC_ALL': 'C'})
        out = done.stdout.decode()
        lines = [x.split()[1] for x in out.splitlines() if x.startswith('  set ')]
        TAP.result(f'the words of the device, {source}', done.returncode,
                   lines != [setting] * bool(setting) and lines, module not in out and out,
                   [x for x in others if x in out])
        # and of CUDA the same message has the others
        twin = explain(message.replace(message[24:].split()[0], 'CUDA').encode(), '-v')
        TAP.result(f'the words of CUDA, {source}', b'torch.cuda' not in twin.stdout
                   and b'record --torch' not in twin.stdout and twin.stdout)


def main(argv: list[str]) -> int:
    global PROGRAM
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    PROGRAM = Path(argv[1]).resolve()
    check_public()
    check_dresses()
    check_cut()
    check_made()
    check_dumps()
    check_rmm()
    check_logs()
    check_texts()
    check_others()
    check_releases()
    check_given()
    check_crossing()
    check_sources()
    check_joined()
    check_own()
    check_devices()
    with tempfile.TemporaryDirectory() as folder:
        check_nothing(Path(folder))
        check_changes(Path(folder))
        check_outputs(Path(folder))
        check_terminal()
        check_groups()
        check_large(Path(folder))
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
