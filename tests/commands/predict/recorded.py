"""recorded.py - whole models recorded at two or three numbers, against what they do at another one.

recordings/ was made by scripts/record_torch.py: gpt2_* are gpt2_small_train_bs8_seq1024, resnet50_*
resnet50_train_bs32_fp32, with the --batch or --length that the name says. traces/ has both as they
are, made by an older recorder, whose tags differ.
"""
import gzip
import json
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORDINGS, TRACES = HERE / 'recordings', HERE.parents[2] / 'traces'
MIB = 1 << 20
GPT2, RESNET = 'gpt2_small_train_bs8_seq1024', 'resnet50_train_bs32_fp32'

# model, recorded at, asked at, and the trace that is the truth; "": it is among the recordings
CASES = (
    ('gpt2_batch', (2, 4), 16, ''), ('resnet50_batch', (8, 16), 64, ''),
    ('gpt2_batch', (2, 4), 8, GPT2), ('resnet50_batch', (16, 64), 32, RESNET),
    ('gpt2_length', (128, 256, 512), 1024, GPT2),
)


def events_of(path: Path) -> list[dict]:
    return [json.loads(x) for x in gzip.open(path, 'rt').read().splitlines()][1:]


def bare(events: list[dict]) -> list[tuple]:
    """Without tags and times."""
    return [(e['op'], e.get('id'), e.get('size'), e.get('name')) for e in events]


def answer(program: str, *args: object) -> dict:
    done = subprocess.run([program, *map(str, args), '-q', '-p', 'pytorch', '--json', '-'],
                          capture_output=True, check=False)
    return json.loads(done.stdout)


def operands(name: str, numbers: tuple) -> list[str]:
    return [f'{RECORDINGS / name}{n}.ndjson.gz={n}' for n in numbers]


def judge(program: str, name: str, numbers: tuple, at: int, whole: str) -> list:
    real = TRACES / f'{whole}.ndjson.gz' if whole else RECORDINGS / f'{name}{at}.ndjson.gz'
    done = subprocess.run([program, 'predict', *operands(name, numbers), '--at', str(at), '-q',
                           '--trace', 'x.ndjson.gz'], capture_output=True, check=False)
    if done.returncode:
        return [done.stderr.decode()]
    made, there = events_of(Path('x.ndjson.gz')), events_of(real)
    faults = []
    if made != there and (not whole or bare(made) != bare(there)):
        faults.append('other events')
    point = answer(program, 'predict', *operands(name, numbers), '--at', at)['points'][0]
    wanted = answer(program, 'run', real)['runs'][0]['peak']['reserved']
    # recordings of fake tensors have no workspaces; where such may start they are counted
    if point['unexplained'] or (point['fits'][0]['reserved'] != wanted and not point['margin']):
        faults.append(f'{point["unexplained"]} not explained, {point["fits"][0]["reserved"]}'
                      f' reserved, not {wanted}')
    return faults


def check(tap, program: str) -> None:
    for name, numbers, at, whole in CASES:
        tap.result(f'{name} at {numbers} gives what it has at {at}',
                   judge(program, name, numbers, at, whole))
    found = answer(program, 'predict', *operands('gpt2_length', (256, 512)), '--at', 1024)
    reserved = found['points'][0]['fits'][0]['reserved']
    tap.result('two lengths give what three give', reserved != 15988 * MIB and reserved)
