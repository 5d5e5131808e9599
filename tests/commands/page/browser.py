"""browser.py - pages to look at in a real browser: what is drawn, and what is asked for.

    browser.py PROGRAM [FOLDER]

Prints TAP; without a chromium it is skipped. Each page is opened, clicked, dragged over and zoomed
through the DevTools protocol, at a desk's width and a phone's. With a FOLDER the pictures stay there.
"""
import base64
import csv
import json
import os
import random
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from reading import facts_of, read  # noqa: E402
from tap import Tap  # noqa: E402

PROGRAM = str(Path(sys.argv[1]).resolve())
TRACES = Path(os.environ.get('TRACES') or Path(__file__).resolve().parents[3] / 'traces')
CHROMIUM = next(filter(None, map(shutil.which, ('chromium', 'chromium-browser', 'google-chrome'))),
                None)
PATIENCE = 90.0
CORPUS = Path(__file__).resolve().parents[2] / 'oracles/corpus'
TRAINING = TRACES / 'gpt2_small_train_bs16_varlen_ckpt.ndjson.gz'
SIX = ('pytorch', 'bestfit', 'firstfit', 'buddy', 'pytorch:expandable_segments=true', 'direct')
PAGES = {
    'out of memory by fragmentation': ('run', '-p', 'pytorch', '--device-bytes', '12GiB', TRAINING),
    'serving': ('run', '--device-bytes', '80GiB', TRACES / 'bert_base_infer_varlen.ndjson.gz'),
    'six policies': ('run', *(word for name in SIX for word in ('-p', name)),
                     '--device-bytes', '14GiB', TRAINING),
    'what to set': ('explain', '-p', 'pytorch', '--device-bytes', '12GiB', TRAINING),
    'two recordings': ('diff', TRACES / 'gpt2_small_train_bs8_seq1024.ndjson.gz',
                       TRACES / 'gpt2_small_train_bs8_seq1024_ckpt.ndjson.gz'),
    'the smallest device': ('fit', '-p', 'pytorch', '-p', 'bestfit', TRAINING),
}
TAP = Tap()


