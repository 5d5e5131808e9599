"""run.py - the Python module and its pytest plugin, around the built program; prints TAP.

    run.py PROGRAM [installed]

No pip and no package is needed: the module is used where it lies, unless it is said to be
installed. What needs pytest is skipped where there is none.
"""
import doctest
import gzip
import importlib.util
import io
import json
import os
import pickle
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
WHERE = [] if sys.argv[2:] == ['installed'] else [str(ROOT / 'python')]
sys.path[:0] = [str(ROOT / 'tests' / 'support'), *WHERE]
sys.dont_write_bytecode = True
from program import HEAVY  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
MIB = 1 << 20
# one block of 5 MiB and one of 1 MiB, 3 bytes short each; the peak is at the second
EVENTS = [{'op': 'alloc', 'id': 1, 'size': 5 * MIB - 3}, {'op': 'mark', 'name': 'half'},
          {'op': 'alloc', 'id': 'b', 'size': MIB - 3}, {'op': 'free', 'id': 1}]
PEAK = 6 * MIB - 6
LINES = b'{"format":"fragsim-trace","version":1}\n' + b''.join(
    json.dumps(x).encode() + b'\n' for x in EVENTS)


def raised(kind, call):
    try:
        call()
    except kind as error:
        return error
    return None


def snapshot():
    """One segment of 20 MiB, as torch.cuda.memory._snapshot() has it; two events."""
    block = {'size': 20 * MIB, 'requested_size': 20 * MIB, 'address': 1 << 30,
             'state': 'active_allocated', 'frames': []}
    trace = [{'action': action, 'addr': 1 << 30, 'size': 20 * MIB, 'stream': 0, 'time_us': t,
              'frames': []} for t, action in enumerate(('segment_alloc', 'alloc'))]
    return {'segments': [{'device': 0, 'address': 1 << 30, 'total_size': 20 * MIB, 'stream': 0,
                          'segment_type': 'large', 'allocated_size': 20 * MIB, 'active_size': 20 * MIB,
                          'requested_size': 20 * MIB, 'segment_pool_id': (0, 0), 'is_expandable': False,
                          'frames': [], 'blocks': [block]}],
            'device_traces': [trace], 'allocator_settings': {}, 'external_annotations': []}


