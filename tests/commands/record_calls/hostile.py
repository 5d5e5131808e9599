"""hostile.py - programs that close, limit and kill what the recorder inside of them needs.

Each has the status, the output and the files that it has without the recorder, and what is left of
the recording can be read. hostile.c says what each deed is.
"""
import signal
import subprocess
from pathlib import Path

ROUNDS = 60             # of a race


def run(stage, folder: Path, *words, recorded: bool = True, **more) -> subprocess.CompletedProcess:
    words = (str(stage.folder / 'hostile'), *words)
    more = {'STANDIN_LOG': '', **more}      # of which the stand-in's own descriptor would be closed
    return stage.record(folder, '-o', 't.ndjson.zst', '--', *words, **more) if recorded \
        else stage.play(folder, *words, **more)


def sizes(events: list[dict]) -> list[int]:
    return [e['size'] for e in events if e['op'] == 'alloc']


def recordings(folder: Path, read_trace) -> dict[str, list[dict]]:
    return {p.name: read_trace(p)[1] for p in sorted(folder.glob('t.ndjson*'))}


def check_descriptors(tap, stage, read_trace) -> None:
    for deed in ('closefrom', 'close_range', 'close'):
        folder = stage.folder / f'hostile-{deed}'
        done = run(stage, folder, deed, 'mine')
        mine = (folder / 'mine').read_bytes()
        got = recordings(folder, read_trace)
        tap.result(f'{deed}: the file of the program is its own, and all is recorded', [
            str(x) for x in (done, mine, got)] if done.returncode or done.stderr or mine != b'mine\n'
            or [sizes(x) for x in got.values()] != [list(range(1000, 1009))] else [])


def check_limits(tap, stage, read_trace) -> None:
    for deed, said in (('limit', True), ('deaf', False), ('daemon', False)):
        folder = stage.folder / f'hostile-{deed}'
        done = run(stage, folder, deed, 'mine')
        mine = (folder / 'mine').read_bytes() if deed == 'daemon' else b'mine\n'
        got = recordings(folder, read_trace)
        kept = sizes(got['t.ndjson.zst'])
        wrong = [str(x) for x in (done, mine)] \
            if done.returncode or (done.stderr.count('\n') == 1 and 'File too large' in done.stderr) != said \
            or mine != b'mine\n' else []
        tap.result(f'{deed}: the program ends as without, and one line says what happened', wrong)
        tap.result(f'{deed}: what was written before the limit is whole', [
            f'{len(kept)} blocks'] if not kept or kept != list(range(1000, 1000 + len(kept)))
            or len(kept) == 8003 else [])


def check_endings(tap, stage, read_trace) -> None:
    for deed, status, last in (('abort', signal.SIGABRT, 'alloc'), ('failed', signal.SIGKILL, 'mark')):
        folder = stage.folder / f'hostile-{deed}'
        done = run(stage, folder, deed)
        got = recordings(folder, read_trace)['t.ndjson.zst']
        tap.result(f'{deed}: the last event is there', [
            str(x) for x in (done, got)] if done.returncode != -status or done.stderr
            or sizes(got) != [1000, 1001, 1002] or got[-1]['op'] != last else [])


def check_forks(tap, stage, read_trace) -> None:
    faults = []
    for i in range(ROUNDS):
        folder = stage.folder / f'hostile-fork{i}'
        done = run(stage, folder, 'fork')
        got = recordings(folder, read_trace)
        if done.returncode or done.stderr or [sizes(x) for x in got.values()] != [[5000], [5000]]:
            faults.append(f'{i}: {done} {got}')
    tap.result('a fork while a thread begins: both are recorded, and neither waits', faults[:3])


def check_old(tap, stage, read_trace) -> None:
    folder = stage.folder / 'hostile-old'
    folder.mkdir()
    path = folder / 't.ndjson.zst'
    for title, words, status in (('a program that is not there', ['./typo'], 127),
                                 ('a program without CUDA', [stage.folder / 'hostile', 'nothing'], 5),
                                 ('an option that is wrong', ['--what', '--', 'true'], 2)):
        path.write_bytes(b'old\n')
        done = stage.record(folder, '-o', path.name, *words, STANDIN_LOG='')
        left = sorted(x.name for x in folder.iterdir() if not x.name.startswith('log'))
        tap.result(f'{title} leaves the old file as it is', [
            str(x) for x in (done, path.read_bytes(), left)] if path.read_bytes() != b'old\n'
            or done.returncode != status or done.stderr.count('\n') != 1
            or left != [path.name] else [])
    done = run(stage, folder, 'failed')
    got = recordings(folder, read_trace)
    tap.result('the first event replaces it', [str(x) for x in (done, got)]
               if list(got) != [path.name] or sizes(got[path.name]) != [1000, 1001, 1002] else [])
    path.chmod(0o444)


