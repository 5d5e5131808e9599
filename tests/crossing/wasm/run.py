"""run.py - fragsim compiled for WebAssembly beside the program that was compiled for this machine.

    run.py PROGRAM      prints TAP

`make wasm` builds the module and its page; without them, or where a source is newer, this is
skipped. In Node.js each command line prints the same bytes, and has the same status. In a
headless chromium the page reads each file that is dropped on it, and shows the same answer.
"""
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / 'tests' / 'support'), str(ROOT / 'tests' / 'commands' / 'page')]
from tap import Tap  # noqa: E402

PROGRAM = str(Path(sys.argv[1]).resolve())
PLACE = Path(os.environ.get('BUILD') or ROOT / 'build') / 'wasm'
MODULE, PAGE = PLACE / 'fragsim.wasm', PLACE / 'fragsim.html'
PARTS = ROOT / 'scripts' / 'wasm'
LIMIT = 1_600_000               # bytes of the page
PATIENCE = 120.0
TAP = Tap()

GPT2, CKPT = 'gpt2_small_train_bs8_seq1024.ndjson.gz', 'gpt2_small_train_bs8_seq1024_ckpt.ndjson.gz'
MEDIUM, BERT = 'gpt2_medium_train_bs8_varlen_amp.ndjson.gz', 'bert_base_infer_varlen.ndjson.gz'
MOE, RESNET = 'moe_train_dispatch.ndjson.gz', 'resnet50_train_bs32_fp32.ndjson.gz'
CORPUS = ('oom_capacity', 'oom_fragmentation', 'kv_decode', 'leak_hook', 'lora', 'two_streams')
MESSAGE = ('torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total '
           'capacity of 23.65 GiB of which 1.10 GiB is free. Including non-PyTorch memory, this process '
           'has 22.54 GiB memory in use. Of the allocated memory 18.00 GiB is allocated by PyTorch, and '
           '4.10 GiB is reserved by PyTorch but unallocated.\n')
DEVICE = ('--device-bytes', '16GiB', '--context-bytes', '450MiB')
LINES = [
    ('explain', *DEVICE, GPT2), ('explain', *DEVICE, '-v', GPT2), ('explain', *DEVICE, '--json', '-', GPT2),
    ('explain', '--device', 'a100-40gb', MEDIUM), ('explain', '--device-bytes', '22GiB', '--json', '-', MEDIUM),
    ('run', '--json', '-', BERT), ('run', '-p', 'bestfit', '-p', 'buddy', '-p', 'tlsf', MOE),
    ('run', '--steps', '-', '-q', GPT2), ('run', *DEVICE, '-q', '-o', 'page.html', GPT2),
    ('fit', GPT2), ('fit', '--json', '-', CKPT), ('fit', RESNET), ('fit', MOE), ('fit', '-p', 'bestfit', MOE),
    ('leaks', MEDIUM), ('leaks', '--json', '-', BERT), ('diff', GPT2, CKPT), ('diff', '--json', '-', GPT2, CKPT),
    ('diff', GPT2, CKPT, '-q', '-o', 'page.html'), ('plan', CKPT), ('trace', 'info', MOE),
    ('trace', 'info', '--json', '-', RESNET), ('trace', 'convert', MOE, 'out.fsb'),
    ('trace', 'convert', RESNET, 'out.ndjson.gz'), ('list', 'cards'), ('list', 'policies'), ('help',),
    ('explain', 'message.txt'), ('explain', '--json', '-', 'message.txt'), ('ranks', 'ranks'),
    ('ranks', '--json', '-', 'ranks'), ('predict', '-h'), ('explain', 'missing.pickle'),
    ('run', '--device-bytes', '1GiB', GPT2), ('explain', '--fail-if', 'free > 1GiB', *DEVICE, GPT2),
    *((*words, f'{x}.pickle.gz') for x in CORPUS
      for words in (('explain', '-v'), ('verify',), ('fit', '--json', '-'))),
]
# of what this system lacks: the command, what it says
REFUSED = [(('record', '--', 'true'), 'WebAssembly starts no programs'),
           (('fit', '--model', 'gpt2'), 'WebAssembly starts no programs'),
           (('replay', GPT2), 'built without CUDA'), (('explain', 'nsys.sqlite'), 'without SQLite'),
           (('run', '-p', './policy.so', GPT2), 'plug-in')]


