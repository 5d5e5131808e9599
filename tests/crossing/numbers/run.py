"""run.py - two commands that print one quantity print one number; prints TAP.

    run.py PROGRAM

Each quantity of a trace is asked of every command and form that has it: peaks, what is live, the
moment of an out-of-memory, the smallest device, the lower bound. A number in a text is the JSON's,
with two digits.
"""
import json
import re
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from program import fragsim  # noqa: E402
from tap import Tap  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
TAP = Tap()
CONTEXT = 450 << 20
MIB = 1 << 20
# a recording, and a device on which it fails under the default setting
CASES = (('gpt2_small_train_bs8_seq1024', 16 << 30), ('gpt2_small_train_bs8_seq1024_ckpt', 7734 * MIB),
         ('bert_base_infer_varlen', 900 * MIB), ('resnet50_train_bs32_fp32', 3400 * MIB), ('moe_train_dispatch', 2600 * MIB))


def call(*words: object) -> str:
    done = fragsim(*map(str, words))
    assert done.returncode in (0, 1, 3), f'{words}: {done.returncode} {done.stderr.decode()}'
    return done.stdout.decode()


def document(*words: object) -> dict:
    return json.loads(call(*words, '-q', '--json', '-'))


def shown(count: int) -> str:
    """Bytes as texts have them."""
    value, unit = float(count), 'bytes'
    for larger in ('KiB', 'MiB', 'GiB', 'TiB'):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f'{count} bytes' if unit == 'bytes' else f'{value:.2f} {unit}'


class Numbers:
    """Quantity: who says it, and what."""

    def __init__(self) -> None:
        self.said: dict[str, dict[str, object]] = {}

    def add(self, quantity: str, who: str, value: object) -> None:
        self.said.setdefault(quantity, {})[who] = value

    def faults(self) -> list[str]:
        return [f'{quantity}: {said}' for quantity, said in self.said.items()
                if len({json.dumps(x) for x in said.values()}) > 1]


CORPUS = ROOT / 'tests/oracles/corpus'
# snapshots of PyTorch, each asked on the device just below its smallest
SNAPSHOTS = ('amp_master_autocast', 'gan', 'gpt_accumulate_zero_all', 'gpt_checkpoint', 'leak_grads', 'leak_hook', 'late_ring',
             'oom_fragmentation', 'shards_ddp_copy', 'two_streams')


def whole(path: Path, folder: str) -> Numbers:
    """On an unlimited device."""
    n = Numbers()
    run = document('run', path, '-p', 'pytorch', '-p', 'bestfit')['runs']
    ranks = document('ranks', path, path)['ranks'][0]
    info = document('trace', 'info', path)['devices'][0]
    plan = document('plan', path)
    fit = document('fit', '--settings', 'none', path)
    same = document('predict', path, '--scale', '1', '-p', 'pytorch')['changed']
    change = document('diff', path, path)
    compared = document('diff', '-p', 'pytorch', '-p', 'bestfit', path)['traces'][0]['runs']
    peak = document('explain', '--at', 'peak', path)['moments'][0]
    n.add('peak requested', 'run', run[0]['peak']['requested'])
    n.add('peak requested', 'run bestfit', run[1]['peak']['requested'])
    n.add('peak requested', 'ranks', ranks['requested'])
    n.add('peak requested', 'trace info', info['peak_live_bytes'])
    n.add('peak requested', 'predict', same['fits'][0]['requested'])
    n.add('peak reserved', 'run', run[0]['peak']['reserved'])
    n.add('peak reserved', 'ranks', ranks['reserved'])
    n.add('peak reserved', 'predict', same['fits'][0]['reserved'])
    n.add('peak reserved', 'plan', next(x['peak_reserved'] for x in plan['policies'] if x['alloc_conf'] == ''
                                        and x['policy']['name'] == 'pytorch'))
    n.add('peak reserved of bestfit', 'run', run[1]['peak']['reserved'])
    n.add('peak reserved of bestfit', 'plan', next(x['peak_reserved'] for x in plan['policies']
                                                   if x['policy']['name'] == 'bestfit'))
    n.add('event of the peak', 'trace info', info['peak_step'])
    n.add('event of the peak', 'explain', peak['step'])
    n.add('peak active', 'run', run[0]['peak']['active'])
    n.add('peak active', 'explain', peak['live'])
    for which in ('old', 'new'):
        n.add('peak reserved', f'diff {which}', change[which]['peak']['reserved'])
        n.add('peak requested', f'diff {which}', change[which]['peak']['requested'])
    for name, side in (('peak reserved', 'base'), ('peak reserved of bestfit', 'value')):
        n.add(name, 'diff of policies', compared[1]['figures']['peak.reserved'][side])
    n.add('smallest device', 'fit', next(x['smallest'] for x in fit['fits'] if x['policy']['name'] == 'pytorch'
                                         and x['alloc_conf'] == ''))
    n.add('smallest device', 'predict', same['fits'][0]['smallest'])
    n.add('smallest device', 'plan', next(x['smallest'] for x in plan['policies'] if x['alloc_conf'] == ''
                                          and x['policy']['name'] == 'pytorch'))
    texts(n, path, run, ranks)
    call('sweep', '-q', '-o', f'{folder}/swept', '-p', 'pytorch', path)
    swept = json.loads((Path(folder) / 'swept' / 'shard-0-of-1.ndjson').read_text().splitlines()[-1])
    found = re.search(r'"reserved": ?(\d+)', json.dumps(swept))
    n.add('peak reserved', 'sweep', int(found[1]) if found else None)
    return n


