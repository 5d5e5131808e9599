#!/usr/bin/python3
"""run.py - fragsim list settings: the keys that the released PyTorch accepts, in each form; and the skill.

    run.py PROGRAM          prints TAP

SINCE is what PyTorch says: torch.cuda.memory._set_allocator_settings() of 2.9.1 accepts those up to
2.9 and calls the others unrecognized, that of 2.15.0 accepts all.
"""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from program import PROGRAM, call        # noqa: E402
from tap import Tap             # noqa: E402

TAP = Tap()
ROOT = Path(__file__).resolve().parents[3]
MOST = 12 << 10          # bytes of an answer for a program that has not asked for all of it
UP_TO_2_9 = {
    'backend', 'expandable_segments', 'garbage_collection_threshold',
    'graph_capture_record_stream_reuse', 'max_non_split_rounding_mb', 'max_split_size_mb',
    'pinned_num_register_threads', 'pinned_use_background_threads', 'pinned_use_cuda_host_register',
    'release_lock_on_cudamalloc', 'roundup_power2_divisions'}
UP_TO_2_15 = UP_TO_2_9 | {
    'expandable_segments_reserve', 'expandable_segments_reserve_by_class', 'large_segment_size_mb',
    'per_process_memory_fraction', 'pinned_free_catch_all', 'pinned_max_cached_size_mb',
    'pinned_max_round_threshold_mb', 'pinned_reserve_segment_size_mb', 'throw_on_cudamalloc_oom'}
# c10/core/AllocatorConfig.h and c10/cuda/CUDAAllocatorConfig.h of 2.15.0; the others have no value
USUAL = {'backend': 'native', 'expandable_segments': 'False', 'large_segment_size_mb': '20',
         'graph_capture_record_stream_reuse': 'False', 'pinned_free_catch_all': 'False',
         'max_non_split_rounding_mb': 'large_segment_size_mb', 'per_process_memory_fraction': '1',
         'pinned_num_register_threads': '1', 'pinned_reserve_segment_size_mb': '0',
         'pinned_use_background_threads': 'False', 'pinned_use_cuda_host_register': 'False',
         'release_lock_on_cudamalloc': 'False', 'throw_on_cudamalloc_oom': 'False'}
EMPTY = '{"format":"fragsim-trace","version":1}\n{"op":"alloc","id":1,"size":1}\n'


def listed(*words: str) -> str:
    status, out, err = call('list', 'settings', *words)
    if status or err:
        raise AssertionError(f'status {status}: {err}')
    return out


def taken(key: str, value: str, version: str) -> bool:
    return call('run', '-q', '-p', f'pytorch:version={version}', '--alloc-conf', f'{key}:{value}',
                'one.ndjson')[0] == 0


def check_facts(rows: list[dict]) -> None:
    since = {x['key']: int(x['since'].removeprefix('2.')) for x in rows}
    TAP.same('the keys of 2.9.1', {k for k, v in since.items() if v <= 9}, UP_TO_2_9)
    TAP.same('the keys of 2.15.0', set(since), UP_TO_2_15)
    TAP.same('the defaults of 2.15.0', {x['key']: x['default'] for x in rows if x['default']}, USUAL)
    TAP.same('sizes have a unit', {x['key'] for x in rows if x['unit']},
             {x for x in UP_TO_2_15 if x.endswith('_mb')})


def check_used(rows: list[dict]) -> None:
    """What a run accepts: the values from the first version on, in none before it."""
    value = {'True or False': 'True', 'a list': '[a:0.5]', 'native or cudaMallocAsync': 'native',
             'a power of two up to 128': '2', 'a whole number': '1', 'a number between 0 and 1': '0.5',
             'a number from 0 to 1': '1'}
    faults = []
    for x in rows:
        one = value.get(x['values'], '0.5' if 'fraction' in x['values'] else '64')
        first = int(x['since'].removeprefix('2.'))
        faults += [f'{x["key"]}:{one} under 2.{minor}' for minor in range(1, 16)
                   if taken(x['key'], one, f'2.{minor}') != (minor >= first)]
        low, to, high = x['values'].split(',')[0].partition(' to ')
        low = '20' if low == 'large_segment_size_mb' else low
        if to and low.isdigit() and high.isdigit():
            wanted = {int(low): True, int(low) - 1: False, int(high): True, int(high) + 1: False}
            faults += [f'{x["key"]}:{n}' for n, good in wanted.items()
                       if taken(x['key'], str(n), '2.15') != good]
    TAP.result('a run takes these values, from these versions on', faults)


