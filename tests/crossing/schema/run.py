"""run.py - hold the schemas against examples, recorded traces and the program.

    run.py [PROGRAM]      without PROGRAM only the examples and the recorded traces

Prints TAP.  Recorded traces are read whole, but of their events only a few of each shape are held
against the schema.  mutants.py changes one thing in a trace and in a real result: of the trace,
schema and program have to think the same; the result may not pass, or it contradicts itself.
answers.py does so with what explain and fit write.  trace-examples.ndjson has good
and bad traces, headers and events; result-good.json is a good result, and result-bad.json says
what to take out of it or put into it to make it bad.
"""

import ast
import copy
import difflib
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.dont_write_bytecode = True      # a test leaves nothing in the source tree
sys.path[:0] = [str(Path(__file__).resolve().parents[i] / of) for i, of in ((2, 'support'), (3, 'scripts'))]
import answers  # noqa: E402
import mutants  # noqa: E402
import python_types  # noqa: E402
import schemas  # noqa: E402
from program import times  # noqa: E402
from tap import Tap  # noqa: E402

try:
    import jsonschema
except ImportError:
    print('1..0 # SKIP python3-jsonschema is not installed')
    sys.exit(0)

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
POLICIES = ('bestfit:align=256', 'firstfit', 'nextfit', 'worstfit', 'buddy', 'sizeclass', 'tlsf',
            'direct', 'bfc:garbage_collection=true,fragmentation_fraction=0.1', 'plan', 'pytorch',
            'pytorch:expandable_segments=true,roundup_power2_divisions=4', 'compact',
            'compact:over=bestfit')

# what is small enough to be written here: name, trace, options, exit status, runs
TWO_DEVICES = [
    {'format': 'fragsim-trace', 'version': 1,
     'devices': [{'name': 'a', 'total_bytes': '1GiB'}, {'context_bytes': 5}]},
    {'op': 'alloc', 'id': 1, 'size': 1000}, {'op': 'alloc', 'id': 'x', 'size': 5000, 'device': 1},
    {'op': 'mark', 'name': 'both', 't': 1}, {'op': 'free', 'id': 'x'}, {'op': 'sync'}]
TOO_LARGE = [
    {'format': 'fragsim-trace', 'version': 1, 'device': {'total_bytes': '16MiB'}},
    {'op': 'alloc', 'id': 'big', 'size': '12MiB', 't': 0},
    {'op': 'alloc', 'id': 7, 'size': '12MiB', 't': 3}, {'op': 'free', 'id': 'big', 't': 4},
    {'op': 'free', 'id': 7, 't': 9}]
NEGATIVE = [
    {'format': 'fragsim-trace', 'version': 1,
     'device': {'total_bytes': 1000, 'context_bytes': 2000}}, {'op': 'mark', 'name': 'm'}]
NO_STEPS = [{'format': 'fragsim-trace', 'version': 1, 'events': []}]
MARK = {'op': 'mark', 'name': 'end', 't': 10}
SMALL = (
    ('no steps', NO_STEPS, (), 0, 1),
    ('two devices', TWO_DEVICES, ('--policy', 'bestfit', '--policy', 'direct'), 0, 4),
    ('out of memory', TOO_LARGE, (), 3, 1),
    ('out of memory, going on', TOO_LARGE, ('--on-oom', 'continue'), 3, 1),
    ('a pool that is refused', TOO_LARGE, ('--policy', 'bestfit:pool=1GiB'), 3, 1),
    ('a device that is full from the start', NEGATIVE, (), 0, 1),
    ('a bad event skipped', [*TOO_LARGE[:2], {'op': 'bogus'}], ('--lenient', '--quiet'), 0, 1),
)


def is_integer(_checker: object, value: object) -> bool:
    """5.0 is an integer to JSON Schema, but not to fragsim."""
    return isinstance(value, int) and not isinstance(value, bool)


Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine('integer', is_integer))


def load(name: str) -> dict:
    schema = schemas.schema(name)
    Validator.check_schema(schema)
    return schema


def faults_of(validator: jsonschema.protocols.Validator, document: object) -> list[str]:
    return [f'{"/".join(map(str, e.absolute_path)) or "(all)"}: {e.message}'
            for e in validator.iter_errors(document)]


