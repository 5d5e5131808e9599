"""run.py - a policy that fails ends its own run alone: commands with several policies or settings.

    run.py PROGRAM      prints TAP

Up to 2.4, PyTorch stops with an internal error when it should release an expandable segment under
max_split_size_mb: on devices that refuse the request of 2000 MiB, the block of 1000 MiB is in one.
So settings with both keys fail here, and all others have an answer.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from tap import Tap  # noqa: E402

WORDS = 'PyTorch itself goes wrong here'
BOTH = 'pytorch:version=2.3,max_split_size_mb=256,expandable_segments=true'
EVENTS = [('alloc', 1, 1000), ('alloc', 2, 300), ('free', 1), ('alloc', 3, 2000), ('free', 3),
          ('alloc', 4, 1200), ('alloc', 5, 900)]


def write(path, factor=1):
    head = {'format': 'fragsim-trace', 'version': 1, 'meta': {'recorder': 'record_torch.py', 'pytorch': '2.3'}}
    path.write_text('\n'.join(json.dumps(x) for x in [head, *(
        {'op': op, 'id': number, **({'size': size[0] * factor << 20} if size else {})}
        for op, number, *size in EVENTS)]) + '\n', encoding='ascii')


def main(argv):
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix='failing-policy-') as name:
        folder = Path(name)
        program = Path(argv[1]).absolute()

        def run(*args):
            return subprocess.run([program, *args], cwd=folder, capture_output=True, text=True, check=False)

        def result(what, done, status, *, out=(), error=()):
            wrong = [f'status {done.returncode}'] * (done.returncode != status)
            wrong += [f'{x!r} is missing' for x in out if x not in done.stdout]
            wrong += [f'{x!r} is not on standard error' for x in error if x not in done.stderr]
            tap.result(what, [*wrong, done.stdout, done.stderr] if wrong else [])

        write(folder / 'odd.ndjson')
        write(folder / 'twice.ndjson', 2)
        device = ('--device-bytes', '2400MiB')
        # a setting whose simulation fails has a status and the reason
        for more in ((), ('--device-bytes', '3000MiB')):
            done = run('fit', '-v', '--settings', 'all', *more, 'odd.ndjson')
            result(f'fit {more}', done, 0, out=('max_split_size_mb', 'error'))
        found = json.loads(run('fit', '-q', '--settings', 'all', '--top', 'all', '--json', '-',
                               '--device-bytes', '3000MiB', 'odd.ndjson').stdout)
        odd = [p for p in found['settings'] if p['status'] == 'error']
        tap.result('fit: settings have a status and why', [str(odd)] if not odd
                   or any(WORDS not in p['why'] for p in odd)
                   or any(p['why'] for p in found['settings'] if p['status'] in ('fits', 'oom')) else [])
        result('explain', run('explain', *device, 'odd.ndjson'), 0, out=('OOM: ',))
        result('run: settings that are tried on its own', run('run', *device, 'odd.ndjson'), 3,
               out=('expandable_segments:True',))
        # policies that were named: the others are reported, and the status is that of bad input
        both = ('-p', BOTH, '-p', 'bestfit')
        done = run('run', *both, *device, 'odd.ndjson')
        result('run: beside another policy', done, 4, out=('error   ', 'OOM     bestfit'),
               error=(WORDS,))
        done = run('run', '-q', *both, *device, '--json', '-', 'odd.ndjson')
        tap.result('run: in JSON', [done.stdout] * ([x['status'] for x in json.loads(done.stdout)['runs']] != [
            'error', 'oom']))
        result('run: with files, a page, and threads', run('run', *both, *device, '--steps', 's.csv', '-o', 'p.html',
                                                           '--threads', '4', 'odd.ndjson'), 4, error=(WORDS,))
        result('run: all fail', run('run', '-p', BOTH, '-p', BOTH, *device, 'odd.ndjson'), 4, error=(WORDS,))
        result('run: alone', run('run', '-p', BOTH, *device, 'odd.ndjson'), 4, error=(WORDS,))
        result('run: where nothing is refused', run('run', *both, '--device-bytes', '8GiB', 'odd.ndjson'), 0)
        result('diff: beside another policy', run('diff', *both, *device, 'odd.ndjson'), 4,
               out=('error   ', 'bestfit'), error=(WORDS,))
        result('diff --gate: it cannot be judged', run('diff', '--gate', '-p', 'bestfit', '-p', BOTH, *device,
                                                       'odd.ndjson'), 4, out=('cannot be judged: the run failed',))
        # 3400 MiB hold 1300 and 2000 in whole large blocks: it fails below only
        result('fit: fails on smaller devices', run('fit', *both, 'odd.ndjson'), 0,
               out=(WORDS, 'SMALLEST DEVICE: ', 'bestfit'))
        result('fit: alone', run('fit', '-p', BOTH, 'odd.ndjson'), 0, out=(WORDS,))
        result('fit: nowhere below', run('fit', *both, '--up-to', '3200MiB', 'odd.ndjson'), 1, out=(WORDS,))
        result('fit: nowhere, alone', run('fit', '--settings', 'none', '-p', BOTH, '--up-to', '3200MiB', 'odd.ndjson'), 4, error=(WORDS,))
        fits = json.loads(run('fit', '-q', *both, '--map', '--json', '-', 'odd.ndjson').stdout)['fits']
        tap.result('fit: in JSON', [str(fits)] if WORDS not in (fits[0]['why'] or '') or fits[1]['why'] or {
            x['status'] for x in fits[0]['map']} != {'error', 'fits'} else [])
        result('predict changes', run('predict', '--scale', '2', *both, 'odd.ndjson'), 0, out=('bestfit',))
        result('plan', run('plan', *both, 'odd.ndjson'), 0)
        result('predict numbers', run('predict', *both, '--at', '3', 'odd.ndjson=1', 'twice.ndjson=2'), 0,
               out=('bestfit',))
        result('sweep', run('sweep', *both, '--device-bytes', '2400MiB,8GiB', '-o', 'sweep', 'odd.ndjson'), 4,
               error=(WORDS,))
        result('sweep --merge', run('sweep', '--merge', 'sweep'), 0)
        lines = (folder / 'sweep/merged.ndjson').read_text(encoding='utf-8')
        tap.result('sweep: every run is there', [lines] * (
            lines.count('"status": "error"') != 1 or lines.count('"status": "fits"') != 2))
    return tap.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