def check_forms(rows: list[dict]) -> None:
    table = list(csv.DictReader(io.StringIO(listed('--format', 'csv'))))
    TAP.same('CSV has the same', [{k: v or None for k, v in x.items()} for x in table],
             [{k: str(v).lower() if isinstance(v, bool) else v for k, v in x.items()} for x in rows])
    lines = listed('--format', 'markdown').splitlines()
    TAP.same('Markdown has a row for each', len(lines), 2 + len(rows))
    text = listed()
    TAP.result('the text has all of each', [
        x['key'] for x in rows
        if f'{x["key"]}: since {x["since"]}, default {x["default"] or "none"}' not in text
        or x['help'] not in text or x['values'] not in text])
    TAP.result('no line of the text is longer than 80', [x for x in text.splitlines() if len(x) > 80])
    two = json.loads(listed('--format', 'json', 'throw_on_cudamalloc_oom', 'backend'))
    TAP.same('named keys, in their order', [x['key'] for x in two['settings']],
             ['throw_on_cudamalloc_oom', 'backend'])
    listed('--json', 'a.json')
    TAP.same('a file has the same', json.loads(Path('a.json').read_text())['settings'], rows)


def check_refusals() -> None:
    for words, said in ((('max_split',), 'did you mean max_split_size_mb?'),
                        (('block_size',), 'never had a setting "block_size"'),
                        (('backend', 'nothing_like_it'), 'fragsim list settings lists them'),
                        (('',), 'no setting ""'), (('--format', 'xml'), '--format xml')):
        status, out, err = call('list', 'settings', *words)
        TAP.result(f'refused: {words}', [] if (status, out) == (2, '') and said in err
                   and err.count('\n') == 1 else [status, out, err])


def check_sizes() -> None:
    """What programs read, and the lines of the skill, each in at most 12 KiB."""
    skill = Path(ROOT, 'skills/fragsim/SKILL.md').read_text(encoding='utf-8')
    head = dict(x.split(': ', 1) for x in skill.split('---\n')[1].splitlines())
    TAP.result('the skill has what indexes ask for', [x for x in ('name', 'description', 'license') if not head.get(x)],
               [len(head['description'])] * (len(head['description']) > 1024),
               [skill.count('\n')] * (skill.count('\n') > 200))
    lines = [x for block in re.findall(r'^```sh\n(.*?)^```', skill, re.M | re.S) for x in block.splitlines()]
    os.symlink(Path(os.environ.get('TRACES', ROOT / 'traces')), 'traces')
    faults = []
    for line in lines:
        done = subprocess.run(['sh', '-c', line.replace('fragsim', f"'{PROGRAM}'", 1) if line.startswith('fragsim') else line],
                              capture_output=True, check=False)
        whole = line.startswith('fragsim run ') or '--json' not in line     # complete, as the skill says
        if done.returncode or (len(done.stdout) > MOST and not whole):
            faults.append(f'{line}: status {done.returncode}, {len(done.stdout)} bytes: {done.stderr[:300]}')
        if '--json -' in line:
            json.loads(done.stdout)
    TAP.result(f'{len(lines)} lines of the skill', faults)
    rows = re.findall(r'^\| [^|]+ \| (.*) \|$', skill, re.M)
    named = {x.split()[0] for row in rows for x in re.findall(r'`([a-z]+)', row)}
    TAP.result('the skill has every command', sorted(
        {x for x in re.findall(r'^  ([a-z]+)  ', call('-h')[1], re.M)} - named - {'help', 'complete'}))


def main() -> int:
    Path('one.ndjson').write_text(EMPTY, encoding='ascii')
    rows = json.loads(listed('--format', 'json'))['settings']
    check_facts(rows)
    check_used(rows)
    check_forms(rows)
    check_refusals()
    check_sizes()
    return TAP.finish()


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.exit(main())