def start(stage, folder: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [stage.program, 'record', '-o', 't.ndjson.zst', '--', stage.folder / 'hostile', 'wait'],
        cwd=folder, env=stage.environment(folder, STANDIN_LOG=''), stdin=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(path: Path, process: subprocess.Popen) -> None:
    while not path.exists() and process.poll() is None:
        try:
            process.wait(0.02)
        except subprocess.TimeoutExpired:
            pass


def check_second(tap, stage, read_trace) -> None:
    folder = stage.folder / 'hostile-second'
    folder.mkdir()
    path = folder / 't.ndjson.zst'
    first = start(stage, folder)
    wait_for(path, first)
    done = run(stage, folder, 'failed')
    first.communicate(b'x', timeout=60)
    got = recordings(folder, read_trace)
    tap.result('a second recording of the same file is refused, the first is whole', [
        str(x) for x in (done, first.returncode, got)] if done.returncode != 6
        or 'another recording is writing this file' not in done.stderr or first.returncode
        or {k: sizes(v) for k, v in got.items()} != {path.name: list(range(1000, 1006))} else [])


def check_planted(tap, stage, read_trace) -> None:
    """A link at the name of a temporary file of the process that will write."""
    for link in ('ln -s', 'ln'):
        folder = stage.folder / f'hostile-{link.replace(" ", "")}'
        folder.mkdir()
        (folder / 'victim').write_bytes(b'mine')
        names = ' '.join(f'{x}t.ndjson.zst.$$.{y}' for x in ('', '.') for y in ('part', 'tmp'))
        done = stage.play(folder, 'sh', '-c', f'for x in {names}; do {link} victim $x; done; exec "$@"', 'sh',
                          stage.program, 'record', '-o', 't.ndjson.zst', '--', stage.folder / 'hostile', 'abort',
                          STANDIN_LOG='')
        victim = (folder / 'victim').read_bytes()
        path = folder / 't.ndjson.zst'
        got = sizes(read_trace(path)[1]) if path.exists() else []
        tap.result(f'a planted link ({link}) is not followed', [
            str(x) for x in (done, victim, got)] if victim != b'mine' or got != [1000, 1001, 1002] else [])


def check_torn(tap, stage) -> None:
    """Cut anywhere, as by a crash of the machine: --lenient reads what is whole."""
    folder = stage.folder / 'hostile-torn'
    run(stage, folder, 'many')
    whole = (folder / 't.ndjson.zst').read_bytes()
    faults, before = [], 0
    for at in range(len(whole) // 3, len(whole), len(whole) // 60):
        (folder / 'torn.zst').write_bytes(whole[:at])
        done = stage.fragsim(folder, 'trace', 'info', '--lenient', '--json', '-', 'torn.zst')
        strict = stage.fragsim(folder, 'trace', 'info', '-q', 'torn.zst')
        if 'no events' in done.stderr and not before:
            continue
        if done.returncode or strict.returncode not in (0, 4):
            faults.append(f'{at}: {done.returncode} {strict.returncode} {done.stderr}')
            continue
        count = int(done.stdout.split('"allocs":')[1].split(',')[0])
        if count < before:
            faults.append(f'{at}: {count} blocks, of a shorter file {before}')
        before = count
    tap.result('--lenient reads a torn recording up to the tear', faults[:3],
               before < 50 and f'only {before} blocks')


def check_heap(tap, stage) -> None:
    """By a driver that lacks most of what is looked for."""
    folder, small = stage.folder / 'heap-of-own', {'LD_LIBRARY_PATH': str(stage.folder / 'small')}
    alone = stage.play(folder, stage.folder / 'heap', **small)
    done = stage.record(folder, '-o', 't.ndjson', '--', stage.folder / 'heap', **small)
    tap.result('the recorder leaves no free chunk in the heap of the program', [
        str(x) for x in (alone, done)] if alone.returncode or done.stdout != alone.stdout else [])


def check(tap, stage, read_trace) -> None:
    for part in (check_descriptors, check_limits, check_endings, check_forks, check_old,
                 check_second, check_planted):
        part(tap, stage, read_trace)
    check_torn(tap, stage)
    check_heap(tap, stage)