def judge(tap: Tap, name: str, faults: list[str], good: bool) -> None:
    """A good example has to have no faults, a bad one some."""
    if not good:
        faults = [] if faults else ['the schema accepts it']
    tap.result(f'{"good" if good else "bad"} {name}', faults)


def trace_validators() -> dict[str, jsonschema.protocols.Validator]:
    schema = load('trace')
    parts = {'trace': schema}
    for part in ('header', 'event'):
        parts[part] = {'$schema': schema['$schema'], '$ref': f'#/$defs/{part}',
                       '$defs': schema['$defs']}
    return {name: Validator(part) for name, part in parts.items()}


def check_trace_examples(tap: Tap, validators: dict) -> None:
    for line in (HERE / 'trace-examples.ndjson').read_text(encoding='utf-8').splitlines():
        example = json.loads(line)
        judge(tap, f'{example["of"]}: {example["why"]}',
              faults_of(validators[example['of']], example['text']), example['good'])


def changed(good: dict) -> Iterator[tuple[str, dict]]:
    """The good result with one thing taken out or put in."""
    for change in json.loads((HERE / 'result-bad.json').read_text(encoding='utf-8')):
        result = copy.deepcopy(good)
        *path, last = change['at']
        inner = result
        for key in path:
            inner = inner[key]
        if 'put' in change:
            inner[last] = change['put']
        else:
            del inner[last]
        yield change['why'], result


def check_result_examples(tap: Tap, validator: jsonschema.protocols.Validator) -> None:
    good = json.loads((HERE / 'result-good.json').read_text(encoding='utf-8'))
    judge(tap, 'result', faults_of(validator, good) or untrue(good), True)
    for why, bad in changed(good):
        judge(tap, f'result: {why}', faults_of(validator, bad) or untrue(bad), False)


def recorded() -> list[Path]:
    """The recorded traces, the smallest first."""
    return sorted((ROOT / 'traces').glob('*.ndjson.gz'), key=lambda path: path.stat().st_size)


def few_of_each_shape(lines: Iterator[str]) -> list[tuple[int, dict]]:
    """With their line numbers: of all events with the same op and the same types of the same
    members, the first, the last, and those of the least and the greatest size and id."""
    few: dict[tuple, dict[str, tuple[int, dict]]] = {}
    for number, line in enumerate(lines, 2):
        event = json.loads(line)
        shape = (event.get('op'), *sorted((k, type(v).__name__) for k, v in event.items()))
        kept = few.setdefault(shape, {'first': (number, event)})
        kept['last'] = (number, event)
        for name in ('size', 'id'):
            value = event.get(name)
            if isinstance(value, int):
                if value <= kept.get(f'least {name}', (0, event))[1][name]:
                    kept[f'least {name}'] = (number, event)
                if value >= kept.get(f'most {name}', (0, event))[1][name]:
                    kept[f'most {name}'] = (number, event)
    return [x for kept in few.values() for x in kept.values()]


def check_recorded(tap: Tap, validators: dict) -> None:
    paths = recorded()
    if not paths:
        tap.skip('recorded traces', 'traces/ has none')
    for path in paths:
        with gzip.open(path, 'rt', encoding='utf-8') as lines:
            faults = [f'line 1: {x}' for x in
                      faults_of(validators['header'], json.loads(next(lines)))]
            for number, event in few_of_each_shape(lines):
                faults += [f'line {number}: {x}' for x in faults_of(validators['event'], event)]
        tap.result(f'events of {path.name}', faults)


def check_trace_mutants(tap: Tap, validator: jsonschema.protocols.Validator,
                        program: str) -> None:
    """The schema refuses nothing that the program takes; and the program refuses nothing that the
    schema takes, but for what depends on the events before."""
    faults = []
    chosen = list(mutants.of_trace())[::times(4, 1, 5)]
    for name, trace in chosen:
        done = subprocess.run([program, 'run', '-q', '-'], input=json.dumps(trace), text=True,
                              capture_output=True, check=False, timeout=60)
        refused = done.returncode == 4
        beyond = refused and re.search(mutants.BEYOND_A_SCHEMA, done.stderr)
        if done.returncode not in (0, 3, 4):
            faults.append(f'{name}: exit status {done.returncode}')
        elif validator.is_valid(trace) == refused and not beyond:
            faults.append(f'{name}: the program says {done.stderr.strip() or "nothing"}, the'
                          f' schema {faults_of(validator, trace)[:1]}')
    tap.result(f'schema and program agree on {len(chosen)} mutants of a trace', faults)