def texts(n: Numbers, path: Path, run: list, ranks: dict) -> None:
    """The headline and the rows of `run`, and of `diff`. What is wasted is so at the peak of reserved."""
    text = call('run', path, '-p', 'pytorch')
    said = re.search(r'NO LIMIT: pytorch reserves (\S+ \S+) ', text)
    n.add('reserved in texts', 'JSON', shown(run[0]['peak']['reserved']))
    n.add('reserved in texts', 'run, headline', said and said[1])
    row = re.search(r'^fits +pytorch +(\S+ \S+) +(\S+ \S+) ', text, re.M)
    n.add('reserved in texts', 'run, row', row and row[2])
    n.add('requested in texts', 'JSON', shown(run[0]['peak']['requested']))
    n.add('requested in texts', 'run, row', row and row[1])
    wasted = re.search(r'wasted +(\S+ \S+) \(.*peak requested (\S+ \S+)$', text, re.M)
    n.add('requested in texts', 'run, wasted', wasted and wasted[2])
    n.add('wasted in texts', 'run', wasted and wasted[1])
    n.add('wasted in texts', 'ranks', shown(ranks['wasted']))
    n.add('most wasted in texts', 'JSON', shown(run[0]['peak']['wasted']))
    most = re.search(r'maximum over the run (\S+ \S+);', text)
    n.add('most wasted in texts', 'run', most and most[1])
    old = re.search(r'^  old .*: (\S+ \S+) reserved, (\S+ \S+) requested', call('diff', path, path), re.M)
    n.add('reserved in texts', 'diff', old and old[1])
    n.add('requested in texts', 'diff', old and old[2])