def lay(folder: Path) -> dict[str, Path]:
    """The files that the lines name, in a folder; by the names in it."""
    for path in (ROOT / 'traces').glob('*.ndjson.gz'):
        shutil.copy(path, folder)
    for path in (ROOT / 'tests/oracles/corpus').glob('*.pickle.gz'):
        shutil.copy(path, folder)
    (folder / 'message.txt').write_text(MESSAGE)
    (folder / 'nsys.sqlite').write_bytes(b'SQLite format 3\0' + bytes(100))
    (folder / 'policy.so').write_bytes(b'\x7fELF' + bytes(100))
    (folder / 'ranks').mkdir()
    for i, name in enumerate((GPT2, GPT2, CKPT)):
        shutil.copy(ROOT / 'traces' / name, folder / 'ranks' / f'rank{i}.ndjson.gz')
    return {str(x.relative_to(folder)): x for x in sorted(folder.rglob('*')) if x.is_file()}


class Node:
    """The module in one Node.js, a command after the other."""

    def __init__(self, node: str) -> None:
        self.process = subprocess.Popen([node, Path(__file__).with_name('host.js'), PARTS / 'wasi.js', MODULE],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, words: tuple, files: dict[str, Path], written: str | None = None) -> dict:
        given = {name: str(path) for name, path in files.items()
                 if any(word == name or name.startswith(f'{word}/') for word in words)}
        print(json.dumps({'words': words, 'files': given, 'written': written}), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def native(words: tuple, folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *words], cwd=folder, check=False, capture_output=True,
                          stdin=subprocess.DEVNULL, env={**os.environ, 'NO_COLOR': '1'})


def output_of(words: tuple) -> str | None:
    return next((x for x in words if x in ('page.html', 'out.fsb', 'out.ndjson.gz')), None)


def same_bytes(node: Node, files: dict[str, Path], folder: Path) -> None:
    slower = []
    for words in LINES:
        name = output_of(words)
        begun = os.times().children_user
        here = native(words, folder)
        spent = os.times().children_user - begun
        there = node.run(words, files, name)
        if spent > 0.1:
            slower.append(there['ms'] / 1000 / spent)
        wrote = (folder / name).read_bytes() if name else None
        TAP.result(' '.join(words), there['crash'],
                   there['status'] != here.returncode and f'status {there["status"]}, not {here.returncode}: {there["err"]}',
                   there['out'] != here.stdout.decode() and f'other text: {there["out"][:300]}\nnot {here.stdout[:300]}',
                   name and (there['written'] is None or base64.b64decode(there['written']) != wrote)
                   and f'another {name}')
        if name:
            (folder / name).unlink()
    if slower:
        print(f'# processor time beside native: {min(slower):.1f} to {max(slower):.1f} times')
    for words, wanted in REFUSED:
        there = node.run(words, files)
        said = re.sub(r'\s+', ' ', there['err'])
        TAP.ok(there['status'] > 0 and wanted in said, f'refused: {" ".join(words)}', there)


# The page -------------------------------------------------------------------------

DROP = '''(async () => {
  const given = %s, transfer = new DataTransfer();
  for (const [name, text] of given)
    transfer.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
  document.documentElement.dataset.state = "";
  dispatchEvent(new DragEvent("drop", { dataTransfer: transfer }));
})()'''


def drop(b: object, paths: list[Path]) -> None:
    b.value(DROP % json.dumps([[x.name, base64.b64encode(x.read_bytes()).decode()] for x in paths]))
    wait(b)


def wait(b: object) -> None:
    end = time.monotonic() + PATIENCE
    while b.value('document.documentElement.dataset.state') != 'done':
        if time.monotonic() > end:
            raise TimeoutError(f'no answer: {b.value("document.body.innerText")}')
        time.sleep(0.05)


def complaints(b: object) -> list[str]:
    """Errors of the console, and requests for anything but what the page has made itself."""
    local = ('blob:', 'data:', f'file://{PAGE}')
    return [x for x in b.complaints() if not (x.startswith('request: ') and x[9:].startswith(local))]


def same_answer(b: object, paths: list[Path], words: tuple, folder: Path) -> list[str]:
    """The verdict is that of the command line, and the page of the answer is in its frame."""
    drop(b, paths)
    here = native((*words, '-o', 'page.html'), folder)
    if here.returncode == 2:        # a text has no page
        here = native(words, folder)
        here.returncode = 2
    text = b.value('document.getElementById("answer").textContent')
    verdict = b.value('document.querySelector("#verdict h2").textContent')
    said = here.stdout.decode()
    return [x for x in (
        not text.startswith(said) and f'{text[:300]!r}, not {said[:300]!r}',
        verdict != said.partition('\n')[0] and f'verdict {verdict!r}',
        b.value('document.getElementById("page").hidden') != (here.returncode == 2) and 'the frame has another page',
        b.value('document.documentElement.scrollWidth > innerWidth') and 'wider than the window') if x]


