#!/usr/bin/python3 -B
# run.py - run and diff on the device of a profile
"""run.py PROGRAM: test `--profile`; prints TAP

The profiles are made up here, so that what a run has to say follows by arithmetic."""

import copy
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from schemas import schema as schema_of  # noqa: E402
from tap import Tap  # noqa: E402

REPO = Path(__file__).resolve().parents[3]
MIB = 1 << 20
PROFILE = {
    'format': 'fragsim-profile', 'version': 1,
    'device': {'name': 'made up', 'total_bytes': 100 * MIB, 'context_bytes': 10 * MIB,
               'granularity_bytes': 2 * MIB},
    'calls': [{'call': 'cudaMalloc', 'up_to_bytes': 2 * MIB, 'count': 2, 'total_ns': 5},
              {'call': 'cudaMalloc', 'up_to_bytes': 8 * MIB, 'count': 1, 'total_ns': 1000},
              {'call': 'cudaFree', 'up_to_bytes': None, 'count': 4, 'total_ns': 40}]}
# 1 MiB is a segment of 2 MiB: 5 / 2, rounded, is 3. 4 MiB: the next smaller is that, 3. 20 MiB:
# the next smaller is 8 MiB, 1000. The free: the next larger, 10. 100 MiB are refused: 1000.
TRACE = [{'op': 'alloc', 'id': 1, 'size': MIB}, {'op': 'alloc', 'id': 2, 'size': 4 * MIB},
         {'op': 'alloc', 'id': 3, 'size': 20 * MIB}, {'op': 'free', 'id': 1},
         {'op': 'alloc', 'id': 4, 'size': 100 * MIB}]
TIME, CALLS = 3 + 3 + 1000 + 10 + 1000, 5

TAP = Tap()
check = TAP.result


def run(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60, check=False)


def write(path, document):
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def differ(pairs):
    return [f'{got!r}, not {wanted!r}' for got, wanted in pairs if got != wanted]


def result(program, *arguments):
    done = run(program, 'run', '--json', '-', '--on-oom', 'continue', *arguments)
    assert done.returncode in (0, 3), done
    return json.loads(done.stdout)['runs']


def check_run(program, folder, trace):
    profile = write(folder / 'p', PROFILE)
    one, = result(program, '-p', 'direct', '--profile', profile, trace)
    check('run: the device is that of the profile', differ([
        (one['device'], {'ordinal': 0, 'name': 'made up', 'total_bytes': 100 * MIB,
                         'context_bytes': 10 * MIB, 'other_bytes': 0,
                         'granularity_bytes': 2 * MIB})]))
    check('run: each call counts the mean of its size, or of the next', differ([
        (one['modelled'], {'driver_ns': TIME, 'calls': CALLS, 'unmeasured_calls': 0})]))
    rules = schema_of('result')
    done = run(program, 'run', '--json', '-', '--profile', profile, trace)
    jsonschema.Draft202012Validator(rules).validate(json.loads(done.stdout))
    check('run: the report says from which device', differ([
        ('\ntime in the driver, modelled from the profile of made up\n'
         '                time       calls\ndirect       2.02 us           5\n'
         in run(program, 'run', '-p', 'direct', '--on-oom', 'continue', '--profile', profile,
                trace).stdout, True)]))
    # the map of 30 MiB was not measured, nor was the range's own beginning a call
    small = write(folder / 'small', json.dumps({'op': 'alloc', 'id': 1, 'size': 30 * MIB}))
    done = run(program, 'run', '-p', 'pytorch:expandable_segments=true', '--profile', profile,
               small)
    check('run: calls that were never measured are told', differ([
        ('without 1 of an unknown duration' in done.stdout, True)]))
    one, = result(program, '-p', 'direct', trace)
    check('run: without a profile nothing is modelled', differ([('modelled' in one, False)]))
    done = run(program, 'run', '-q', '-p', 'direct', '--on-oom', 'continue', '--profile', profile,
               '--fail-if', f'modelled.driver_ns >= {TIME}', trace)
    other = run(program, 'run', '-q', '-p', 'direct', '--on-oom', 'continue', '--profile',
                profile, '--fail-if', f'modelled.driver_ns > {TIME}', trace)
    missing = run(program, 'run', '-q', '--fail-if', 'modelled.driver_ns > 1', trace)
    check('run: a condition may speak of it', differ([
        (done.returncode, 1), (other.returncode, 3), (missing.returncode, 2)]))