def check_result_mutants(tap: Tap, validator: jsonschema.protocols.Validator, program: str,
                         folder: str) -> None:
    """Of a result with out-of-memories, marks and times, and no device name."""
    trace = Path(folder, 'trace')
    trace.write_text(''.join(json.dumps(x) + '\n' for x in [*TOO_LARGE, MARK]), encoding='utf-8')
    done = subprocess.run([program, 'run', '-p', 'bestfit', '-p', 'pytorch', '--json', '-',
                           '--on-oom', 'continue', str(trace)],
                          capture_output=True, check=False, timeout=60)
    result = json.loads(done.stdout)
    if not validator.is_valid(result) or not result['runs'][0]['oom']:
        tap.result('mutants of a result', ['the result itself is no good'])
        return
    # of the second run only what the first has not
    bad = [(name, mutant) for name, mutant in mutants.of_result(result)
           if not name.startswith('runs.1.') or name.startswith('runs.1.pytorch')]
    bad += [('a policy that keeps no statistics', mutants.changed(
        result, ('runs', 1, 'policy', 'name'), 'bestfit'))]
    bad = bad[::times(5, 1)]
    tap.result(f'none of {len(bad)} mutants of a result passes',
               [f'passes: {name}' for name, mutant in bad
                if validator.is_valid(mutant) and not untrue(mutant)])


def check_run(tap: Tap, validator: jsonschema.protocols.Validator, name: str, command: list[str],
              status: int, runs: int) -> None:
    """What one run writes: valid, of that many runs, and free of contradictions."""
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    except subprocess.TimeoutExpired:
        tap.result(name, ['still running after 60 s'])
        return
    if done.returncode != status:
        tap.result(name, [f'exit status {done.returncode}, not {status}', repr(done.stderr[:200])])
        return
    try:
        result = json.loads(done.stdout)
    except ValueError as why:
        tap.result(name, [f'not JSON: {why}'])
        return
    faults = faults_of(validator, result)
    if not faults:
        faults = untrue(result)
        if len(result['runs']) != runs:
            faults.append(f'{len(result["runs"])} runs, not {runs}')
    tap.result(name, faults)


HIDDEN = {'largest_free', 'releasable', 'non_releasable', 'fi', 'fi_device', 'holes', 'wasted'}
OVER_STEPS = ('min', 'mean', 'p50', 'p95', 'p99', 'max', 'last')
# policies of the program without PyTorch's statistics; a plug-in may have them, and what compact is over
PLAIN = {x.split(':')[0] for x in POLICIES} - {'pytorch', 'compact'}


def untrue(result: dict) -> list[str]:
    return [fault for run in result['runs'] for fault in contradictions(run)]