def browse(folder: Path, kept: Path | None) -> None:
    from browser import CHROMIUM, Browser
    if not CHROMIUM:
        TAP.skip('the page', 'no chromium is installed')
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        b = Browser(profile)
        try:
            b.open(str(PAGE), 1280)
            for path in sorted(folder.glob('*.pickle.gz')) + [folder / GPT2, folder / 'message.txt']:
                TAP.result(f'dropped: {path.name}', same_answer(b, [path], ('explain', path.name), folder),
                           complaints(b))
            TAP.result('dropped: OLD and NEW', same_answer(b, [folder / GPT2, folder / CKPT], ('diff', GPT2, CKPT), folder))
            nsight(b, folder)
            buttons(b, folder)
            if kept:
                pictures(b, folder, kept)
            TAP.result('no error, no request', complaints(b))
        finally:
            b.close()


def nsight(b: object, folder: Path) -> None:
    drop(b, [folder / 'nsys.sqlite'])
    hint = b.value('document.getElementById("hint").textContent')
    TAP.ok('Nsight Systems' in hint, 'a database of Nsight Systems gets a sentence', hint)


def buttons(b: object, folder: Path) -> None:
    """A card and another question are each another run; a run can be stopped."""
    drop(b, [folder / GPT2])
    b.value('document.documentElement.dataset.state = ""; const c = document.getElementById("card");'
            ' c.value = "a100-40gb"; c.dispatchEvent(new Event("change"))')
    wait(b)
    here = native(('explain', '--device', 'a100-40gb', GPT2), folder).stdout.decode()
    text = b.value('document.getElementById("answer").textContent')
    TAP.ok(text.startswith(here), 'a GPU is another run', text[:300], here[:300])
    b.value('document.documentElement.dataset.state = "";'
            ' [...document.querySelectorAll("#asks button")].find((x) => x.textContent.includes("large enough")).click();'
            ' setTimeout(() => document.getElementById("stop").click(), 20)')
    wait(b)
    state = b.value('document.getElementById("state").textContent')
    TAP.ok(state == 'stopped', 'a run is stopped', state)
    b.value('document.documentElement.dataset.state = ""; document.getElementById("line").value = "fragsim trace info '
            f'{GPT2}"; document.getElementById("run").click()')
    wait(b)
    text = b.value('document.getElementById("answer").textContent')
    here = native(('trace', 'info', GPT2), folder).stdout.decode()
    TAP.ok(text.startswith(here), 'a line that was written runs, after a stop too', text[:300], here[:300])


def pictures(b: object, folder: Path, kept: Path) -> None:
    kept.mkdir(exist_ok=True)
    for colours in 'light', 'dark':
        b.ask('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': colours}])
        for width in 1280, 400:
            b.open(str(PAGE), width)
            b.picture(kept / f'empty.{width}.{colours}.png')
            drop(b, [folder / 'oom_fragmentation.pickle.gz'])
            time.sleep(2)
            b.picture(kept / f'answer.{width}.{colours}.png')


def stale() -> str:
    """Why there is nothing to test; empty: there is."""
    if not MODULE.exists() or not PAGE.exists():
        return 'fragsim.html is not built (make wasm)'
    parts = [*ROOT.glob('src/*/*.[ch]'), *ROOT.glob('src/answers/page/*'), *PARTS.glob('*'), *ROOT.glob('include/*/*.h')]
    newer = [x for x in parts if x.stat().st_mtime > PAGE.stat().st_mtime]
    return f'{newer[0].relative_to(ROOT)} is newer than fragsim.html (make wasm)' if newer else ''


def main() -> int:
    why, node = stale(), shutil.which('node')
    if why:
        TAP.skip('fragsim for browsers', why)
        return TAP.finish()
    TAP.ok(PAGE.stat().st_size <= LIMIT, f'the page has at most {LIMIT} bytes', PAGE.stat().st_size)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        files = lay(folder)
        if node:
            same_bytes(Node(node), files, folder)
        else:
            TAP.skip('command lines', 'no Node.js is installed (Debian: nodejs)')
        browse(folder, Path(sys.argv[2]) if len(sys.argv) > 2 else None)
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