def check_figures(program, folder, trace):
    profile = copy.deepcopy(PROFILE)
    profile['device'].update(small_granularity_bytes=512, small_most_bytes=MIB)
    profile = write(folder / 'small-pages', profile)
    tiny = write(folder / 'tiny', '\n'.join(json.dumps({'op': 'alloc', 'id': i, 'size': 700})
                                            for i in range(5)))
    # 5 of 1024 bytes share a page, which they do not when pages are said to be of 1 MiB
    one, = result(program, '-p', 'direct', '--profile', profile, tiny)
    other, = result(program, '-p', 'direct', '--profile', profile, '--granularity', MIB, tiny)
    check('small requests share pages, unless --granularity is given', differ([
        (one['peak']['reserved'], 5 * 1024), (one['peak']['process_used'], 12 * MIB),
        (one['device'].get('small_most_bytes'), MIB),
        (other['peak']['reserved'], 5 * MIB), (other['peak']['process_used'], 15 * MIB),
        ('small_most_bytes' in other['device'], False)]))
    one, = result(program, '--profile', folder / 'p', '--device-bytes', '64MiB',
                  '--context-bytes', '1MiB', '--other-bytes', '3MiB', trace)
    check('figures on the command line win', differ([
        (one['device'], {'ordinal': 0, 'name': 'made up', 'total_bytes': 64 * MIB,
                         'context_bytes': MIB, 'other_bytes': 3 * MIB,
                         'granularity_bytes': 2 * MIB})]))
    two = write(folder / 'two', '{"format":"fragsim-trace","version":1,"devices":[{"name":"a",'
                '"other_bytes":5},{}]}\n{"op":"alloc","id":1,"size":5,"device":1}\n')
    runs = result(program, '--profile', folder / 'p', two)
    check('all devices of a trace become the one', differ([
        ([r['device']['name'] for r in runs], ['made up'] * 2),
        (runs[0]['device']['other_bytes'], 0)]))


def check_diff(program, folder, trace):
    profile = folder / 'p'
    options = ['-p', 'direct', '-p', 'bestfit', '--on-oom', 'continue', '--profile', profile, trace]
    done = run(program, 'diff', '--format', 'json', *options)
    document = json.loads(done.stdout)
    rules = schema_of('comparison')
    jsonschema.Draft202012Validator(rules).validate(document)
    figures = [r['figures']['modelled.driver_ns'] for r in document['traces'][0]['runs']]
    # bestfit obtains 2, 4 and 20 MiB, and for 100 MiB it is refused, releases the 2 MiB, which
    # are idle by then, and is refused again
    bestfit = 3 + 3 + 1000 + 1000 + 10 + 1000
    check('diff: the figure', differ([
        (figures[0]['value'], TIME),
        (figures[1], {'base': TIME, 'value': bestfit, 'difference': bestfit - TIME,
                      'percent': round(100 * (bestfit - TIME) / TIME, 4), 'verdict': 'worse'})]))
    shown = run(program, 'diff', *options).stdout
    table = run(program, 'diff', '--format', 'markdown', *options).stdout
    without = [run(program, 'diff', '-p', 'direct', '--format', form, trace).stdout
               for form in ('text', 'markdown')]
    check('diff: text and table show the time, where there is one', differ([
        ('time in the driver, modelled' in shown and '3.02 us' in shown, True),
        ('| time in the driver, modelled |' in table and '| 3.02 us (+1.00 us)' in table, True),
        (any('driver' in text for text in without), False)]))
    base = folder / 'base.json'
    done = run(program, 'diff', '-q', '--baseline', base, '--update-baseline', *options)
    again = run(program, 'diff', '--baseline', base, '--fail-if', 'modelled.driver_ns > +0', *options)
    slower = copy.deepcopy(PROFILE)
    slower['calls'][2]['total_ns'] = 80
    slower = write(folder / 'slower', slower)
    worse = run(program, 'diff', '--baseline', base, '--on-oom', 'continue', '--profile', slower,
                '--fail-if', 'modelled.driver_ns > +0', trace)
    rules = schema_of('baseline')
    jsonschema.Draft202012Validator(rules).validate(json.loads(base.read_text()))
    check('diff: a baseline keeps it', differ([
        (done.returncode, 0), (again.returncode, 0), (worse.returncode, 1),
        ('2.02 us' in worse.stdout and '2.03 us' in worse.stdout, True)]))


