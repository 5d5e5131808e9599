"""judge.py FRAGSIM FOLDER...: are fragsim's sentences on the snapshots in the folders true? Rows of wrong ones, a table, one line.

Each sentence is right, wrong or withheld; "unknown" (no class, no tag, no iterations) is withheld, never wrong.
-v lists the right and the withheld ones too; --only NAME limits it to files whose name contains NAME.
"""
import argparse, bisect, glob, gzip, json, os, pickle, re, subprocess, sys, tempfile

# a truth's class -> what fragsim may call it; what else it says of such bytes is wrong
MAY = {'weights': 'weights', 'gradients': 'gradients', 'optimizer': 'optimizer', 'master': 'optimizer weights', 'activations': 'activations',
       'leak': 'activations', 'backward': 'activations gradients', 'temporaries': 'activations optimizer', 'workspace': 'activations',
       'inputs': 'activations', 'buffers': 'weights', 'kv': 'activations', 'kept': 'activations', 'unknown': 'weights gradients optimizer activations'}
OPEN = {'workspace', 'inputs', 'buffers', 'kv', 'kept', 'leak', 'unknown'}     # these may be in a class of their own, too
SAME = {'temporaries': None, 'temporary': None, 'long-lived': None, 'unknown': None, 'other': None, None: None, 'gradient': 'gradients', 'weight': 'weights',
        'parameters': 'weights', 'optimizer state': 'optimizer', 'activation': 'activations'}
NO_CLASS = ('unknown', 'other', 'long-lived', None)
CLASSES = ('weights', 'gradients', 'optimizer', 'activations')
BOILERPLATE = re.compile(r'torch::unwind|CapturedTraceback|gather_with|CachingAllocator|_empty_generic|detail::empty|^malloc|pthread|clone|_start$')


class Report:
    def __init__(self, verbose):
        self.rows, self.verbose, self.kinds = {'right': [], 'wrong': [], 'withheld': []}, verbose, {}
        self.unknown, self.bytes = 0, 0     # at the moments that are judged

    def say(self, how, kind, name, text):
        self.rows[how].append(f'{name}: {text}')
        self.kinds.setdefault(kind, dict.fromkeys(self.rows, 0))[how] += 1
        if self.verbose is not None and (how == 'wrong' or self.verbose):
            print(f'{how:8} {name}: {text}')


def fragsim(fs, *args):
    p = subprocess.run([fs, *args], capture_output=True, text=True, timeout=600)
    try:
        return json.loads(p.stdout), p.returncode, p.stderr
    except ValueError:
        return None, p.returncode, p.stderr


def explain(fs, at, path):
    """JSON and the class totals of the text's row "held"."""
    with tempfile.NamedTemporaryFile(suffix='.json') as t:
        p = subprocess.run([fs, 'explain', '--color', 'never', '--json', t.name, '--top', '100000', *(['--at', str(at)] if at is not None else []), path],
                           capture_output=True, text=True, timeout=600)
        try:
            with open(t.name) as f:
                doc = json.load(f)
        except ValueError:
            return None, None, p.stderr
    row = re.search(r'^ *(?:held|active) +(\D.*)$', p.stdout, re.M)
    unit = {'bytes': 1, 'byte': 1, 'KiB': 1 << 10, 'MiB': 1 << 20, 'GiB': 1 << 30}
    held = {c.strip(' ,()'): float(n) * unit[u] for c, n, u in re.findall(r'([a-z][a-z -]*?) ([\d.]+) (bytes?|[KMG]iB)', row[1])} if row else None
    return doc, held, p.stderr


def size(n):
    return f'{n / 2**20:.1f} MiB' if abs(n) >= 2**20 else f'{n / 1024:.1f} KiB'