class Browser:
    """One page in a headless chromium, by messages over two pipes."""

    def __init__(self, folder: str) -> None:
        to_read, self.out = os.pipe()
        self.inward, to_write = os.pipe()

        def pipes() -> None:
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [CHROMIUM, '--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars',
             '--remote-debugging-pipe', f'--user-data-dir={folder}/profile', 'about:blank'],
            preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.number, self.events, self.session = b'', 0, [], None
        target = self.ask('Target.createTarget', url='about:blank')['targetId']
        self.session = self.ask('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in 'Page', 'Runtime', 'Log', 'Network':
            self.ask(f'{domain}.enable')

    def message(self) -> dict:
        end = time.monotonic() + PATIENCE
        while b'\0' not in self.buffer:
            if not select.select([self.inward], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError('the browser says nothing')
            got = os.read(self.inward, 1 << 20)
            if not got:
                raise EOFError('the browser has ended')
            self.buffer += got
        text, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(text)

    def ask(self, method: str, **params: object) -> dict:
        self.number += 1
        wanted = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            wanted['sessionId'] = self.session
        os.write(self.out, json.dumps(wanted).encode() + b'\0')
        while True:
            got = self.message()
            if got.get('id') == self.number:
                if 'error' in got:
                    raise RuntimeError(f'{method}: {got["error"]}')
                return got['result']
            self.events.append(got)

    def value(self, expression: str) -> object:
        got = self.ask('Runtime.evaluate', expression=expression, returnByValue=True,
                       awaitPromise=True)
        if 'exceptionDetails' in got:
            raise RuntimeError(f'{expression}: {got["exceptionDetails"]}')
        return got['result'].get('value')

    def open(self, path: str, width: int) -> None:
        self.events.clear()
        self.ask('Emulation.setDeviceMetricsOverride', width=width, height=900, deviceScaleFactor=1,
                 mobile=False)
        self.ask('Page.navigate', url=f'file://{path}')
        end = time.monotonic() + PATIENCE
        while self.value('document.documentElement?.dataset.ready') != 'yes':
            if time.monotonic() > end:
                raise TimeoutError('the page is never ready')
            time.sleep(0.1)

    def complaints(self) -> list[str]:
        """Errors, and requests beside that of the page itself."""
        said = []
        for event in self.events:
            method, params = event.get('method'), event.get('params', {})
            if method == 'Runtime.exceptionThrown':
                said.append(f'exception: {params["exceptionDetails"]}')
            elif method == 'Log.entryAdded' and params['entry']['level'] == 'error':
                said.append(f'log: {params["entry"]["text"]}')
            elif method == 'Runtime.consoleAPICalled' and params['type'] == 'error':
                said.append(f'console: {params["args"]}')
            elif method == 'Network.requestWillBeSent' and params.get('type') != 'Document':
                said.append(f'request: {params["request"]["url"]}')
        return said

    def mouse(self, kind: str, x: float, y: float, count: int = 1) -> None:
        self.ask('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', buttons=1,
                 clickCount=count)

    def drag(self, x: float, y: float, to: float) -> None:
        self.mouse('mousePressed', x, y)
        self.mouse('mouseMoved', (x + to) / 2, y)
        self.mouse('mouseMoved', to, y)
        self.mouse('mouseReleased', to, y)

    def box(self, canvas: int) -> dict:
        """Where a canvas is, brought into view."""
        return self.value(f'(() => {{ const c = document.querySelectorAll("canvas")[{int(canvas)}];'
                          ' c.scrollIntoView({block: "center"});'
                          ' const b = c.getBoundingClientRect();'
                          ' return {x: b.x, y: b.y, width: b.width, height: b.height}; })()')

    def pixels(self, canvas: int) -> str:
        return self.value(f'document.querySelectorAll("canvas")[{int(canvas)}].toDataURL()')

    def picture(self, path: Path) -> None:
        height = self.value('document.documentElement.scrollHeight')
        width = self.value('innerWidth')
        clip = {'x': 0, 'y': 0, 'width': width, 'height': height, 'scale': 1}
        got = self.ask('Page.captureScreenshot', clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(got['data']))

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def settle(b: Browser) -> None:
    """What has changed is drawn in the next frame, and tables come a little later."""
    b.value('new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => done(1))), 200))')


def press(b: Browser, key: str) -> None:
    text = {'text': key} if len(key) == 1 else {}
    b.ask('Input.dispatchKeyEvent', type='keyDown', key=key, **text)
    b.ask('Input.dispatchKeyEvent', type='keyUp', key=key)
    settle(b)


def wheel(b: Browser, x: float, y: float, turn: float) -> None:
    b.ask('Input.dispatchMouseEvent', type='mouseWheel', x=x, y=y, deltaX=0, deltaY=turn)
    settle(b)


def click(b: Browser, x: float, y: float) -> None:
    for kind in 'mousePressed', 'mouseReleased':
        b.mouse(kind, x, y)
    settle(b)


WINDOW = '(() => {{ const v = viewers[{}].view; return [v.from, v.to, v.step, v.end]; }})()'


def steer_faults(b: Browser, at: int, viewer: int) -> list[str]:
    """The wheel zooms a timeline and with it all pictures, a drag moves them; keys and clicks move the cursor."""
    faults = []
    box, before = b.box(at), b.pixels(at)
    middle = box['y'] + box['height'] / 2
    window = WINDOW.format(viewer)
    b.value(f'viewers[{viewer}].view.show(0, viewers[{viewer}].view.end)')
    wheel(b, box['x'] + box['width'] / 2, middle, -400)
    zoomed = b.value(window)
    if not zoomed[1] - zoomed[0] < 0.5 * zoomed[3] or b.pixels(at) == before:
        faults.append(f'the wheel does not zoom: {zoomed}')
    b.drag(box['x'] + box['width'] * 0.5, middle, box['x'] + box['width'] * 0.4)
    settle(b)
    moved = b.value(window)
    if not moved[0] > zoomed[0] or abs(moved[1] - moved[0] - zoomed[1] + zoomed[0]) > 1e-6 * zoomed[3]:
        faults.append(f'a drag moves {zoomed} to {moved}')
    click(b, box['x'] + 200, middle)
    words = b.value('document.querySelector(".figures").textContent')
    b.value(f'document.querySelectorAll("canvas")[{int(at)}].focus()')
    press(b, 'ArrowRight')
    if b.value('document.querySelector(".figures").textContent') == words:
        faults.append(f'an arrow does not move the step: {words}')
    now = b.pixels(at)
    press(b, '+')
    if b.pixels(at) == now:
        faults.append('+ does not zoom')
    press(b, '0')
    if b.value(window)[:2] != [0, b.value(window)[3]]:
        faults.append(f'0 shows {b.value(window)}')
    if not b.value('document.querySelector(".figures").textContent').startswith('event '):
        faults.append('no figures at the event')
    return faults


def brute_column(blocks: list, sums: list, level: int, column: int, least: int, end: int) -> tuple[int, list]:
    """The fullest event of a column, the first of several, and its stack: numbers of large blocks, bytes of the small between."""
    def rest(m: int) -> int:
        return next((most for step, most in reversed(sums) if step <= m), 0)
    events = range(column << level, min(end, (column + 1) << level))
    totals = [sum(size for birth, gone, size in blocks if birth <= m < gone) + rest(m) for m in events]
    moment = events[totals.index(max(totals))]
    stack: list = []
    for i, (birth, gone, size) in enumerate(blocks):
        if birth <= moment < gone:
            if size >= least:
                stack.append(['block', i])
            elif stack and stack[-1][0] == 'small':
                stack[-1][1] += size
            else:
                stack.append(['small', size])
    if rest(moment):
        stack.append(['rest', rest(moment)])
    return moment, stack


COLUMN = """(() => {{ const h = viewers[{viewer}].history, t = h.tile({level}, Math.floor({column} / 64), {least}, viewers[{viewer}].look);
    const out = [];
    for (let s = t.at[{column} - t.from]; s < t.at[{column} - t.from + 1]; s++) {{
        const kind = t.id[s] >= 0 ? 'block' : t.id[s] === -11 ? 'rest' : 'small', last = out[out.length - 1];
        if (kind === 'small' && last && last[0] === 'small') last[1] += t.bytes[s];
        else out.push([kind, kind === 'block' ? t.id[s] : t.bytes[s]]);
    }}
    return [h.topOf({level})[{column}], out]; }})()"""


def column_faults(b: Browser, run: dict, viewer: int, rng: random.Random) -> list[str]:
    """Columns of all levels and thresholds, hits and differences, as a brute force over the page's blocks has them."""
    a, faults = run['blocks'], []
    blocks = [(birth, birth + life, size) for birth, life, size in zip(a['birth'], a['life'], a['bytes'])]
    sums = list(zip(a['sum_step'], a['sum_most']))
    deepest = max(1, run['end']).bit_length()
    for _ in range(40):
        level = rng.randrange(0, min(deepest, 7))
        column, least = rng.randrange(0, max(1, run['end'] >> level)), 1 << rng.randrange(9, 27)
        found = b.value(COLUMN.format(viewer=viewer, level=level, column=column, least=least))
        wanted = brute_column(blocks, sums, level, column, least, run['end'])
        if found != [wanted[0], wanted[1]]:
            faults.append(f'column {column} of level {level} from {least} on: {str(found)[:200]}, not {str(wanted)[:200]}')
        moment = wanted[0]
        live = [(i, size) for i, (birth, gone, size) in enumerate(blocks) if birth <= moment < gone]
        height = rng.randrange(0, 1 + sum(size for _, size in live))
        hit = b.value(f'viewers[{viewer}].history.blockAt({moment}, {height})')
        below, right = 0, -1
        for i, size in live:
            below += size
            if below > height:
                right = i
                break
        if hit != right:
            faults.append(f'at {height} of event {moment} is block {hit}, not {right}')
    return faults + difference_faults(b, run, blocks, viewer, rng)


def difference_faults(b: Browser, run: dict, blocks: list, viewer: int, rng: random.Random) -> list[str]:
    """What is live at B and not at A, by tag."""
    faults = []
    for _ in range(40):
        # one is where a block begins or ends
        first, second = sorted((rng.choice(rng.choice(blocks)[:2]) % run['end'], rng.randrange(0, run['end'])))
        wanted: dict = {}
        for i, (birth, gone, size) in enumerate(blocks):
            tag = run['who']['share_tag'][run['blocks']['who'][i]]
            row = wanted.setdefault(tag, [0, 0, 0])
            if birth <= second < gone and not birth <= first < gone:
                row[0] += size
                row[1] += 1
            if birth <= first < gone and not birth <= second < gone:
                row[2] += size
        found = b.value(f'between(viewers[{viewer}].run, {first}, {second}).map((r) => [r.tag, r.fresh, r.blocks, r.gone])')
        if {r[0]: r[1:] for r in found} != {tag: row for tag, row in wanted.items() if any(row)}:
            faults.append(f'between {first} and {second}: {found[:3]}')
    return faults


def block_faults(b: Browser, facts: dict, viewer: int) -> list[str]:
    """A click on the block that covers most holds it in both pictures, with its tag, its size and its stack."""
    section = facts['sections'][b.value(f'viewers[{viewer}].section.number')]
    run, faults = section['runs'][0], []
    who = run['who']
    a = run['blocks']
    at = max(range(len(a['birth'])), key=lambda i: a['life'][i] * a['bytes'][i])
    moment = a['birth'][at] + a['life'][at] // 2
    tag = who['tags'][who['share_tag'][a['who'][at]]] or '(no tag)'
    b.value(f'viewers[{viewer}].view.show(0, viewers[{viewer}].view.end)')
    settle(b)
    for picture in 'blocks', 'map':
        b.value(f'viewers[{viewer}].{picture}.canvas.scrollIntoView({{block: "center"}})')
        b.value(f'viewers[{viewer}].hold(-1)')
        settle(b)
        x, y = b.value(f"""(() => {{ const v = viewers[{viewer}], p = v.{picture}, box = p.canvas.getBoundingClientRect(), h = v.history;
            const x = v.x(p, {moment} + 0.5), k = h.levelOf((v.view.to - v.view.from) / v.blocks.w);
            const m = h.topOf(k)[columnAt(v.view, p, h, k, x - p.left)];
            let below = v.run.blocks.y[{at}];
            if (p === v.blocks) {{
                below = 0;
                h.liveAt(m, (i) => {{ if (i === {at}) return true; below += v.run.blocks.bytes[i]; }});
            }}
            const range = p === v.blocks ? v.range : {{ low: 0, high: v.run.height }};
            return [box.x + x / p.r, box.y + v.y(p, range, below + v.run.blocks.bytes[{at}] / 2) / p.r]; }})()""")
        click(b, x, y)
        if b.value(f'viewers[{viewer}].look.held') != at:
            faults.append(f'{picture}: a click at {x:.0f}, {y:.0f} holds {b.value(f"viewers[{viewer}].look.held")}, not {at}')
            continue
        said = b.value(f'viewers[{viewer}].side.textContent')
        stack = who['stacks'][a['who'][at]]
        faults += [f'{picture}: {x!r} is not said: {said[:200]!r}' for x in (tag, *stack[:1]) if x not in said]
    held = b.value('location.hash').lstrip('#').split(',')
    if held[5] != str(at):
        faults.append(f'the address says {held}')
    b.value(f'viewers[{viewer}].blocks.canvas.focus()')
    press(b, 'Escape')
    faults += [f'Escape holds {x}' for x in [b.value(f'viewers[{viewer}].look.held')] if x != -1]
    # the events at the cursor: arrows go to the next, and it is there with what is live after it
    b.value(f'viewers[{viewer}].view.look({a["birth"][at]})')
    settle(b)
    rows = b.value(f'[...viewers[{viewer}].list.box.querySelectorAll("tr.at")].map((row) => row.textContent)')
    if not any('alloc' in row and tag in row for row in rows):
        faults.append(f'the event of the block is {rows}')
    b.value(f'viewers[{viewer}].list.box.focus()')
    step = b.value(f'viewers[{viewer}].view.step')
    press(b, 'ArrowDown')
    if not b.value(f'viewers[{viewer}].view.step') > step:
        faults.append('an arrow in the events does not go on')
    # a filter that nothing passes, and one that this block passes
    for text, count in (('no such thing', 0), (f'>{a["bytes"][at] - 1}', None)):
        b.value(f'viewers[{viewer}].setFilter({json.dumps(text)})')
        found = b.value(f'[...viewers[{viewer}].run.blocks.bytes.keys()].filter((i) => viewers[{viewer}].look.fits(i)).length')
        wanted = sum(size >= a['bytes'][at] - 1 for size in a['bytes']) if count is None else count
        if found != wanted:
            faults.append(f'{text}: {found} blocks, not {wanted}')
    b.value(f'viewers[{viewer}].setFilter("")')
    settle(b)
    return faults


def narrow_faults(b: Browser) -> list[str]:
    """Nothing but tables is wider than the window, and no row of an answer than its box."""
    wide = b.value('document.documentElement.scrollWidth - innerWidth')
    rows = b.value('[...document.querySelectorAll(".row")].filter((r) => r.scrollWidth > r.clientWidth).length')
    return [x for x in (wide > 0 and f'{wide} pixels too wide', rows and f'{rows} rows overflow') if x]


def first_faults(b: Browser) -> list[str]:
    """On a desk both runs, the one that fails and the one with its remedy, are on the first screen."""
    beside = b.value('(() => { const all = [...document.querySelectorAll("canvas")].slice(0, 2)'
                     '.map((c) => c.getBoundingClientRect());'
                     ' return [all[0].x, all[0].width, all[1].x, all[1].width, all[1].bottom]; })()')
    return [f'{beside}' for _ in [0] if beside[:2] != beside[2:4] or beside[4] > 900]


def check(b: Browser, folder: Path, name: str, words: tuple) -> None:
    path = folder / (name.replace(' ', '-') + '.html')
    command = [PROGRAM, words[0], '-q', *map(str, words[1:]), '-o', str(path)]
    assert subprocess.run(command, check=False).returncode in (0, 1, 3), command
    facts = read(path.read_text())
    for section in facts['sections']:
        runs = len(section['runs']) // max(1, len(section['who']))
        for i, run in enumerate(section['runs']):
            run['who'] = section['who'][i // max(1, runs)]
    for width in 1280, 400:
        b.open(str(path), width)
        b.picture(path.with_suffix(f'.{width}.png'))
        faults = first_faults(b) if width == 1280 and facts['sections'][0]['cured'] else []
        faults += narrow_faults(b) + steer_faults(b, 'fits' in facts['sections'][0], 0) + block_faults(b, facts, 0)
        if width == 1280:
            faults += column_faults(b, facts['sections'][b.value('viewers[0].section.number')]['runs'][0], 0, random.Random(name))
        TAP.result(f'{name}, {width} pixels wide', faults + b.complaints())


def check_place(b: Browser, folder: Path) -> None:
    """An address with a place opens there."""
    path = folder / 'serving.html'
    b.open(str(path), 1280)
    b.value('location.hash = "#0,0,200,700,300,5,210,600"')
    b.ask('Page.reload')
    settle(b)
    end = time.monotonic() + PATIENCE
    while b.value('document.documentElement?.dataset.ready') != 'yes' and time.monotonic() < end:
        time.sleep(0.1)
    TAP.same('the place in the address', b.value('(() => { const v = viewers[0].view; return [v.from, v.to, v.step, viewers[0].look.held, v.a, v.b];'
                                                 ' })()'), [200, 700, 300, 5, 210, 600])


def check_leak(b: Browser, folder: Path) -> None:
    """What each iteration keeps, in the page as in the answer: its blocks are of whole MiB, so block bytes rise as requested ones."""
    path = folder / 'leak.html'
    command = [PROGRAM, 'leaks', '-q', str(CORPUS / 'leak_hook.pickle.gz'), '-o', str(path), '--json', str(folder / 'leak.json')]
    assert subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode == 0, command
    said = json.loads((folder / 'leak.json').read_text())
    b.open(str(path), 1280)
    found = b.value('levels(viewers[0].run, viewers[0].section.growth.rounds).map((r) => [r.bytes, [...r.sums.values()].find('
                    f'(x) => viewers[0].run.who.tags[x.tag] === {json.dumps(said["leaks"][0]["tag"])})?.bytes ?? 0])')
    rise = [x[0] - y[0] for x, y in zip(found[2:], found[1:])]
    TAP.result('the staircase of a leak', *[x for x in (
        len(found) != said['iterations']['whole'] and f'{len(found)} iterations',
        rise != [said['devices'][0]['leak']] * (len(found) - 2) and f'it rises by {rise}',
        sum(rise) != said['devices'][0]['live_last'] - said['devices'][0]['live_first'] and f'in all by {sum(rise)}',
        [x[1] - y[1] for x, y in zip(found[2:], found[1:])] != rise and 'the tag rises by other steps', *b.complaints()) if x])


def check_segments(b: Browser, folder: Path) -> None:
    """Segments at the cursor, and segments over time, sum up to what --steps reserves; blocks are found by class, stream and address."""
    path, trace = folder / 'streams.html', str(CORPUS / 'two_streams.pickle.gz')
    for words in ('-o', path), ('--steps', folder / 'steps.csv'):
        assert subprocess.run([PROGRAM, 'run', '-q', trace, *words], check=False).returncode == 0, words
    steps = {int(row['step']): row for row in csv.DictReader((folder / 'steps.csv').read_text().splitlines())}
    section = read(path.read_text())['sections'][0]
    run, faults, rng = section['runs'][0], [], random.Random(5)
    a = run['blocks']
    b.open(str(path), 1280)
    for step in rng.sample(sorted(steps), 40):
        found = b.value(f'segmentsAt(viewers[0].run, {step}).reduce((sum, s) => [sum[0] + s.bytes, sum[1] + s.live, sum[2] + s.free], [0, 0, 0])')
        reserved, active = int(steps[step]['reserved']), int(steps[step]['active'])
        if found != [reserved, active, reserved - active]:
            faults.append(f'event {step}: segments {found}, not {reserved}, {active}')
    for word, wanted in ((f'class:{section["classes"][int(a["life_class"][0])]}', sum(x == a['life_class'][0] for x in a['life_class'])),
                         (f'stream:{section["queues"][-1][0]}', sum(section['queues'][int(q)][0] == section['queues'][-1][0] for q in a['queue'])),
                         (f'b{a["address"][7]:x}', sum(at <= a['address'][7] < at + size for at, size in zip(a['address'], a['bytes'])))):
        b.value(f'viewers[0].setFilter({json.dumps(word)})')
        count = b.value('[...viewers[0].run.blocks.bytes.keys()].filter((i) => viewers[0].look.fits(i)).length')
        faults += [f'{word}: {count} blocks, not {wanted}' for _ in [0] if count != wanted]
    b.value('viewers[0].setFilter("")')
    for by in 'class', 'stream', 'pool', 'life', 'block':
        drawn = b.value('viewers[0].look.colourOf.join()')
        b.value(f'(() => {{ const s = viewers[0].kindShown.closest(".bar").querySelectorAll("select")[1]; s.value = "{by}"; s.onchange(); }})()')
        settle(b)
        faults += [f'the colours by {by} are those before' for _ in [0] if by in ('class', 'stream') and drawn == b.value('viewers[0].look.colourOf.join()')]
    b.value('viewers[0].kindShown.value = "segments"; viewers[0].kindShown.onchange()')
    settle(b)
    for step in rng.sample(sorted(steps), 40):
        live = b.value(f'viewers[1].history.liveBytes({step})')
        faults += [f'event {step}: segments over time {live}, not {steps[step]["reserved"]}' for _ in [0] if live != int(steps[step]['reserved'])]
    TAP.result('segments, classes, streams and addresses', faults, b.complaints())


def check_list(b: Browser, folder: Path) -> None:
    """The list has every event of the run, from the first to the last, and those of a filter; a bar of the flame graph that is clicked is the whole."""
    path = folder / 'list.html'
    assert subprocess.run([PROGRAM, 'run', '-q', str(CORPUS / 'two_streams.pickle.gz'), '-o', path], check=False).returncode == 0
    a = read(path.read_text())['sections'][0]['runs'][0]['blocks']
    b.open(str(path), 1280)
    rows = ('[...viewers[0].list.box.querySelectorAll("tbody tr")].map((r) => [parseInt(r.cells[0].textContent.replace(/\\D/g, "")),'
            ' r.cells[1].textContent, r.getBoundingClientRect().bottom <= viewers[0].list.box.getBoundingClientRect().bottom + 1])')

    def walk() -> set:
        seen = set()
        settle(b)
        b.value('viewers[0].list.box.scrollTop = 0')
        settle(b)
        for _ in range(200):
            seen |= {(step, what) for step, what, whole in b.value(rows) if whole}
            if b.value('(() => { const x = viewers[0].list.box, at = x.scrollTop; x.scrollTop += 325; return x.scrollTop === at; })()'):
                break
            b.value('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
        return {step for step, what in seen if what in ('alloc', 'free')}
    end = b.value('viewers[0].run.end')
    steps = [(birth, birth + life - late) for birth, life, late in zip(a['birth'], a['life'], a['pending'])]
    missing = {x for pair in steps for x in pair if x < end} ^ walk()
    faults = [f'events {sorted(missing)[:5]} of {end} differ' for _ in [0] if missing]
    b.value('viewers[0].setFilter(">1MiB")')
    settle(b)
    missing = {x for pair, size in zip(steps, a['bytes']) if size >= 1 << 20 for x in pair if x < end} ^ walk()
    faults += [f'events {sorted(missing)[:5]} of the filter differ' for _ in [0] if missing]
    b.value('viewers[0].setFilter("")')
    settle(b)
    bar = 'viewers[0].flame.querySelector(".icicle button:nth-child({})")'
    first = b.value(f'{bar.format(1)}.style.width')
    words = b.value('(() => { const x = [...viewers[0].flame.querySelectorAll(".icicle button")].at(-1); x.click(); return x.ariaLabel; })()')
    now = b.value(f'{bar.format(1)}.style.width')
    way = b.value('[...viewers[0].flame.querySelectorAll(".bar button.plain")].map((x) => x.textContent)')
    if now != '100%' or way[-1] not in words or len(way) < 2:
        faults.append(f'a bar of {words} is {first}, then {now}, on the way {way}')
    before = b.value('viewers[0].flame.querySelector(".bar button.plain").click() || viewers[0].flame.querySelectorAll(".icicle button").length')
    if not before or b.value(f'{bar.format(1)}.style.width') != first:
        faults.append('the first button does not lead back')
    TAP.result('all events, and the flame graph', faults, b.complaints())


def check_pools(b: Browser, folder: Path) -> None:
    """With private pools whole, the stack is the blocks of the default pool and what each private pool reserves."""
    path = folder / 'pools.ndjson'
    rng, live, lines = random.Random(7), [], [{'format': 'fragsim-trace', 'version': 1}]
    for i in range(400):
        if live and rng.random() < 0.45:
            lines.append({'op': 'free', 'id': live.pop(rng.randrange(len(live)))})
        else:
            lines.append({'op': 'alloc', 'id': i, 'size': rng.randrange(1 << 20, 30 << 20), **({'pool': f'graph{i % 3}'} if i % 3 else {})})
            live.append(i)
    path.write_text('\n'.join(map(json.dumps, lines)) + '\n')
    assert subprocess.run([PROGRAM, 'run', '-q', '-p', 'pytorch', str(path), '-o', path.with_suffix('.html')], check=False).returncode == 0
    b.open(str(path.with_suffix('.html')), 1280)
    b.value('viewers[0].kindShown.value = "pools"; viewers[0].kindShown.onchange()')
    settle(b)
    faults = []
    for step in rng.sample(range(400), 60):
        found, wanted = b.value(f"""(() => {{ const plain = viewers[0].run, v = viewers[1]; let sum = 0;
            plain.history.liveAt({step}, (i) => {{ if (queueName(plain, i, POOL) === "default") sum += plain.blocks.bytes[i]; }});
            for (const one of segmentsAt(plain, {step})) {{
                const by = one.blocks[0] ?? reservers(plain)[one.piece];
                if (queueName(plain, by, POOL) !== "default") sum += one.bytes;
            }}
            return [v.history.liveBytes({step}), sum]; }})()""")
        faults += [f'event {step}: {found}, not {wanted}' for _ in [0] if found != wanted]
    TAP.result('private pools are whole', faults, b.complaints())


def check_answers(b: Browser, folder: Path) -> None:
    """The ranks of a job are bars, and numbers that were predicted are a line through what was recorded."""
    path = folder / 'ranks.html'
    ranks = [TRACES / 'gpt2_small_train_bs8_seq1024.ndjson.gz'] * 3 + [TRACES / 'gpt2_small_train_bs8_seq1024_ckpt.ndjson.gz']
    done = subprocess.run([PROGRAM, 'ranks', *map(str, ranks), '-o', str(path), '--json', str(folder / 'ranks.json')], check=False, stdout=subprocess.DEVNULL)
    assert done.returncode in (0, 1), done
    said = json.loads((folder / 'ranks.json').read_text())
    b.open(str(path), 1280)
    faults = []
    for i, rank in enumerate(said['ranks']):
        box = b.box(0)          # the words below it have other lengths
        click(b, box['x'] + 72 + (box['width'] - 82) * (i + 0.5) / 4, box['y'] + box['height'] / 2)
        head = b.value('document.querySelector("section h2 ~ div h3").textContent')
        size = b.value(f'size({rank["reserved"]})')
        faults += [f'rank {i}: {head}' for _ in [0] if f'Rank {rank["rank"]}: {size} reserved' not in head]
    TAP.result('the ranks of a job', faults + narrow_faults(b) + b.complaints())
    recordings = {n: Path(__file__).resolve().parents[1] / f'predict/recordings/gpt2_batch{n}.ndjson.gz' for n in (2, 4, 16)}
    done = subprocess.run([PROGRAM, 'predict', '-q', '--at', '24', *(f'{path}={n}' for n, path in recordings.items()),
                           '-o', str(folder / 'predict.html'), '--json', str(folder / 'predict.json')], check=False)
    assert done.returncode == 0, done
    said = json.loads((folder / 'predict.json').read_text())
    wanted = {24: said['points'][0]['requested']}
    for n, path in recordings.items():
        run = subprocess.run([PROGRAM, 'run', '-q', '-p', 'direct', '--json', '-', str(path)], check=True, capture_output=True, text=True)
        wanted[n] = json.loads(run.stdout)['runs'][0]['peak']['requested']
    b.open(str(folder / 'predict.html'), 1280)
    curve = facts_of((folder / 'predict.html').read_text())['curve']
    drawn = {p['at']: p['recorded'] if p['recorded'] is not None else p['requested'] for p in curve if p['asked'] or p['recorded'] is not None}
    TAP.result('a prediction at numbers', drawn != wanted and f'{drawn}, not {wanted}', b.value('document.querySelectorAll("canvas").length') != 1
               and 'no picture', *narrow_faults(b), *b.complaints())


def main() -> int:
    if not CHROMIUM:
        TAP.skip('pages in a browser', 'no chromium is installed')
        return TAP.finish()
    # the browser may still be writing into its profile
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        kept = Path(sys.argv[2] if len(sys.argv) > 2 else folder).resolve()
        kept.mkdir(exist_ok=True)
        browser = Browser(folder)
        try:
            for name, words in PAGES.items():
                check(browser, kept, name, words)
            check_place(browser, kept)
            check_leak(browser, kept)
            check_segments(browser, kept)
            check_list(browser, kept)
            check_pools(browser, kept)
            check_answers(browser, kept)
        finally:
            browser.close()
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
