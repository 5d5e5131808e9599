"""run.py - the pages of the documentation site, before mkdocs builds them; prints TAP.

    run.py PROGRAM

Of each page every link leads to a page or a heading that is there, and every page is in the menu. The
gallery and the first page have what the program answers, and the site has the colours of its pages. In a
headless chromium, where one is, a file that is dragged over the first page is dropped on fragsim.html.
"""
import html
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / 'tests' / 'support'), str(ROOT / 'tests' / 'commands' / 'page')]
from browser import CHROMIUM, Browser  # noqa: E402
from tap import Tap  # noqa: E402

CODE = re.compile(r'^```.*?^```$|`[^`\n]+`|^(    |\t)[^\n]*$', re.M | re.S)
SITE, GALLERY = ROOT / 'doc/site', ('failure', 'fit', 'leak', 'change', 'diffusion')
TRAINING = 'traces/gpt2_small_train_bs8_seq1024.ndjson.gz'
PICTURE_MAX = 150_000           # bytes
# What the same colour is called in page.css, site.css and the page.css of fragsim.html
COLOURS = [('paper', 'md-default-bg-color', 'ground'), ('ink', 'md-typeset-color', 'text'),
           ('soft', 'md-default-fg-color--light', 'faint'), ('rule', 'site-rule', 'line'),
           ('panel', 'md-code-bg-color', 'box'), ('focus', 'md-typeset-a-color', 'strong'),
           ('bad', 'site-bad', 'bad')]
STAND_IN = """<!doctype html><body><script>
addEventListener("dragover", (e) => e.preventDefault());
addEventListener("drop", (e) => { e.preventDefault(); parent.postMessage(e.dataTransfer.files[0].name, "*"); });</script>"""
FIRST = """<!doctype html><html data-ready="yes"><style>%s</style><body>
<div class="drop"><a href="fragsim.html">open</a></div>
<script>let got = new Promise((done) => addEventListener("message", (e) => done(e.data)));
%s</script>"""
LINK = re.compile(r'(?<!!)\[[^]\n]+\]\(([^)\s]+)\)')


def leaves(item):
    """The pages that a menu names."""
    if isinstance(item, str):
        return [item]
    values = item.values() if isinstance(item, dict) else item
    return [page for value in values for page in leaves(value)]


def lost(pages):
    """Links that lead nowhere, and how many were looked at."""
    bad, count = [], 0
    for page in pages.rglob('*.md'):
        text = CODE.sub('', page.read_text(encoding='utf-8'))
        for target in LINK.findall(text):
            if re.match(r'\w+:', target):
                continue
            count += 1
            if not (page.parent / target.partition('#')[0]).exists():
                bad.append(f'{page.relative_to(pages)}: {target}')
    return bad, count


def colours(path):
    """Of a stylesheet each name's colours: the light one, the dark one."""
    found = {}
    for name, colour in re.findall(r'--([\w-]+): (#[0-9a-f]{6})', path.read_text(encoding='utf-8')):
        found.setdefault(name, []).append(colour)
    return found


def differing_colours():
    own, site, browser = (colours(ROOT / x) for x in ('src/answers/page/page.css', 'doc/site/site.css',
                                                      'scripts/wasm/page.css'))
    return [f'{a}: {own[a]}, {b}: {site.get(b)}, {c}: {browser.get(c)}' for a, b, c in COLOURS
            if not own[a] == site.get(b) == browser.get(c)]


def shown(text):
    """The answers on a page, each as its lines."""
    return [[html.unescape(x) for x in re.findall('<code>(.*?)</code>', box)]
            for box in re.findall('<div class="verdict.*?</div>', text)]