class Tape:
    """The events as fragsim numbers them, and the truth of each block."""
    def __init__(self, fs, path, truth):
        with tempfile.NamedTemporaryFile(suffix='.ndjson') as t:
            subprocess.run([fs, 'trace', 'convert', '-q', path, t.name], check=True, capture_output=True)
            with open(t.name) as f:
                self.events = [json.loads(l) for l in f][1:]
        allocs = sum(e['op'] == 'alloc' for e in self.events)
        initial = [c for _, c in (v for _, v in sorted(truth['initial'].items(), key=lambda z: int(z[0])))]
        n = allocs - truth['allocs'] - (1 if truth['oom'] else 0)
        self.ok = n == len(initial)
        self.klass = list(initial) if self.ok else ['unknown'] * n
        real = ['unknown'] * (truth['allocs'] + 1)
        for c, runs in truth['blocks'].items():
            for r in runs:
                a, b = (r, r) if isinstance(r, int) else r
                real[a:b + 1] = [c] * (b + 1 - a)
        self.klass += real
        self.initial = n
        self.failed = allocs - 1 if truth['oom'] else None

    def step_of(self, allocs, frees):
        """The last step at which so many of the history's allocs and frees have been."""
        a = f = 0
        for i, e in enumerate(self.events):
            a += e['op'] == 'alloc'
            f += e['op'] == 'free'
            if a == allocs + self.initial and f == frees:
                return i
        return None

    def live(self, step):
        """Bytes by class of the truth after a step."""
        live, n = {}, 0
        self.tags = {}
        for e in self.events[:step + 1]:
            if e['op'] == 'alloc':
                if n != self.failed:
                    live[e['id']] = (e['size'], self.klass[n], e.get('tag'))
                n += 1
            elif e['op'] == 'free':
                live.pop(e['id'], None)
        out = {}
        for z, c, tag in live.values():
            out[c] = out.get(c, 0) + z
            of = self.tags.setdefault(tag, {})
            of[c] = of.get(c, 0) + z
        return out


def classes(rep, name, moment, held, tape):
    truth = tape.live(moment['step'])
    total = sum(truth.values())
    where = f'{moment["kind"]} at step {moment["step"]}'
    claim, unknown = dict.fromkeys(CLASSES, 0), 0
    said = list(held.items()) if held else [(h.get('class'), h['bytes']) for h in moment['holders']]
    rep.unknown += sum(b for c, b in said if c in NO_CLASS)
    rep.bytes += sum(b for _, b in said)
    for c, b in said:
        c = SAME.get(c, c)
        if c in claim:
            claim[c] += b
        else:
            unknown += b
    for c in CLASSES:
        low = sum(b for k, b in truth.items() if MAY[k] == c and k not in OPEN)
        high = sum(b for k, b in truth.items() if c in MAY[k].split())
        slack = max(total * 0.02, 1 << 20)
        if high < slack and claim[c] < slack:
            continue
        text = f'{where}: {c} {size(claim[c])}, is {size(low)}' + (f' to {size(high)}' if high > low + slack else '') + f' of {size(total)}'
        if low - slack <= claim[c] <= high + slack:
            rep.say('right', 'class', name, text)
        elif claim[c] < low and claim[c] + unknown >= low - slack:
            rep.say('withheld', 'class', name, text + f', unknown {size(unknown)}')
        else:
            rep.say('wrong', 'class', name, text)
    for h in sorted(moment['holders'], key=lambda h: -h['bytes'])[:5]:
        if h['bytes'] < total * 0.05:
            continue
        tag = h.get('tag')
        how = 'withheld' if not tag or tag.startswith('(') else 'wrong' if BOILERPLATE.search(tag) else 'right'
        rep.say(how, 'tag', name, f'{where}: {size(h["bytes"])} tagged {tag}')
        of, c = tape.tags.get(tag), SAME.get(h.get('class'), h.get('class'))
        if of:
            good = sum(b for k, b in of.items() if c in MAY[k].split() or (k in OPEN and c not in CLASSES))
            how = 'withheld' if c is None else 'right' if good * 2 >= sum(of.values()) else 'wrong'
            what = ', '.join(f'{k} {size(b)}' for k, b in sorted(of.items(), key=lambda z: -z[1])[:3])
            rep.say(how, 'holder', name, f'{where}: {size(h["bytes"])} of {tag} are {h.get("class")}, is {what}')