def test_traces(fragsim, folder):
    """The same events in every guise have the same peak, which is arithmetic."""
    path = folder / 'trace.ndjson'
    path.write_bytes(LINES)
    odd = folder / '-odd.ndjson'
    odd.write_bytes(LINES)
    made = {'a path': lambda: str(path), 'a Path': lambda: path, 'bytes': lambda: LINES,
            'compressed bytes': lambda: gzip.compress(LINES), 'a bytearray': lambda: bytearray(LINES),
            'a file': lambda: io.BytesIO(LINES), 'a text file': lambda: io.StringIO(LINES.decode()),
            'a list': lambda: EVENTS, 'a generator': lambda: (x for x in EVENTS),
            'events with a header': lambda: [{'format': 'fragsim-trace', 'version': 1}, *EVENTS],
            'an object': lambda: {'format': 'fragsim-trace', 'version': 1, 'events': EVENTS}}
    for what, make in made.items():
        one, two = fragsim.run(make(), policy=['direct', 'bestfit'])
        rows = two.steps()
        rows = rows if isinstance(rows, list) else rows.to_dict('records')
        TAP.result(f'{what} is a trace', [
            f'{name}: {got}, not {wanted}' for name, got, wanted in (
                ('peak', one.peak.requested, PEAK), ('policy', two['policy']['name'], 'bestfit'),
                ('rows', [x['requested'] for x in rows],
                 [5 * MIB - 3, 5 * MIB - 3, PEAK, MIB - 3])) if got != wanted])
    os.chdir(folder)
    TAP.ok(fragsim.run('-odd.ndjson')[0].peak.requested == PEAK, 'a path may begin with -')
    os.chdir(ROOT)
    error = raised(fragsim.FragsimError, lambda: fragsim.run([]))
    TAP.ok(error and 'no events' in str(error), 'no events are the program\'s to refuse', repr(error))
    result = fragsim.run(snapshot())
    TAP.ok(result[0].policy.name == 'pytorch' and result[0].peak.reserved == 20 * MIB,
           'what torch.cuda.memory._snapshot() returns is a trace', result.document)
    TAP.ok(fragsim.run(pickle.dumps(snapshot()))[0].peak.reserved == 20 * MIB, 'so is its pickle')
    for bad, word in ((3, 'int'), (['a'], 'str'), ({'a': 1}, 'snapshot'), (None, 'NoneType'),
                      ([{'op': 'alloc', 'id': 1, 'size': {1}}], 'set')):
        error = raised(TypeError, lambda bad=bad: fragsim.run(bad))
        TAP.ok(error and word in str(error), f'{bad!r} is none', repr(error))
    TAP.ok(raised(ZeroDivisionError, lambda: fragsim.run({'op': 1 // 0} for _ in '1')),
           'what a generator raises comes through')


def test_results(fragsim):
    runs = fragsim.run(EVENTS, policy=['direct', 'pytorch'], alloc_conf='expandable_segments:True',
                       device='1GiB')
    first = runs[0]
    TAP.result('members are attributes', [x for x, good in (
        ('runs', len(runs) == 2 and runs[1].policy.params.expandable_segments is True),
        ('marks', [m.name for m in first.marks] == ['half']),
        ('device', first.device.total_bytes == 1 << 30),
        ('dict', isinstance(first, dict) and json.loads(json.dumps(first)) == first),
        ('document', runs.document.format == 'fragsim-result' and runs.document.runs == list(runs)),
        ('report', str(runs).startswith(('FITS', 'ALL FIT'))),
        ('status', runs.exit_status == 0 and runs.warnings == [])) if not good])
    error = raised(AttributeError, lambda: first.peak.reservd)
    TAP.ok(error and 'did you mean reserved' in str(error), 'a wrong one is named', repr(error))
    ends = fragsim.run(EVENTS, policy=['pytorch', 'direct'],
                       alloc_conf=['', 'expandable_segments:True', 'max_split_size_mb:64'])
    TAP.ok([len(x.steps()) for x in (*runs, *ends)] == [4] * 6, 'each run has its rows')
    html = runs._repr_html_()
    TAP.ok(html.count('<tr>') == 3 and '6.00 MiB' in html and 'direct' in html,
           'a notebook shows a table', html)
    hurt = fragsim.run(EVENTS, policy='direct')
    hurt[0]['policy']['text'] = '<b>'
    TAP.ok('<b>' not in hurt._repr_html_() and '&lt;b&gt;' in hurt._repr_html_(), 'which is escaped')
    failed = fragsim.run(EVENTS, policy='direct', device=4 * MIB)
    TAP.ok(failed[0].status == 'oom' and failed.exit_status == 3, 'an out-of-memory is a result')
    quiet = fragsim.run(EVENTS, policy='direct', quiet=True)
    TAP.ok(quiet.report == '' and quiet.document.runs[0].answer is None
           and runs.document.runs[0].answer, 'quiet=True looks for no answer')
    two = [{**x, 'device': d, 'id': f'{d}{x.get("id")}', 'size': x.get('size', 1) * (d + 1)}
           for d in (0, 1) for x in EVENTS if x['op'] == 'alloc']
    head = {'format': 'fragsim-trace', 'version': 1, 'devices': [{}, {}]}
    for run in fragsim.run([head, *two], policy=['direct', 'bestfit']):
        rows = run.steps()
        rows = rows if isinstance(rows, list) else rows.to_dict('records')
        TAP.ok([x['requested'] for x in rows] == [(5 * MIB - 3) * (run.device.ordinal + 1),
                                                  PEAK * (run.device.ordinal + 1)],
               f'rows of {run.policy.name} on device {run.device.ordinal}', rows)


def test_commands(fragsim, folder):
    fits = fragsim.fit(EVENTS, policy='direct').fits[0]
    # direct obtains each block by itself, in pages of 2 MiB: 6 and 2
    TAP.ok(fits.smallest == 8 * MIB, 'fit', fits)
    none = fragsim.fit(EVENTS, policy='direct', up_to='4194304B')
    TAP.ok(none.fits[0].smallest is None and none.exit_status == 1, 'fit that finds none', none)
    ranked = fragsim.fit(EVENTS, settings='short')
    TAP.ok(ranked.recommended.reliable <= ranked.fits[0].reliable, 'fit of settings', ranked)
    why = fragsim.explain(EVENTS, policy='direct', device=7 * MIB)
    TAP.ok(why.format == 'fragsim-explain' and str(why).startswith('OOM: 1.00 MiB requested in "half"'), 'explain', why)
    said = fragsim.explain_message('CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a'
                                   ' total capacity of 16.00 GiB of which 1.00 GiB is free.')
    TAP.ok(said['messages'][0].asked == 2 << 30, 'explain_message', said)
    steps = [x for i in range(8) for x in (
        {'op': 'mark', 'name': f'step {i}'}, {'op': 'alloc', 'id': f'k{i}', 'size': MIB, 'tag': 'kept'},
        {'op': 'alloc', 'id': f't{i}', 'size': 3 * MIB}, {'op': 'free', 'id': f't{i}'})]
    lost = fragsim.leaks(steps)
    TAP.ok(str(MIB) in json.dumps(lost) and 'kept' in json.dumps(lost), 'leaks', lost)
    about = fragsim.trace.info(EVENTS)
    TAP.ok((about.events, about.ops.alloc, about.devices[0].peak_live_bytes) == (4, 2, PEAK),
           'trace.info', about)
    sizes = {n: [{'op': 'alloc', 'id': 1, 'size': n * MIB}, {'op': 'free', 'id': 1}] for n in (2, 4)}
    more = fragsim.predict(sizes, at=8, policy='direct')
    TAP.ok(str(8 * MIB) in json.dumps(more), 'predict', more)
    more = fragsim.predict(sizes[4], policy='direct', scale='1/2')
    TAP.ok(more.changed.requested == 2 * MIB, 'predict a change', more)
    head = {'format': 'fragsim-trace', 'version': 1,
            'meta': {'scope': {'begins': 'late', 'ends': 'cut', 'before': None, 'lost': 7}}}
    part, both = fragsim.fit([head, *EVENTS]).scope, fragsim.fit([head, *EVENTS], EVENTS).scope
    TAP.ok(isinstance(part, fragsim.Scope) and (part.begins, part.ends, part.before, part.lost, part.grows)
           == ('late', 'cut', None, 7, None) and not part.is_whole, 'a scope is a value', part)
    TAP.ok([x.is_whole for x in both] == [False, True], 'several are a list', both)
    TAP.ok(fragsim.run([head, *EVENTS], policy='direct')[0].bound == 'at_least', 'runs have a bound')
    TAP.ok(fragsim.ranks(EVENTS, EVENTS, iter(EVENTS), policy='direct').compared == 3,
           'ranks of traces in memory')
    both = fragsim.diff(EVENTS, policy=['direct', 'bestfit'])
    TAP.ok([x.policy for x in both.summary] == ['direct', 'bestfit'], 'diff', both)
    for name, size in (('old.log', 15), ('new.log', 17)):
        (folder / name).write_text(f'Model loading took {size}.0 GiB and 3 seconds\n', encoding='utf-8')
    both = fragsim.diff(folder / 'old.log', folder / 'new.log')
    TAP.ok([(x.who, x.change) for x in both.changes] == [('vLLM: weights', 2 << 30)], 'diff of two logs', both)
    path, base = folder / 'd.ndjson', folder / 'base.json'
    path.write_bytes(LINES)
    fragsim.diff(path, policy='direct', baseline=base, update_baseline=True)
    passed = fragsim.diff(baseline=base, gate=True).gate.verdict
    path.write_bytes(LINES.replace(b'5242877', b'9242877'))
    error = raised(fragsim.ConditionError, lambda: fragsim.diff(baseline=base, gate=True))
    TAP.ok(passed == 'passed' and error and error.result.gate.verdict == 'broken'
           and error.status == 1, 'diff with a baseline', passed, repr(error))


def test_products(fragsim, folder):
    """What the other commands write: known by counting, or by reading it back."""
    made = fragsim.plan(EVENTS)
    TAP.ok(made.format == 'fragsim-placement' and str(made).strip(), 'plan', made)
    TAP.ok(any(x.key == 'h100-80gb' for x in fragsim.cards().cards), 'cards', repr(fragsim.cards()))
    TAP.ok('pytorch' in json.dumps(fragsim.policies()), 'policies')
    TAP.ok(any(x.key == 'max_split_size_mb' for x in fragsim.settings().settings), 'settings')
    same = fragsim.verify(snapshot())
    TAP.ok(same.exit_status == 0 and same.report, 'verify', same.report, same.exit_status)
    runs = fragsim.sweep(EVENTS, output=folder / 'swept', policy=['direct', 'bestfit'])
    TAP.ok(len(runs) == 2, 'sweep', runs)
    fsb = fragsim.trace.convert(EVENTS, folder / 'x.fsb')
    TAP.ok(fragsim.trace.info(fsb).events == 4, 'trace.convert')
    TAP.ok(fragsim.trace.info(fragsim.trace.slice(fsb, folder / 'y.ndjson', to_step=2)).events == 2, 'trace.slice')
    both = fragsim.trace.merge(fsb, EVENTS, output=folder / 'z.fsb')
    TAP.ok(fragsim.trace.info(both).ops.alloc == 4, 'trace.merge')
    hidden = fragsim.trace.anonymize(EVENTS, folder / 'a.ndjson')
    TAP.ok('half' not in Path(hidden).read_text(), 'trace.anonymize')
    less = fragsim.trace.shrink(EVENTS, folder / 's.ndjson', policy='direct', device_bytes='4MiB')
    TAP.ok(fragsim.run(less, policy='direct', device=4 * MIB)[0].status == 'oom', 'trace.shrink')
    TAP.ok(fragsim.trace.info(fragsim.trace.gen('qkv', folder / 'g.ndjson')).events > 0, 'trace.gen')
    error = raised(fragsim.FragsimError, lambda: fragsim.trace.convert('nope', folder / 'n.fsb'))
    TAP.ok(error and error.status == 4 and not (folder / 'n.fsb').exists(), 'one that fails leaves nothing', repr(error))


def test_looks(fragsim):
    """What an interactive session shows: one line; str() is the answer, to_dict() plain."""
    why = fragsim.explain(EVENTS, policy='direct', device=7 * MIB)
    runs = fragsim.run(EVENTS, policy='direct')
    for it, start in ((why, '<fragsim-explain: OOM: 1.00 MiB requested'), (runs, '<1 run: NO LIMIT'),
                      (runs[0], '<direct on device 0: fits, '), (fragsim.explain(EVENTS, device=7 * MIB, quiet=True),
                                                                 '<fragsim-explain: no text>')):
        TAP.ok(repr(it).startswith(start) and len(repr(it)) < 200, f'repr: {start}', repr(it)[:300])
    TAP.ok(type(why.to_dict()['moments'][0]) is dict and why.to_dict() == why, 'to_dict')
    TAP.ok(set(fragsim.__all__) <= set(dir(fragsim)) and not [x for x in dir(fragsim) if x[0] == '_' and x[:2] != '__'],
           'dir() has what is public', dir(fragsim))
    TAP.ok(not [x for x in dir(fragsim.trace) if x[0] != '_' and x not in fragsim.trace.__all__],
           'dir() of fragsim.trace, too', dir(fragsim.trace))
    TAP.ok(all(getattr(fragsim, x) for x in dir(fragsim)), 'and each of it is there')


def test_screens(fragsim):
    """A notebook: the first screen, rows as frames, and plots, by packages that may be absent."""
    why = fragsim.explain([*EVENTS[:-1], {'op': 'alloc', 'id': 3, 'size': 9 * MIB, 'tag': '<b>'}], policy='direct',
                          device=7 * MIB)
    html, (head, *rows) = why._repr_html_(), str(why).split('\n\n', maxsplit=1)[0].splitlines()
    labels = ('verdict', 'request', 'also fits')
    TAP.ok(html.startswith(f'<p><b>{escape(head)}</b></p><table>') and html.count('<tr>') == len(rows)
           and all(f'>{x}</th>' in html for x in labels) and html.count('<b>') == 1,
           'the first screen has the headline and a row for each line', html, why.report)
    TAP.ok(fragsim.verify(snapshot())._repr_html_(), 'an answer of another form is shown, too')
    rows = fragsim.run(EVENTS, policy=['direct', 'bestfit']).frame()
    columns = rows[0].keys() if isinstance(rows, list) else list(rows.columns)
    values = [x['peak.requested'] for x in rows] if isinstance(rows, list) else list(rows['peak.requested'])
    TAP.ok(values == [PEAK, PEAK] and 'policy.text' in columns, 'a frame of runs', columns)
    fits = fragsim.fit(EVENTS, policy=['direct', 'bestfit'])
    TAP.ok(len(fits.frame('fits')) == 2, 'a frame of the rows of a document', fits)
    TAP.ok(all(raised(KeyError, lambda x=x: fits.frame(*x)) for x in (('nothing',), ('format',), ('fits', 9), ())),
           'there is no such list')
    if not importlib.util.find_spec('matplotlib'):
        TAP.skip('plots', 'no matplotlib here')
        return
    os.environ['MPLBACKEND'] = 'agg'
    runs = fragsim.run(EVENTS, policy=['direct', 'bestfit'])
    for axes, count in ((runs.plot(), 2), (runs[0].plot(), 3)):
        TAP.ok([len(x.get_xdata()) for x in axes.lines] == [4] * count, f'a plot of {count} lines', axes.lines)


WRONG = {'fits.recommended.alloc_confg': 'alloc_confg', 'fits.fits[0].smalest': 'smalest', 'runs[0].peak.reservd': 'reservd',
         'fragsim.cards().cards[0].byte': 'byte', 'fragsim.runn("x")': 'runn', 'fragsim.watch(caugth=True)': 'caugth'}


def test_types(folder):
    """A type checker finds wrong members, and no others."""
    if not importlib.util.find_spec('mypy'):
        TAP.skip('types', 'no mypy here')
        return
    sample, config = folder / 'sample.py', folder / 'mypy.ini'
    config.write_text('[mypy]\n[mypy-pandas.*,matplotlib.*]\nfollow_imports = skip\n', encoding='ascii')  # minutes of work
    good = ('import fragsim\nfits = fragsim.fit("x")\nruns = fragsim.run("x", device="24GiB")\n'
            'assert fits.recommended\ntext: str | None = fits.recommended.alloc_conf\nbytes_: int = runs[0].peak.reserved\nrows = fits.frame("fits")\n'
            'fragsim.watch(every=1000)\n')
    for body, wanted in (('', 0), ('\n'.join(WRONG), len(WRONG))):
        sample.write_text(good + body + '\n', encoding='ascii')
        child = python('-m', 'mypy', '--strict', '--config-file', str(config), '--cache-dir', str(folder / 'mypy'), str(sample),
                       cwd=folder)
        out = child.communicate(timeout=300)[0]
        lines = [x for x in out.splitlines() if x.startswith('sample.py:') and ': error: ' in x]
        TAP.ok(len(lines) == wanted and all(any(x in line for line in lines) for x in (WRONG.values() if body else ())),
               f'mypy --strict finds {wanted} wrong members', out)


def test_errors(fragsim, program, folder):
    for call, status, word in ((lambda: fragsim.run('nope.ndjson'), 4, 'nope.ndjson: No such file'),
                               (lambda: fragsim.run(EVENTS, device='h1000'), 2, 'no card "h1000"'),
                               (lambda: fragsim.run(EVENTS, policy='best'), 2, 'bestfit'),
                               (lambda: fragsim.run(EVENTS, devise=1), 2, '--devi'),
                               (lambda: fragsim.run(b'what'), 4, 'standard input'),
                               (lambda: fragsim.run('a\0b'), 2, 'null byte'),
                               (lambda: fragsim.run('\ud800'), 2, 'surrogates'),
                               *((lambda t=t: fragsim.explain_message(t), 2, 'not a character, at')
                                 for t in ('\udcff', 'out of memory \ud800')),
                               *((lambda f=f, o=o: f(EVENTS, **o), 2, 'not an option of a function')
                                 for f in (fragsim.run, fragsim.fit, fragsim.trace.info)
                                 for o in ({'json': str(folder / 'written')}, {'help': True}, {'json': '-'})),
                               (lambda: fragsim.run(endless(), timeout=0.5), 130, 'not done after 0.5 seconds'),
                               *((lambda t=t: fragsim.run(EVENTS, timeout=t), 2, f'timeout={t!r}')
                                 for t in (0, -1, float('nan'), float('inf'), 1e300, 'soon', [])),
                               (lambda: without_temporary(fragsim), 6, '/none/fragsim-')):
        error = raised(fragsim.FragsimError, call)
        TAP.ok(error and error.status == status and not Path(folder, 'written').exists()
               and word in str(error) and '\n' not in str(error)
               and not str(error).startswith('fragsim:'), f'an error of status {status}: {word}',
               repr(error))
    error = raised(fragsim.ConditionError, lambda: fragsim.run(
        EVENTS, policy='direct', fail_if=['peak.requested > 1MiB', 'peak.segments > 9']))
    TAP.ok(error and error.status == 1 and error.result[0].peak.requested == PEAK
           and 'peak.requested > 1MiB' in str(error) and 'segments' not in str(error),
           'a condition that holds is an error with the results', repr(error))
    big = (b'{"op":"alloc","id":%d,"size":1}\n' % i for i in range(10 ** 9))
    error = raised(fragsim.FragsimError, lambda: fragsim.run(io.BufferedReader(Endless(big))))
    TAP.ok(error and error.status == 4, 'a program that stops reading says why', repr(error))
    os.environ['FRAGSIM'] = str(folder / 'none')
    error = raised(fragsim.FragsimError, lambda: fragsim.run(EVENTS))
    TAP.ok(error and error.status == 127 and 'none: No such file' in str(error),
           'a program that is not there', repr(error))
    killed = folder / 'killed'
    killed.write_text('#!/bin/sh\nkill -SEGV $$\n', encoding='ascii')
    killed.chmod(stat.S_IRWXU)
    os.environ['FRAGSIM'] = str(killed)
    error = raised(fragsim.FragsimError, lambda: fragsim.run('x'))
    TAP.ok(error and error.status == -signal.SIGSEGV and 'signal 11' in str(error),
           'a program that crashes', repr(error))
    os.environ['FRAGSIM'] = program


def test_timeout(fragsim):
    rows = []
    fault = raised(fragsim.FragsimError, lambda: rows.extend(rows_of(fragsim.run(EVENTS, timeout=60)[0])))
    TAP.ok(not fault and len(rows) == len(rows_of(fragsim.run(EVENTS)[0])),
           'a run with a timeout has its steps', fault)
    TAP.ok(fragsim.trace.info(EVENTS, timeout='60').exit_status == 0, 'a timeout may be text')


def stages(said):
    """The calls of a function given as progress, one list for each thing that was counted."""
    parts = []
    for done, total, what in said:
        last = parts[-1][-1] if parts else None
        if not last or what != last[2] or done < last[0] or last[1] not in (None, total):
            parts.append([])
        parts[-1].append((done, total, what))
    return parts


class Stop(Exception):
    """What a function given as progress may raise."""


def children():
    return set(Path(f'/proc/self/task/{os.getpid()}/children').read_text(encoding='ascii').split())


def test_progress(fragsim, program, folder):
    """One way up to the total of each thing that is counted, also with --quiet, and an end where the function raises."""
    trace, count = fragsim.example_trace(), 150000
    size = os.path.getsize(trace)
    calls = {'run': (lambda f: fragsim.run(trace, quiet=True, progress=f), ['bytes'], size),
             'fit': (lambda f: fragsim.fit(trace, progress=f), ['bytes', 'fits'], None),
             'plan': (lambda f: fragsim.plan(trace, progress=f), ['bytes', 'policies'], 3),
             'predict': (lambda f: fragsim.predict({1: trace, 2: trace}, at=3, progress=f), ['bytes', 'simulations'], 2),
             'diff': (lambda f: fragsim.diff(trace, trace, policy=['direct', 'buddy'], progress=f), ['traces'], 2),
             'ranks': (lambda f: fragsim.ranks(trace, trace, progress=f), ['ranks'], 2),
             'sweep': (lambda f: fragsim.sweep(trace, output=folder / 'told', policy=['direct', 'buddy'], progress=f),
                       ['bytes', 'runs'], 2),
             'steps': (lambda f: fragsim.run(trace, quiet=True, progress=f)[0].steps(), ['bytes'], size),
             'run of a generator': (lambda f: fragsim.run(
                 ({'op': 'alloc', 'id': i, 'size': 1} for i in range(count)), policy='direct', quiet=True, progress=f),
                 ['events'], count)}
    for name, (call, things, end) in calls.items():
        said = []
        call(lambda *step, said=said: said.append(step))
        parts = stages(said)
        TAP.ok(parts and sorted({x[-1][2] for x in parts}) == things and all(x == sorted(x, key=lambda y: y[0]) for x in parts)
               and all(x[-1][0] == x[-1][1] for x in parts) and end in (None, parts[-1][-1][0]),
               f'progress of {name} goes up to the total', said)

    def fail(*_):
        raise Stop('enough')
    before = children()
    error = raised(Stop, lambda: fragsim.run(endless(), progress=fail))
    other = raised(Stop, lambda: fragsim.fit(trace, progress=fail))
    TAP.ok(str(error) == str(other) == 'enough' and children() == before, 'what the function raises ends the program',
           repr(error), repr(other), children())
    wrong = raised(fragsim.FragsimError, lambda: fragsim.run(trace, progress=3))
    TAP.ok(wrong and wrong.status == 2 and 'progress=3' in str(wrong), 'progress=3 is neither', repr(wrong))
    test_progress_shown(folder)
    for text, word in (('99', 'Bad file descriptor'), ('2', 'from 3 on'), ('x', 'from 3 on'), ('0', 'from 3 on')):
        done = subprocess.run([program, 'list', 'cards'], env={**os.environ, 'FRAGSIM_PROGRESS_FD': text},
                              capture_output=True, text=True, check=False)
        TAP.ok(done.returncode == 2 and word in done.stderr and done.stderr.count('\n') == 1 and not done.stdout,
               f'FRAGSIM_PROGRESS_FD={text} is an error', done)
    with open(folder / 'told' / 'manifest.json', 'rb') as file:
        done = subprocess.run([program, 'list', 'cards'], env={**os.environ, 'FRAGSIM_PROGRESS_FD': str(file.fileno())},
                              pass_fds=[file.fileno()], capture_output=True, text=True, check=False)
    TAP.ok(done.returncode == 2 and 'cannot be written' in done.stderr, 'so is one for reading', done)


def test_progress_shown(folder):
    """progress=True: lines of standard error, or tqdm where there is one; here a stand-in."""
    without = folder / 'without' / 'tqdm'
    made = folder / 'made' / 'tqdm'
    for place in (without, made):
        place.mkdir(parents=True)
    (without / '__init__.py').write_text('raise ImportError("none")\n', encoding='ascii')
    (made / '__init__.py').write_text('', encoding='ascii')
    (made / 'auto.py').write_text(
        'class tqdm:\n'
        '    def __init__(self, total, desc, unit, unit_scale):\n'
        '        self.total, self.n, self.unit = total, 0, unit\n'
        '    def update(self, more):\n'
        '        self.n += more\n'
        '    def close(self):\n'
        '        print("bar", self.n, self.total, self.unit)\n', encoding='ascii')
    for place, wanted in ((without.parent, ('', 'fragsim: 55,933 of 55,933 bytes\nfragsim: 3 of 3 policies\n')),
                          (made.parent, ('bar 55933 55933  bytes\nbar 3 3  policies\n', ''))):
        code = (f'import sys; sys.path.insert(0, {str(place)!r})\n'
                'import fragsim; fragsim.plan(fragsim.example_trace(), progress=True)')
        got = python('-c', code).communicate(timeout=60)
        TAP.ok(got == wanted, f'progress=True {"with" if wanted[0] else "without"} tqdm', got)


def rows_of(run):
    steps = run.steps()
    return steps if isinstance(steps, list) else steps.to_dict('records')


def endless():
    number = 0
    while True:
        number += 1
        yield {'op': 'alloc', 'id': number, 'size': 1}


def without_temporary(fragsim):
    before, tempfile.tempdir = tempfile.tempdir, '/none'
    try:
        return fragsim.run(EVENTS)
    finally:
        tempfile.tempdir = before


class Endless(io.RawIOBase):
    """Bytes of a generator, begun with something that is no trace."""

    def __init__(self, parts):
        super().__init__()
        self.parts, self.first = parts, True

    def readable(self):
        return True

    def readinto(self, into):
        part = b'no trace at all\n' if self.first else next(self.parts)
        self.first = False
        into[:len(part)] = part
        return len(part)


def python(*words, **more):
    env = {**os.environ, 'PYTHONPATH': ':'.join(WHERE)}
    return subprocess.Popen([sys.executable, '-B', *words], env=env, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def test_interrupt():
    """One signal to Python alone, as a notebook's kernel gets it, while the program waits."""
    interrupt('', 'Ctrl-C is a KeyboardInterrupt')
    interrupt(', progress=lambda *_: None', 'and so it is with a function that is told of progress')


def interrupt(words, name):
    child = python('-c', 'import fragsim, time\n'
                   'def events():\n'
                   '    yield from ({"op": "alloc", "id": i, "size": 1} for i in range(100000))\n'
                   '    print("on", flush=True)\n'
                   # a signal just before a sleep is seen after it
                   '    for _ in range(1200):\n'
                   '        time.sleep(.05)\n'
                   'try:\n'
                   f'    fragsim.run(events(){words})\n'
                   'except KeyboardInterrupt:\n'
                   '    print("stopped")\n')
    assert child.stdout.readline() == 'on\n'
    below = Path(f'/proc/{child.pid}/task/{child.pid}/children').read_text(encoding='ascii').split()
    child.send_signal(signal.SIGINT)
    begun = time.monotonic()
    out, err = child.communicate(timeout=30)
    TAP.ok(out == 'stopped\n' and not err and len(below) == 1 and time.monotonic() - begun < 20,
           name, out, err, below)
    TAP.result('and leaves no program behind', [x for x in below if Path(f'/proc/{x}').exists()])


def test_program(program):
    out, err = python('-m', 'fragsim', '--version').communicate(timeout=30)
    direct = subprocess.run([program, '--version'], capture_output=True, text=True, check=True)
    TAP.ok(out == direct.stdout and not err, 'python -m fragsim is the program', out, err)
    child = python('-m', 'fragsim', 'run', 'nope')
    _, err = child.communicate(timeout=30)
    TAP.ok(child.returncode == 4 and err.startswith('fragsim: nope: '), 'with its status', err)


def test_examples(fragsim, folder):
    """Those of the module's own words, of the manual and of README.md."""
    page = (ROOT / 'man/fragsim-python.7').read_text(encoding='utf-8')
    TAP.result('the manual has every public name', [
        x for x in fragsim.__all__ if not re.search(rf'\b{x}\b', page)
        and x not in ('Document', 'Record', 'Results', 'Run', 'Scope', 'Trace')])
    TAP.result('each has its words', [x for x in fragsim.__all__ if x not in ('Trace', 'record')
                                      and not getattr(fragsim, x).__doc__])
    readme = (ROOT / 'README.md').read_text(encoding='utf-8')
    pages = {'the module': fragsim.__doc__,
             'fragsim-python(7)': page,
             'README.md': '\n'.join(re.findall(r'^```python\n(.*?)^```', readme, re.M | re.S))}
    (folder / 'traces').symlink_to(ROOT / 'traces')
    os.chdir(folder)
    for name, text in pages.items():
        # a line that begins with a macro ends an example
        text = re.sub(r'(?m)^\.\w.*$', '', text.replace(r'\&', '').replace(r'\e', '\\'))
        said = io.StringIO()
        test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        runner.run(test, out=said.write)
        TAP.ok(runner.tries and not runner.failures, f'the examples of {name}', said.getvalue(),
               f'{runner.tries} were tried')
    os.chdir(ROOT)


def test_plugin(folder):
    if not importlib.util.find_spec('pytest'):
        TAP.skip('the pytest plugin', 'no pytest here (python3-pytest)')
        return
    (folder / 'test_it.py').write_text('''
import pytest
EVENTS = [{"op": "alloc", "id": 1, "size": 5 << 20}]
mark = pytest.mark.gpu_memory
@mark("peak.requested == 5MiB", "peak.requested <= 5MiB", policy="direct")
def test_good(gpu_memory_trace): gpu_memory_trace(EVENTS)
@mark("peak.requested < 5MiB", policy="direct")
def test_more(gpu_memory_trace): gpu_memory_trace(EVENTS)
@mark("peak.requested < 9MiB", policy="direct", device="4MiB")
def test_oom(gpu_memory_trace): gpu_memory_trace(EVENTS)
@mark("peak.requested is 5")
def test_wrong(gpu_memory_trace): gpu_memory_trace(EVENTS)
@mark("peak.requested < 9MiB")
def test_empty(gpu_memory_trace): pass
@mark("peak.requested < 9MiB")
def test_unmeasured(): pass
@mark("peak.requested < 1MiB")
def test_itself(gpu_memory_trace): assert 1 == 2
def test_other(): pass
''', encoding='ascii')

    def pytest(*words):
        child = python('-m', 'pytest', *(['-p', 'fragsim.pytest_plugin'] * len(WHERE)), '-p', 'no:cacheprovider',
                       '-q', '-rA', *words, cwd=folder)
        return child.communicate(timeout=60)[0]

    out = pytest()
    ended = {name: word for word, name in re.findall(r'^(PASSED|FAILED) test_it.py::(\w+)', out, re.M)}
    TAP.ok(ended == {'test_good': 'PASSED', 'test_other': 'PASSED', **dict.fromkeys(
        ('test_more', 'test_oom', 'test_wrong', 'test_empty', 'test_itself'), 'FAILED')}
        and '1 skipped' in out, 'a mark is judged', ended, out)
    TAP.result('and says why', [x for x in (
        "peak.requested is 5.00 MiB (5,242,880 bytes), not as in 'peak.requested < 5MiB'", 'out of memory',
        "'peak.requested is 5' is no condition", 'gave it no trace', 'not measured')
        if x not in out], )
    chosen = ('--fragsim-baseline', 'base.json', '-k', 'good or other')
    first = pytest(*chosen, '--fragsim-update-baseline')
    same = pytest(*chosen)
    text = (folder / 'test_it.py').read_text(encoding='ascii')
    (folder / 'test_it.py').write_text(text.replace(
        '5 << 20', '9 << 20').replace('5MiB', '9MiB'), encoding='ascii')
    more = pytest(*chosen)
    TAP.ok('2 passed' in first and '2 passed' in same and '1 failed, 1 passed' in more
           and "fails 'peak.reserved > +0%'" not in same and "which fails 'peak.reserved > +0%'" in more,
           'a baseline is held', first, same, more)
    out = pytest('--fragsim-update-baseline')
    TAP.ok('passed' not in out, 'an update without a file is refused', out)


def test_project(folder):
    """A project with a limit and a baseline: what fails says so in GiB."""
    if not importlib.util.find_spec('pytest'):
        TAP.skip('a project with a limit', 'no pytest here (python3-pytest)')
        return
    place = folder / 'project'
    shutil.copytree(Path(__file__).with_name('project'), place)

    def pytest(*words):
        child = python('-m', 'pytest', *(['-p', 'fragsim.pytest_plugin'] * len(WHERE)), '-p', 'no:cacheprovider', *words,
                       cwd=place)
        return child.communicate(timeout=100)[0]

    base = ('--fragsim-baseline', 'baseline.json')
    first, same = pytest(*base, '--fragsim-update-baseline'), pytest(*base)
    TAP.ok('2 passed' in first and '2 passed' in same, 'a project within its limits', first, same)
    out = pytest('--batch', '16')       # 1 + 16 / 4 + 1 GiB
    TAP.ok('1 failed, 1 passed' in out and "peak.reserved is 6.00 GiB (6,442,450,944 bytes), not as in 'peak.reserved < 5GiB'"
           in out, 'a limit is broken', out)
    out = pytest('--batch', '9', *base)
    TAP.ok('1 failed, 1 passed' in out and 'is 4.25 GiB (4,563,402,752 bytes), 256.00 MiB (268,435,456 bytes) (6.25%) above 4.00 GiB'
           in out, 'a baseline is broken', out)


GATED = """
import os
import pytest
SIZES = eval(os.environ["SIZES"])
@pytest.mark.gpu_memory("peak.requested < 9GiB", policy="direct")
@pytest.mark.parametrize("name", ["x" * 300, "x" * 300 + "y", "a/b", "a b", "a_b", "a-b", "a:b", "\\u00e4\\u00df", "%2F"])
def test_it(gpu_memory_trace, name):
    size = SIZES.get(name, 10)
    assert size
    gpu_memory_trace([{"op": "alloc", "id": 1, "size": size << 20}])
"""
# pytest from 9.2 on calls the long ones by their place
NAMES = ['a/b', 'a b', 'a_b', 'a-b', 'a:b', '\u00e4\u00df', '%2F', 'x' * 300, 'x' * 300 + 'y']


def test_gate(folder):
    """A baseline is seen failing for each of its tests, whatever its name, and no other's."""
    if not importlib.util.find_spec('pytest'):
        TAP.skip('the gate of a baseline', 'no pytest here (python3-pytest)')
        return
    place = folder / 'gate'
    place.mkdir()
    (place / 'test_it.py').write_text(GATED, encoding='ascii')
    (place / 'test_two.py').write_text(GATED.replace('test_it', 'test_two'), encoding='ascii')

    def pytest(*words, **sizes):
        os.environ['SIZES'] = repr(sizes.get('sizes', {}))
        child = python('-m', 'pytest', *(['-p', 'fragsim.pytest_plugin'] * len(WHERE)), '-p', 'no:cacheprovider',
                       '-q', '--fragsim-baseline', 'base.json', *words, cwd=place)
        return child.communicate(timeout=100)[0]

    def known():
        return {x['path'] for x in json.loads((place / 'base.json').read_text(encoding='utf-8'))['traces']}

    update = '--fragsim-update-baseline'
    pytest(update, 'test_two.py')
    out = pytest('test_it.py')
    TAP.ok('9 passed' in out and 'tests without a baseline' in out and out.count('test_it[') == len(NAMES),
           'tests without a baseline are named', out)
    out = pytest(update)
    whole = known()
    TAP.ok('18 passed' in out and len(whole) == 18 and all(len(x.encode()) <= 200 for x in whole),
           'each test has a name of its own', out, whole)
    wrong = []
    for name in NAMES:
        out = pytest('test_it.py', sizes={name: 900})
        if '1 failed, 8 passed' not in out or 'peak.reserved > +0%' not in out:
            wrong += [name, out]
    TAP.result('a test that takes more fails, and no other does', wrong)
    for title, words, sizes, more in (
            ('-k updates what it chooses', ('-k', 'a_b'), {'a_b': 20}, 'a_b'),
            ('a test by its name updates that', ('test_it.py::test_it[a b]',), {'a b': 20}, 'a b'),
            ('a test that fails in an update keeps its entry', (), {'a-b': 0}, 'a-b')):
        pytest(update)
        pytest(update, *words, sizes=sizes)
        same, worse = known(), pytest('test_it.py', sizes={more: 30})
        TAP.ok(same == whole and '1 failed, 8 passed' in worse, title, same ^ whole, worse)
    text = (place / 'test_it.py').read_text(encoding='ascii')
    (place / 'test_it.py').write_text(text.replace('"a/b", ', ''), encoding='ascii')
    (place / 'test_two.py').unlink()
    pytest(update)
    TAP.ok(len(known()) == 8, 'entries of tests that are gone go', known())
    pytest(update)
    TAP.ok('8 passed' in pytest(), 'an update can be repeated')
    (place / 'test_it.py').write_text(text.replace('"a/b", ', '').replace('"a b", ', ''), encoding='ascii')
    out = pytest(update, sizes=dict.fromkeys(NAMES, 0))
    TAP.ok('passed' not in out and len(known()) == 7, 'so they do where no test passes', out, known())
    (place / 'test_typo.py').write_text("""
import pytest
@pytest.mark.gpu_memory("peak.reserved < 9GiB", polcy="direct")
def test_option(): pass
@pytest.mark.gpu_memory("peak.resrved < 9GiB")
def test_path(): pass
@pytest.mark.gpu_memory("peak.reserved < 9GiB", device="h1000-80gb")
def test_card(): pass
""", encoding='ascii')
    out = pytest('test_typo.py')
    TAP.ok('3 failed' in out, 'typos in a mark fail also where nothing is measured', out)


THREE = """
import os
import pytest
SIZES = eval(os.environ["SIZES"])
def of(name):
    assert SIZES.get(name, 10)
    return [{"op": "alloc", "id": 1, "size": SIZES.get(name, 10) << 20}]
mark = pytest.mark.gpu_memory
@mark("peak.requested < 9GiB", policy="direct")
def test_a(gpu_memory_trace): gpu_memory_trace(of("a"))
@mark("peak.requested < 9GiB", policy="bestfit")
def test_b(gpu_memory_trace): gpu_memory_trace(of("b"))
@mark("peak.requested < 9GiB")
def test_c(gpu_memory_trace): gpu_memory_trace(of("c"))
"""
TWICE = """
from _pytest.runner import runtestprotocol
def pytest_runtest_protocol(item, nextitem):
    for _ in range(2):
        item._initrequest()
        for report in runtestprotocol(item, nextitem=nextitem, log=False):
            item.ihook.pytest_runtest_logreport(report=report)
    return True
"""


def in_pytest(place):
    """A function that runs pytest there with a baseline."""
    def run(*words, **sizes):
        os.environ['SIZES'] = repr(sizes)
        child = python('-m', 'pytest', *(['-p', 'fragsim.pytest_plugin'] * len(WHERE)), '-p',
                       'no:cacheprovider', '-q', '--fragsim-baseline', 'base.json', *words, cwd=place)
        return ''.join(child.communicate(timeout=100))
    return run


def test_baseline_file(folder):
    """An update loses no entry, whatever the form of the file; a damaged file is left alone."""
    if not importlib.util.find_spec('pytest'):
        TAP.skip('the file of a baseline', 'no pytest here (python3-pytest)')
        return
    place = folder / 'file'
    place.mkdir()
    (place / 'test_three.py').write_text(THREE, encoding='ascii')
    base, pytest = place / 'base.json', in_pytest(place)
    chosen = ('--fragsim-update-baseline', '-k', 'test_a')

    def paths():
        return [x['path'] for x in json.loads(base.read_text(encoding='utf-8'))['traces']]

    def gated():
        return [x for x in 'abc' if '1 failed, 2 passed' not in pytest(**{x: 900})]

    pytest(chosen[0])
    text, known = base.read_text(encoding='utf-8'), paths()
    pytest(*chosen)
    TAP.ok(base.read_text(encoding='utf-8').count('\n') < text.count('\n') and paths() == known,
           'an update of one test leaves the order', paths())
    for indent in (None, 1, 8) if HEAVY else (8,):
        for sort in (False, True) if HEAVY else (True,):
            base.write_text(json.dumps(json.loads(text), indent=indent, sort_keys=sort), encoding='utf-8')
            out = pytest()
            pytest(*chosen)
            TAP.ok('without a baseline' not in out and paths() == known and not gated(),
                   f'a baseline in another layout: indent {indent}, sorted {sort}', out, paths())
    older = text.replace('"version": 2', '"version": 1', 1)
    for title, content in (('no JSON', '{broken'), ('a conflict', f'<<<<<<< HEAD\n{text}'), ('none', ''),
                           ('a list', '[]'), ('no traces', '{"format": "fragsim-baseline"}'),
                           ('text twice', text + text), ('bytes', '\udcff'), ('an older version', older)):
        base.write_text(content, encoding='utf-8', errors='surrogateescape')
        before, out = base.read_bytes(), pytest(*chosen)
        TAP.ok(base.read_bytes() == before and 'base.json: ' in out and 'INTERNALERROR' not in out
               and sorted(x.name for x in place.iterdir() if x.suffix == '.tmp') == [],
               f'an update leaves a damaged baseline alone: {title}', out)
    base.unlink()
    out = pytest()
    TAP.ok('3 failed' in out and 'base.json: there is no such file' in out and 'Traceback' not in out
           and '_program.py' not in out, 'without the file no test passes', out)
    base.mkdir()
    out = pytest(chosen[0])
    TAP.ok('INTERNALERROR' not in out and 'base.json: ' in out, 'a folder is no baseline', out)
    base.rmdir()
    (place / 'conftest.py').write_text(TWICE, encoding='ascii')
    first, same = pytest(chosen[0]), pytest()
    TAP.ok('6 passed' in first and '6 passed' in same and sorted(paths()) == sorted(known),
           'tests that run twice have one entry', first, same, paths())
    TAP.ok('2 failed, 4 passed' in pytest(b=900), 'and fail each time')


def test_marks(folder):
    """Conditions that only some traces can judge are right in a mark, measured or not."""
    if not importlib.util.find_spec('pytest'):
        TAP.skip('conditions of marks', 'no pytest here (python3-pytest)')
        return
    place = folder / 'marks'
    place.mkdir()
    conditions = ('fi.time_weighted_mean < 50', 'peak.device_free < 99GiB', 'last.device_free > 0',
                  'fi_device.max < 101', 'any < 9GiB', 'oom == 0', 'counts.retries == 0')
    (place / 'test_it.py').write_text("import pytest\n" + ''.join(
        f'@pytest.mark.gpu_memory({x!r}, context="1GiB")\ndef test_{i}(): pass\n'
        for i, x in enumerate(conditions)), encoding='ascii')
    out = in_pytest(place)()
    TAP.ok(f'{len(conditions)} skipped' in out and 'failed' not in out,
           'right marks of what is not measured are no errors', out)


def test_names(folder):
    """Entries of files with long names, of which a part is in the name of a test, are kept."""
    if not importlib.util.find_spec('pytest'):
        TAP.skip('long names of files', 'no pytest here (python3-pytest)')
        return
    place = folder / 'names'
    place.mkdir()
    long = 'test_' + '\u00e4' * 60 + '.py'
    for name in (long, 'test_two.py'):
        (place / name).write_text(THREE, encoding='ascii')
    pytest = in_pytest(place)
    pytest('--fragsim-update-baseline')
    pytest('--fragsim-update-baseline', 'test_two.py')
    TAP.ok('1 failed, 2 passed' in pytest(long, b=900), 'a file with a long name keeps its entries')
    done = python('-c', 'from fragsim.pytest_plugin import name_of; a, b = name_of("\\udcff"), name_of("\\ud800");'
                  ' print(a != b and a.isascii())').communicate(timeout=60)[0]
    TAP.ok(done.strip() == 'True', 'any character can be in the name of a test', done)


def test_recorded(folder):
    """The plugin records where torch says that it has CUDA; both are stand-ins here."""
    if not importlib.util.find_spec('pytest'):
        TAP.skip('tests that are recorded', 'no pytest here (python3-pytest)')
        return
    place = folder / 'recorded'
    place.mkdir()
    (place / 'torch.py').write_text('class cuda:\n    is_available = staticmethod(lambda: True)\n',
                                    encoding='ascii')
    (place / 'conftest.py').write_text('''
import pickle, sys, types
import test_steps
class record:
    path = None
    def __init__(self, name): self.name = name
    def __enter__(self): return self
    def __exit__(self, *_):
        if test_steps.did:
            self.path = self.name + ".pickle"
            open(self.path, "wb").write(pickle.dumps(test_steps.did.pop()))
sys.modules["fragsim.recording"] = types.SimpleNamespace(record=record)
''', encoding='ascii')
    (place / 'test_steps.py').write_text(f'''
import pytest
did = []
SNAPSHOT = {snapshot()!r}
@pytest.mark.gpu_memory("peak.reserved == 20MiB")
def test_step(): did.append(SNAPSHOT)
@pytest.mark.gpu_memory("peak.reserved < 20MiB")
class TestMore:
    @pytest.mark.gpu_memory("peak.reserved > 1MiB")
    def test_more(self): did.append(SNAPSHOT)
@pytest.mark.gpu_memory("peak.reserved < 1MiB")
def test_nothing(): pass
@pytest.mark.gpu_memory("peak.reserved < 1MiB")
def test_failing(): assert did
''', encoding='ascii')
    plugin = ['-p', 'fragsim.pytest_plugin'] * len(WHERE)
    out = python('-m', 'pytest', *plugin, '-p', 'no:cacheprovider', '-q', '-rA', cwd=place,
                 ).communicate(timeout=60)[0]
    ended = re.findall(r'^(PASSED|FAILED) test_steps.py::(\S+)', out, re.M)
    TAP.ok(sorted(ended) == [('FAILED', 'TestMore::test_more'), ('FAILED', 'test_failing'),
                             ('PASSED', 'test_step')] and 'nothing was recorded' in out
           and "not as in 'peak.reserved < 20MiB'" in out, 'tests are recorded and judged', out)


def main(argv):
    if len(argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    program = os.environ['FRAGSIM'] = str(Path(argv[1]).resolve())
    import fragsim
    TAP.ok(WHERE or 'site-packages' in fragsim.__file__, 'the module that is meant', fragsim.__file__)
    with tempfile.TemporaryDirectory(prefix='python-') as place:
        folder = Path(place)
        test_traces(fragsim, folder)
        test_results(fragsim)
        test_commands(fragsim, folder)
        test_products(fragsim, folder)
        test_looks(fragsim)
        test_screens(fragsim)
        test_types(folder)
        test_errors(fragsim, program, folder)
        test_interrupt()
        test_timeout(fragsim)
        test_progress(fragsim, program, folder)
        test_program(program)
        test_examples(fragsim, folder)
        test_plugin(folder)
        test_project(folder)
        test_gate(folder)
        test_baseline_file(folder)
        test_marks(folder)
        test_names(folder)
        test_recorded(folder)
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