def wrong_answers(program, pages):
    """The first page has what the program says, and each page of the gallery is that of its answer."""
    wanted = subprocess.run([program, 'explain', '--device', '16GiB', '--context-bytes', '450MiB', TRAINING], cwd=ROOT,
                            stdout=subprocess.PIPE, text=True, check=False).stdout.splitlines()
    first = shown((pages / 'index.md').read_text(encoding='utf-8'))
    bad = [] if len(first) == 1 and len(first[0]) > 3 and first[0][1:] == wanted[:len(first[0]) - 1] else [first]
    answers = shown((pages / 'gallery.md').read_text(encoding='utf-8'))
    if len(answers) != len(GALLERY):
        return [*bad, answers]
    for name, lines in zip(GALLERY, answers):
        verdict = next(x for x in lines if not x.startswith('$'))
        if verdict not in html.unescape((pages / f'gallery/{name}.html').read_text(encoding='utf-8')):
            bad.append(f'{name}: {verdict}')
    return bad


def dragged(folder):
    """A file dragged over the first page, and what is seen of it, step by step."""
    (folder / 'fragsim.html').write_text(STAND_IN, encoding='utf-8')
    (folder / 'first.html').write_text(
        FIRST % ((SITE / 'site.css').read_text(encoding='utf-8'),
                 (SITE / 'drop.js').read_text(encoding='utf-8')), encoding='utf-8')
    data = {'items': [], 'files': [str(ROOT / TRAINING)], 'dragOperationsMask': 1}
    b = Browser(str(folder))
    try:
        b.open(str(folder / 'first.html'), 1280)
        hidden = 'document.querySelector(".browser").hidden'
        seen = [b.value(hidden)]
        for kind in 'dragEnter', 'dragOver':
            b.ask('Input.dispatchDragEvent', type=kind, x=600, y=300, data=data)
        end = time.monotonic() + 30
        while b.value(hidden) and time.monotonic() < end:
            time.sleep(0.05)
        seen.append(b.value(hidden))
        for kind in 'dragOver', 'drop':
            b.ask('Input.dispatchDragEvent', type=kind, x=600, y=300, data=data)
        late = 'new Promise((done) => setTimeout(() => done("nothing"), 30000))'
        seen.append(b.value(f'Promise.race([got, {late}])'))
        b.value('document.querySelector(".browser button").click()')
        return [*seen, b.value(hidden)]
    finally:
        b.close()


def main(program):
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix='site-') as name:
        folder = Path(name)
        subprocess.run([sys.executable, '-B', ROOT / 'doc/site/assemble.py', Path(program).resolve(),
                        folder], check=True)
        pages = folder / 'pages'
        bad, count = lost(pages)
        tap.ok(count > 100, 'pages of the manual refer to each other', count)
        tap.result('every link leads somewhere', bad)
        menu = leaves(yaml.safe_load((folder / 'mkdocs.yml').read_text(encoding='utf-8'))['nav'])
        there = {str(x.relative_to(pages)) for x in pages.rglob('*.md')}
        tap.result('every page is in the menu, once', sorted(there ^ set(menu)),
                   [] if len(menu) == len(set(menu)) else ['twice'])
        tap.result('the gallery and the first page have what the program answers', wrong_answers(Path(program).resolve(), pages))
        left = [x.name for x in pages.glob('*.md') if re.search(r'^\{\w+\}$', x.read_text(encoding='utf-8'), re.M)]
        tap.result('every place for an answer is filled', left)
        tap.result('the site, its browser page and the pages of answers have the same colours', differing_colours())
        large = [f'{x.name}: {x.stat().st_size}' for x in pages.glob('*.png') if x.stat().st_size >= PICTURE_MAX]
        tap.result('pictures are small', large)
        if CHROMIUM:
            seen = dragged(folder)
            tap.ok(seen == [True, False, Path(TRAINING).name, True], 'a dragged file meets fragsim.html, which a button closes', seen)
        else:
            tap.skip('a dragged file meets fragsim.html', 'no chromium is installed')
        (pages / 'index.md').write_text('[no](nowhere.md)\n', encoding='utf-8')
        tap.ok(lost(pages)[0] == ['index.md: nowhere.md'], 'a link that leads nowhere is found')
    return tap.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