def failed(path: Path, total: int, folder: str) -> Numbers:
    """At an out-of-memory."""
    n = Numbers()
    device = ('--device-bytes', f'{total}B', '--context-bytes', f'{CONTEXT}B')
    call('run', path, *device, '--json', f'{folder}/run.json')     # -q would judge nothing
    run = json.loads(Path(folder, 'run.json').read_text(encoding='utf-8'))['runs'][0]
    oom = run['oom'][0]
    why = document('explain', path, *device)['moments'][0]
    fit = document('fit', '--settings', 'none', '--context-bytes', f'{CONTEXT}B', path)
    for quantity, in_run, in_explain in (
            ('event', oom['step'], why['step']), ('size', oom['size'], why['size']),
            ('verdict', run['answer']['cause'], why['verdict']), ('active', oom['metrics']['active'], why['live']),
            ('free of segments', oom['metrics']['free'], why['free']),
            ('releasable', oom['metrics']['releasable'], why['releasable']),
            ('not releasable', oom['metrics']['non_releasable'], why['non_releasable']),
            ('free of the device', oom['metrics']['device_free'], why['device_free']),
            ('largest block', max(oom['metrics']['largest_free'], oom['metrics']['device_free']), why['largest_now']),
            ('largest holder', oom['holders'][0]['bytes'], max(x['bytes'] for x in why['holders'])),
            ('its tag', oom['holders'][0]['tag'], max(why['holders'], key=lambda x: x['bytes'])['tag'])):
        n.add(quantity, 'run', in_run)
        n.add(quantity, 'explain', in_explain)
    told = {x: call(x, path, *device) for x in ('run', 'explain')}
    for who, text in told.items():
        found = re.search(r'(\S+ \S+) free, largest contiguous block (\S+ \S+)$', text, re.M)
        if found:
            n.add('free in texts', who, found[1])
            n.add('largest in texts', who, found[2])
            n.add('free in texts', 'JSON', shown(why['free'] + why['device_free']))
            n.add('largest in texts', 'JSON', shown(why['largest_now']))
        n.add('setting', who, (re.search(r'^  set +(.*)$', text, re.M) or [None, None])[1])
        n.add('verdict in texts', who, (re.search(r'^  verdict +(.*)$', text, re.M) or [None, None])[1])
        n.add('event in texts', who, int(re.search(r'event (\d+) of', text)[1]))
    n.add('event in texts', 'JSON', why['step'])
    smallest = re.search(r'^  smallest +(?:\S+ )?(\d+) MiB', told['run'], re.M)
    exact = next(x for x in fit['fits'] if x['policy']['name'] == 'pytorch' and x['alloc_conf'] == '')
    if smallest:
        n.add('smallest device', 'run', int(smallest[1]))
        n.add('smallest device', 'fit', exact['reliable'] // MIB)
    bound = re.search(r'lower bound (\S+ \S+);', told['run'])
    if bound:
        n.add('lower bound', 'run', bound[1])
        n.add('lower bound', 'fit', shown(fit['lower_bound']))
    page = Path(folder) / 'page.html'
    call('run', '-q', path, *device, '-o', page)
    html = page.read_text(encoding='utf-8')
    told_there = re.search(r'(\d[\d.]* [KMGT]iB) free, largest contiguous block (\d[\d.]* [KMGT]iB)', html)
    if told_there and 'free in texts' in n.said:
        n.add('free in texts', 'page', told_there[1])
        n.add('largest in texts', 'page', told_there[2])
    return n


def just_too_small(path: Path) -> int:
    """The smallest device less its granularity, in bytes."""
    fit = document('fit', '--settings', 'none', '--context-bytes', f'{CONTEXT}B', path)
    return next(x['smallest'] for x in fit['fits'] if x['policy']['name'] == 'pytorch' and x['alloc_conf'] == '') - 2 * MIB


def main() -> int:
    for name, total in CASES:
        path = ROOT / 'traces' / f'{name}.ndjson.gz'
        with tempfile.TemporaryDirectory() as folder:
            for what, n in (('unlimited', whole(path, folder)), ('out of memory', failed(path, total, folder))):
                many = sum(len(x) > 1 for x in n.said.values())
                TAP.result(f'{name}, {what}', n.faults(), many < 9 and f'only {many} quantities: {sorted(n.said)}')
    for name in SNAPSHOTS:
        path = CORPUS / f'{name}.pickle.gz'
        with tempfile.TemporaryDirectory() as folder:
            n = failed(path, just_too_small(path), folder)
            many = sum(len(x) > 1 for x in n.said.values())
            TAP.result(f'{name}, out of memory', n.faults(), many < 12 and f'only {many} quantities: {sorted(n.said)}')
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