def leaks(rep, fs, name, path, truth):
    doc, rc, err = fragsim(fs, 'leaks', '--top', 'all', '--json', '-', path)
    it, leak = truth['iterations'], truth['leak']
    many = it['count'] > 2
    counts = [it['count']] + [n for _, n in it.get('also', ())]
    said = doc and doc.get('iterations', {}).get('count')
    if not said:
        rep.say('withheld' if many else 'right', 'iterations', name, 'no iterations' + ('' if many else ', and there are none'))
    else:
        near = any(abs(said - n) <= max(1, n * 0.05) for n in counts if n > 2)
        rep.say('right' if near else 'wrong', 'iterations', name, f'{said} iterations, are ' + ' or '.join(map(str, counts)) + f' ({it["name"]})')
    claim = max((d.get('leak') or 0 for d in doc['devices']), default=0) if doc else None
    if doc:
        growth_verdict(rep, name, doc['verdict'], leak, many)
        scope(rep, name, doc['scope'], truth)
    growth = sorted(truth['growth'])[len(truth['growth']) // 2] if truth['growth'] else 0
    if leak.get('optional') or name in GROWING:
        return
    if not leak['is']:
        if claim is None:
            rep.say('withheld' if many else 'right', 'leak', name, 'no leak said')
        elif claim > 1024 and not (many and abs(claim - growth) <= growth * 0.1):
            rep.say('wrong', 'leak', name, f'LEAK of {size(claim)} an iteration, there is none')
        else:
            rep.say('right', 'leak', name, 'no leak')
        return
    # an iteration is what is counted: of an epoch with three steps each keeps a third
    want = leak['bytes_per_iteration'] * it['count'] / min(counts, key=lambda n: abs(n - (said or it['count'])))
    if claim is None:
        rep.say('withheld', 'leak', name, f'a leak of {size(want)} an iteration is not seen: {err.strip()[-90:]}')
        return
    if not claim:
        rep.say('wrong', 'leak', name, f'no leak said, {size(want)} an iteration stay')
        return
    rep.say('right' if abs(claim - want) <= want * 0.1 else 'wrong', 'leak', name, f'leak of {size(claim)} an iteration, is {size(want)}')
    lines = {f'{truth["program"]}:{n}' for n in [*leak['allocated_at'], leak['kept_at']]}
    top = max(doc['leaks'], key=lambda x: x['bytes_an_iteration'], default={}) if doc['leaks'] else {}
    text = ' '.join([str(top.get('tag')), *map(str, top.get('frames') or [])])
    how = 'right' if any(re.search(re.escape(l) + r'\b', text) for l in lines) else 'withheld' if not top.get('tag') else 'wrong'
    rep.say(how, 'leak place', name, f'leaks at {top.get("tag")}, is {" or ".join(sorted(lines))}')


def growth_verdict(rep, name, said, leak, many):
    may = GROWING.get(name) or ({'leak', 'grows'} if leak['is'] else {'none', 'leak', 'grows'} if leak.get('optional') else {'none'})
    how = 'right' if said in may or (said == 'unknown' and not many) else 'withheld' if said == 'unknown' else 'wrong'
    rep.say(how, 'growth', name, f'{said}, is {" or ".join(sorted(may))}')


def scope(rep, name, said, truth):
    want = ['late' if truth['initial'] else 'start', 'cut' if truth['dropped_allocs'] else 'oom' if truth['oom'] else 'end']
    rep.say('right' if [said['begins'], said['ends']] == want else 'wrong', 'scope', name,
            f'begins {said["begins"]}, ends {said["ends"]}, is {" and ".join(want)}')


def failure(rep, name, m, path, truth):
    """The verdict, an attempt that failed before, and the line of the request, of the recorded event's own frames."""
    o = truth['oom']
    real = 'capacity' if o['allocated'] + o['requested'] > o['device_total'] else 'fragmentation'
    may = {real, 'tight'} if real == 'fragmentation' and o['allocated'] + o['requested'] > 0.9 * o['device_total'] else {real}
    may |= KEEPERS.get(name, set())
    rep.say('right' if m['verdict'] in may else 'wrong' if m['verdict'] else 'withheld', 'verdict', name, f'out of memory by {m["verdict"]}, is {" or ".join(sorted(may))}')
    rep.say('right' if bool(m['failed_attempt']) == bool(truth.get('retry')) else 'wrong', 'retry', name, f'failed attempt: {m["failed_attempt"]}')
    with gzip.open(path) as f:
        last = [e for e in pickle.load(f)['device_traces'][0] if e['action'] == 'oom'][-1]
    own = [f'{truth["program"]}:{f["line"]} {f["name"]}' for f in last.get('frames', []) if f['filename'].endswith('/' + truth['program'])]
    how = 'right' if own and m['requested_by'] == own[0] or not own and m['frames_at'] != m['step'] else 'withheld' if not m['requested_by'] else 'wrong'
    rep.say(how, 'request', name, f'requested by {m["requested_by"]}, is {own[:1]}')


def version(rep, fs, name, path, truth):
    doc, rc, err = fragsim(fs, 'trace', 'info', '--json', '-', path)
    if doc is None:
        rep.say('wrong', 'info', name, 'info: ' + err.strip()[-90:])
        return
    said = (doc.get('recording') or {}).get('pytorch') or {}
    said = said.get('version') if isinstance(said, dict) else said
    number = lambda v: tuple(map(int, v.split('.')[:2]))
    real = '.'.join(truth['torch'].split('+')[0].split('.')[:2])
    ends = re.findall(r'\d+\.\d+', str(said))
    if not ends:
        rep.say('withheld', 'version', name, 'no version')
        return
    open_end = bool(re.search(r'\+|>=|later|or newer|at least', str(said)))
    ok = number(ends[0]) <= number(real) and (open_end or number(real) <= number(ends[-1]))
    rep.say('right' if ok else 'wrong', 'version', name, f'PyTorch {said}, is {truth["torch"]}')


def peak(rep, fs, name, path, truth):
    if truth['dropped_allocs'] or truth['initial'] or truth['oom']:
        return
    args = ['--alloc-conf', truth['alloc_conf']] if truth['alloc_conf'] else []
    doc, rc, err = fragsim(fs, 'run', '-q', '--json', '-', path)
    said, real = (doc['runs'][0]['peak']['reserved'] if doc else None), truth['stats'].get('reserved_bytes.all.peak')
    rep.say('right' if said == real else 'wrong', 'peak', name, f'run: {size(said or 0)} reserved at the peak, was {size(real)}')


def judge(rep, program, paths):
    for path in paths:
        name = os.path.basename(path)[:-len('.truth.json')]
        with open(path) as f:
            truth = json.load(f)
        snap = path[:-len('.truth.json')] + '.pickle.gz'
        version(rep, program, name, snap, truth)
        leaks(rep, program, name, snap, truth)
        if truth.get('peak', True):
            peak(rep, program, name, snap, truth)
        p = subprocess.run([program, 'verify', snap], capture_output=True, text=True)
        rep.say('wrong' if p.returncode else 'right', 'verify', name, p.stdout.strip().split('\n')[-1][:90] or p.stderr.strip()[-90:])
        tape = Tape(program, snap, truth)
        steps = {tape.step_of(c['allocs'], c['frees']) for m, c in truth['classes'].items() if m not in ('oom', 'peak')} - {None}
        for at in [None, *sorted(steps)]:
            doc, held, err = explain(program, at, snap)
            if not doc:
                rep.say('withheld', 'class', name, f'explain --at {at}: ' + err.strip()[-90:])
                continue
            m = doc['moments'][0]
            if at is None and not truth['oom'] and 'peak' in truth['classes']:
                real = truth['classes']['peak']['live']
                here = sum(tape.live(m['step']).values())
                rep.say('right' if here >= real * 0.98 else 'wrong', 'peak moment', name, f'"the peak" is looked at at step {m["step"]} with {size(here)} live; {size(real)} were')
            if tape.ok:
                classes(rep, name, m, held, tape)
            if at is None and truth['oom']:
                failure(rep, name, m, snap, truth)


# what keeps results for ever, on purpose by its truth, or passes without no_grad: this explains it too
KEEPERS = {'oom_fragmentation': {'accumulation', 'leak'}, 'oom_train_eval': {'accumulation'}, 'oom_train_ragged': {'accumulation', 'leak'}}
# such results are a leak by all that a recording shows; batches and lengths that rise are growth without one
GROWING = {**dict.fromkeys(('oom_fragmentation', 'oom_train_ragged'), {'leak', 'grows'}),
           **dict.fromkeys(('mask_cache_bounded', 'oom_capacity', 'oom_train_grown'), {'none', 'grows'})}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('fragsim')
    ap.add_argument('folders', nargs='+')
    ap.add_argument('-v', action='store_true')
    ap.add_argument('--only', default='')
    a = ap.parse_args()
    rep = Report(a.v)
    judge(rep, a.fragsim, sorted(p for d in a.folders for p in glob.glob(os.path.join(d, '*.truth.json'))
                                 if a.only in os.path.basename(p)))
    print(f'\n{"sentence":12} right  wrong  withheld')
    for k, c in sorted(rep.kinds.items()):
        print(f'{k:12} {c["right"]:5} {c["wrong"]:6} {c["withheld"]:9}')
    print(f'{100 * (1 - rep.unknown / max(rep.bytes, 1)):.1f} % of {rep.bytes / 2**20:.0f} MiB have a class')
    r = {k: len(v) for k, v in rep.rows.items()}
    print(f'{r["right"]} right, {r["wrong"]} wrong, {r["withheld"]} withheld; first wrong: {(rep.rows["wrong"] or ["none"])[0]}')
    return r['wrong'] > 0


if __name__ == '__main__':
    sys.exit(main())
