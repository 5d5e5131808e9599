"""browser.py - pages to look at in a real browser: what is drawn, and what is asked for.

    browser.py PROGRAM [FOLDER]

Prints TAP; without a chromium it is skipped. Each page is opened, clicked, dragged over and zoomed
through the DevTools protocol, at a desk's width and a phone's. With a FOLDER the pictures stay there.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from reading import read  # noqa: E402
from tap import Tap  # noqa: E402

PROGRAM = str(Path(sys.argv[1]).resolve())
TRACES = Path(os.environ.get('TRACES') or Path(__file__).resolve().parents[3] / 'traces')
CHROMIUM = next(filter(None, map(shutil.which, ('chromium', 'chromium-browser', 'google-chrome'))),
                None)
PATIENCE = 90.0
LEFT, RIGHT, TOP, FOOT = 72, 10, 12, 22         # around a map
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


def steer_faults(b: Browser, at: int) -> list[str]:
    """A drag over a timeline shows a part, a double click all of it; keys and clicks move the step."""
    faults = []
    box, before = b.box(at), b.pixels(at)
    middle = box['y'] + box['height'] / 2
    b.drag(box['x'] + box['width'] * 0.4, middle, box['x'] + box['width'] * 0.5)
    if b.pixels(at) == before:
        faults.append('a drag changes nothing')
    for count in 1, 2:
        for kind in 'mousePressed', 'mouseReleased':
            b.mouse(kind, box['x'] + 200, middle, count)
    words = b.value('document.querySelector(".figures").textContent')
    b.value(f'document.querySelectorAll("canvas")[{int(at)}].focus()')
    b.ask('Input.dispatchKeyEvent', type='keyDown', key='ArrowRight', code='ArrowRight')
    if b.value('document.querySelector(".figures").textContent') == words:
        faults.append(f'an arrow does not move the step: {words}')
    zoomed = b.pixels(at)
    b.ask('Input.dispatchKeyEvent', type='keyDown', key='+', text='+')
    if b.pixels(at) == zoomed:
        faults.append('+ does not zoom')
    b.ask('Input.dispatchKeyEvent', type='keyDown', key='0', text='0')
    if not b.value('document.querySelector(".figures").textContent').startswith('step '):
        faults.append('no figures at the step')
    return faults


def map_faults(b: Browser, facts: dict) -> list[str]:
    """The block that covers most is where it must be, in a colour of its own, and has a name."""
    section = facts['sections'][0]
    run, who = section['runs'][0], section['who'][0]
    a = run['blocks']
    end = max(r['end'] for r in section['runs'])
    at = max(range(len(a['birth'])), key=lambda i: a['life'][i] * a['bytes'][i])
    # above the timelines there may be the devices on which they survive
    above = 1 if 'fits' in section else 0
    canvas = above + len(section['runs']) + len(section['cured'])
    box = b.box(canvas)
    x = LEFT + (a['birth'][at] + a['life'][at] / 2) / end * (box['width'] - LEFT - RIGHT)
    y = box['height'] - FOOT - (a['y'][at] + a['bytes'][at] / 2) / run['height'] * (
        box['height'] - FOOT - TOP)
    colour = b.value(f'[...document.querySelectorAll("canvas")[{canvas}].getContext("2d")'
                     f'.getImageData({int(x)}, {int(y)}, 1, 1).data]')
    # of a map's legend: the kinds of tags, not what is free or summed up
    palette = b.value(f'[...document.querySelectorAll(".legend")[{above + 1}]'
                      '.querySelectorAll("i")].slice(0, -4).map((i) => i.style.background)')
    b.mouse('mouseMoved', box['x'] + x, box['y'] + y)
    tag = who['tags'][who['share_tag'][a['who'][at]]] or '(no tag)'
    said = b.value('document.querySelectorAll("canvas")'
                   f'[{canvas}].nextElementSibling.textContent')
    known = f'rgb({colour[0]}, {colour[1]}, {colour[2]})'
    return [x for x in (known not in palette and f'{known} at {x}, {y} is none of the legend',
                        tag not in said and f'{tag} is not in {said}') if x]


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
    whole = 'look' not in facts['sections'][0] and len(facts['sections']) == 1
    for width in 1280, 400:
        b.open(str(path), width)
        b.picture(path.with_suffix(f'.{width}.png'))
        faults = first_faults(b) if width == 1280 and facts['sections'][0]['cured'] else []
        faults += (narrow_faults(b) + (map_faults(b, facts) if whole else [])
                      + steer_faults(b, 'fits' in facts['sections'][0]) + b.complaints())
        TAP.result(f'{name}, {width} pixels wide', faults)


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
        finally:
            browser.close()
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