def contradictions(run: dict) -> list[str]:
    """What a schema cannot say of a run: what some of its members say of others."""
    last, counts, answer, policy = run['last'], run['counts'], run['answer'], run['policy']['name']
    unlimited = run['device']['total_bytes'] == 0
    opaque = policy == 'cuda-async'
    states = [run['peak'], last, *run['marks'], *(x['metrics'] for x in run['oom'])]
    spreads = [run[x] for x in ('fi', 'fi_device', 'internal', 'utilization')]
    failed = answer is not None and answer['verdict'] == 'does not fit'
    truths = {
        "what a driver's own pool hides is null, and nothing else": all(
            (value is None) == (opaque and name in HIDDEN or name == 'device_free' and unlimited)
            for state in states for name, value in state.items()),
        'percentages are null where there are no steps': all(
            (spread[x] is None) == (run['steps'] == 0) for spread in spreads for x in OVER_STEPS),
        'and nothing is counted': run['steps'] > 0 or not any(
            x['severe_steps'] or x['time_weighted_mean'] for x in spreads),
        'a failure has a cause, and nothing is wasted': answer is None or failed == (
            answer['cause'] is not None) == (answer['wasted'] is None) == (answer['cached'] is None),
        'what fits has its needs, and hope': answer is None or failed or (
            answer['needs'] is not None and not answer['hopeless']),
        'compact moves, and nothing else': ('compaction' in run) == (policy == 'compact'),
        'pytorch has its statistics, and the plain policies do not':
            policy not in PLAIN | {'pytorch'} or ('pytorch' in run) == (policy == 'pytorch'),
        'lower_bound is the peak of requested': run['lower_bound'] == run['peak']['requested'],
        'no oom is left out': len(run['oom']) == min(counts['ooms'], 100),
        'device_free is null if and only if unlimited': unlimited == (last['device_free'] is None),
        'reserved = active + free + waste':
            last['reserved'] == last['active'] + last['free'] + last['waste'],
        'min <= max': (run['fi']['min'] or 0) <= (run['fi']['max'] or 100),
    }
    return [f'not so: {truth}' for truth, holds in truths.items() if not holds]


def check_program(tap: Tap, validators: dict, validator: jsonschema.protocols.Validator,
                  program: str) -> None:
    run = [program, 'run', '--json', '-']
    every = [x for policy in POLICIES for x in ('--policy', policy)]
    paths = recorded()[:3 if os.environ.get('SAN') else None]
    for path in paths:
        check_run(tap, validator, f'{path.name} under every policy', [*run, *every, str(path)], 0,
                  len(POLICIES))
    if paths:
        check_run(tap, validator, f'{paths[0].name} on a device of 64 MiB',
                  [*run, *every, '--device-bytes', '64MiB', str(paths[0])], 3, len(POLICIES))
    else:
        tap.skip('program on recorded traces', 'traces/ has none')
    with tempfile.TemporaryDirectory(prefix='schema-') as folder:
        trace = Path(folder, 'trace')
        for name, lines, options, status, runs in SMALL:
            trace.write_text(''.join(json.dumps(line) + '\n' for line in lines), encoding='utf-8')
            check_run(tap, validator, name, [*run, *options, str(trace)], status, runs)
        check_result_mutants(tap, validator, program, folder)
        answers.check(tap, load, faults_of, program, folder, Validator)
    check_trace_mutants(tap, validators['trace'], program)
    said = subprocess.run([program, 'help', '-h'], capture_output=True, text=True, check=True, timeout=60).stdout
    declared = re.search(r'print a JSON Schema:(.*?)\n +--', said, re.S)[1].split()
    printed = [x.name.removeprefix('fragsim-').removesuffix('.schema.json')
               for x in schemas.PRINTED.glob('*.schema.json')]
    tap.result('the Makefile has every document print its schema', sorted(set(declared) ^ set(printed)))


def check_members(tap: Tap) -> None:
    """The types of the Python module have each member of each document: a change is seen, and is to be
    meant. ACCEPT=1 writes them anew."""
    path = ROOT / 'python' / 'fragsim' / '_types.pyi'
    types = python_types.types(schemas.PRINTED)
    ast.parse(types)
    if os.environ.get('ACCEPT'):
        path.write_text(types, 'utf-8')
    tap.result(f'{path.name} has the members of all documents', [
        line for line in difflib.unified_diff(path.read_text('utf-8').splitlines(), types.splitlines(),
                                              'known', 'now', lineterm='', n=0)])


def main(argv: list[str]) -> int:
    if len(argv) > 2:
        print(__doc__, file=sys.stderr)
        return 2
    tap = Tap()
    validators = trace_validators()
    result = Validator(load('result'))
    check_trace_examples(tap, validators)
    check_result_examples(tap, result)
    check_recorded(tap, validators)
    check_members(tap)
    if len(argv) == 2:
        if os.access(argv[1], os.X_OK):
            check_program(tap, validators, result, os.path.abspath(argv[1]))
        else:
            tap.result('the program', [f'{argv[1]} is not a program'])
    return tap.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