def bad_profiles():
    """What is changed, and what the message has to say."""
    def changed(where, key, value):
        document = copy.deepcopy(PROFILE)
        place = document
        for step in where:
            place = place[step]
        if value is None:
            del place[key]
        else:
            place[key] = value
        return document

    device, call = ['device'], ['calls', 1]
    yield '', ':1:1: no profile, because no JSON: there is nothing in it'
    yield '{"format":', ':1:11: no profile, because no JSON: it ends in the middle'
    yield '[]', ': a profile is required, which '
    yield changed([], 'format', 'fragsim-result'), ': format: a profile is required, which fragsim replay'
    yield changed([], 'version', 3), ': version: this fragsim reads versions 1 and 2'
    yield changed([], 'device', None), ': device: this member is missing'
    yield changed([], 'device', []), ': device: an object is required'
    yield changed([], 'calls', None), ': calls: this member is missing'
    yield changed(device, 'name', 5), ': device.name: a string is required'
    yield changed(device, 'total_bytes', 0), ': device.total_bytes: at least 1 is required'
    yield changed(device, 'total_bytes', 1.5), ': device.total_bytes: an integer from 0 to 2^53-1 is required'
    yield changed(device, 'granularity_bytes', -1), ': device.granularity_bytes: an integer'
    yield (changed(device, 'context_bytes', 101 * MIB),
           ': device.context_bytes: above total_bytes')
    yield (changed(device, 'small_most_bytes', MIB),
           ': device.small_granularity_bytes: this member is missing')
    small = changed(device, 'small_most_bytes', MIB)
    small['device']['small_granularity_bytes'] = 1000
    yield small, ': device.small_most_bytes: a multiple of small_granularity_bytes is required'
    small = changed(device, 'small_most_bytes', 4 * MIB)
    small['device']['small_granularity_bytes'] = 512
    yield small, ': device.small_most_bytes: above granularity_bytes'
    yield changed(['calls'], 1, 7), ': calls[1]: an object is required'
    yield changed(call, 'call', 'malloc'), ': calls[1].call: the name of a call is required'
    yield changed(call, 'up_to_bytes', 3 * MIB), ': calls[1].up_to_bytes: a power of two'
    yield changed(call, 'up_to_bytes', None), ': calls[1].up_to_bytes: this member is missing'
    yield changed(call, 'count', 0), ': calls[1].count: at least 1 is required'
    yield changed(call, 'total_ns', None), ': calls[1].total_ns: this member is missing'
    yield changed(call, 'up_to_bytes', 2 * MIB), ': calls[1]: these calls of this size are specified'


def check_bad(program, folder, trace):
    faults = []
    for document, message in bad_profiles():
        path = write(folder / 'bad', document)
        for command in (['run'], ['diff', '-p', 'direct']):
            done = run(program, *command, '--profile', path, trace)
            if (done.returncode != 4 or done.stderr.count('\n') != 1 or done.stdout
                    or f'fragsim: {path}{message}' not in done.stderr):
                faults.append(f'{message}: {command[0]}: {done.returncode}, {done.stderr!r}')
    check('a bad profile is one line, with file and place, and status 4', faults)
    done = [run(program, 'run', '--profile', folder / 'none', trace),
            run(program, 'run', '--profile', '-', '-'),
            run(program, 'run', '-q', '--profile', folder / 'p', '--json', folder / 'p', trace),
            run(program, 'diff', '-q', '-p', 'direct', '--profile', folder / 'p', '-o',
                folder / 'p', trace),
            run(program, 'diff', '-p', 'direct', '--profile', '-', '-'),
            run(program, 'diff', '--profile', folder / 'p', trace, trace)]
    check('what does not go together is wrong usage', differ([
        ([d.returncode for d in done], [4, 2, 2, 2, 2, 2]),
        (json.loads((folder / 'p').read_text()), PROFILE)]))


def main(argv):
    with tempfile.TemporaryDirectory(prefix='fragsim-profile-') as name:
        folder = Path(name)
        trace = write(folder / 'trace', '\n'.join(map(json.dumps, TRACE)))
        for part in (check_run, check_figures, check_diff, check_bad):
            part(argv[1], folder, trace)
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
