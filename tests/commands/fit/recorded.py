"""recorded.py - the smallest devices of recorded traces, as PyTorch's own binary has them.

Measured with that binary on every device of whole pages of 2 MiB, without a context.
"""

import json
import os
import re
import subprocess
from pathlib import Path

TRACES = Path(__file__).resolve().parents[3] / 'traces'
SNAPSHOT = TRACES.parent / 'tests/oracles/corpus/gpt_checkpoint.pickle.gz'
SECONDS = 600
MIB = 1 << 20
EXPANDABLE = 'expandable_segments:True'
BERT, RESNET = 'bert_base_infer_varlen', 'resnet50_train_bs32_fp32'
GPT2, SD = 'gpt2_small_train_bs8_seq1024_ckpt', 'sd15_unet_vae_infer_multires'

# trace, settings, smallest and safe; MiB
FITS = (
    (RESNET, '', 2958, 2990), (RESNET, EXPANDABLE, 2880, 2892), (BERT, '', 996, 996),
    (BERT, EXPANDABLE, 902, 908), (GPT2, EXPANDABLE, 6642, 6684),
)
# trace, what the best setting of the newest release needs, and what is in it
BESTS = ((SD, 2692, 'large_segment_size_mb:32'), (GPT2, 6642, 'expandable'), (BERT, 862, ''))
# its peak without a limit, and the largest device that it fails on
ROUNDED = (RESNET, f'{EXPANDABLE},roundup_power2_divisions:8', 3052, 3076)


def document(program: str, *args: str) -> dict:
    done = subprocess.run([program, *args], capture_output=True, timeout=SECONDS, check=False)
    return json.loads(done.stdout)


def path(name: str) -> str:
    return str(TRACES / f'{name}.ndjson.gz')


def mib(value: int | None) -> float | None:
    return value if value is None else value / MIB


def fit_of(program: str, name: str, line: str) -> dict:
    return document(program, 'fit', '-q', '--map', '--json', '-', '--context-bytes', '0',
                    '--alloc-conf', line, path(name))['fits'][0]


def check_best(tap: object, program: str, name: str, smallest: int, words: str) -> None:
    said = document(program, 'fit', '-q', '--settings', 'all', '--exact', '--json', '-', '-p', 'pytorch:version=2.15',
                    '--context-bytes', '0', path(name))['settings']
    best = min((x for x in said if x['smallest']), key=lambda x: x['smallest'])
    tap.ok(mib(best['smallest']) == smallest and words in best['alloc_conf'],
           f'{name}: the best setting needs {smallest} MiB',
           f'{best["alloc_conf"]}: {mib(best["smallest"])}')
    again = document(program, 'run', '-q', '--json', '-', '--context-bytes', '0', '--alloc-conf',
                     best['alloc_conf'], '--device-bytes', f'{best["smallest"]}B',
                     path(name))['runs'][0]
    tap.ok(again['status'] == 'fits', f'{name}: pasted, it fits there')


def check_margin(tap: object, program: str, name: str, line: str, safe: int) -> None:
    """The row: what the device has above the bound, and the event that fails on the next smaller one."""
    text = subprocess.run([program, 'fit', '--alloc-conf', line, '--device', '24GiB', path(name)], capture_output=True,
                          text=True, timeout=SECONDS, check=False).stdout
    bound = int(re.search(r'^ +bound +(\d+) MiB', text, re.M)[1])
    said = re.search(r'^ +margin +\S+ requires (\d+) MiB more .*request of event (\d+) fails', text, re.M)
    run = document(program, 'run', '-q', '--json', '-', '--alloc-conf', line, '--device-bytes', f'{safe - 2}MiB', path(name))
    wanted = (str(safe - bound), str(run['runs'][0]['oom'][0]['step']))
    tap.ok(said and said.groups() == wanted, f'{name}: the smallest reliable margin, and what fails below it',
           f'{said and said.groups()}, not {wanted}')


def check(tap: object, program: str) -> None:
    for name, line, safe in ((BERT, '', 996), (RESNET, '', 2990)):
        check_margin(tap, program, name, line, safe)
    for name, line, smallest, safe in FITS:
        got = fit_of(program, name, line)
        tap.ok((mib(got['smallest']), mib(got['reliable'])) == (smallest, safe),
               f'{name}, {line or "default"}: as the binary', f'{got["smallest"]}, {got["reliable"]}')
    name, line, peak, fails = ROUNDED
    bad = [x for x in fit_of(program, name, line)['map'] if x['status'] == 'oom'][-1]
    runs = document(program, 'run', '-q', '--json', '-', '--device-bytes', '0', '--alloc-conf',
                    line, path(name))['runs']
    tap.ok(mib(runs[0]['peak']['reserved']) == peak
           and bad['least'] <= fails * MIB < bad['beyond'] <= (fails + 2) * MIB,
           f'{name}, {line}: fails above the peak that it has without a limit',
           f'{runs[0]["peak"]["reserved"]}, {bad}')
    # up to 2.11 the addresses in the log decide, in every run alike
    snapshot, old = str(SNAPSHOT), ('-q', '-p', 'pytorch:version=2.8')
    smallest = document(program, 'fit', *old, '--json', '-', snapshot)['fits'][0]['smallest']
    status = [subprocess.run([program, 'run', *old, '--device-bytes', str(total), snapshot],
                             check=False).returncode for total in (smallest, smallest - 2 * MIB)]
    tap.ok(status == [0, 3], f'{SNAPSHOT.name}: fit and run put its segments in one order',
           f'{smallest}: {status}')
    for name, smallest, words in BESTS:
        if os.environ.get('SAN'):
            tap.skip(f'{name}: the best setting', 'a sanitizer takes too long')
        else:
            check_best(tap, program, name, smallest, words)
