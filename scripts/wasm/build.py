"""build.py - compile fragsim for WebAssembly and put it into one page.

    build.py SOURCES FOLDER     FOLDER/fragsim.wasm, FOLDER/fragsim.html

SOURCES has those of zlib, zstd and cJSON (scripts/wheel-sources.sh). The compiler is zig, from
PyPI; the Makefile compiles the same files as for every other system.
"""
from __future__ import annotations

import base64
import gzip
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import wheel_hook

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = 'wasm32-wasi'
LIMIT = 1_600_000       # bytes of the page


def libraries(sources: Path, compiler: str, place: Path) -> None:
    """Compiled once, as they change with Debian's sources alone; a file at a time: of several for
    WebAssembly zig keeps one object."""
    if (place / 'done').exists():
        return
    shutil.rmtree(place, ignore_errors=True)
    (place / 'include' / 'cjson').mkdir(parents=True)
    (place / 'lib').mkdir()
    for name in 'cjson', 'zlib', 'libzstd':
        _, headers, files, flags = wheel_hook.LIBRARIES[name]
        for header in headers:
            shutil.copy(sources / name / header, place / 'include' / ('cjson' if name == 'cjson' else ''))
        parts = [x for pattern in files for x in sorted((sources / name).glob(pattern))]
        objects = [place / f'{name}-{x.stem}.o' for x in parts]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda x: wheel_hook.run([
                *compiler.split(), 'cc', '-target', TARGET, '-O2', '-w', *flags, '-c', str(x[0]),
                '-o', str(x[1])]), zip(parts, objects)))
        wheel_hook.run([*compiler.split(), 'ar', 'rcs', str(place / 'lib' / wheel_hook.ARCHIVES[name]),
                        *map(str, objects)])
    (place / 'done').touch()


def module(sources: Path, folder: Path) -> bytes:
    compiler, _ = wheel_hook.zig()
    os.environ.setdefault('ZIG_GLOBAL_CACHE_DIR', str(folder.parent / 'wheel' / 'zig-cache'))
    place = folder / 'with'
    libraries(sources, compiler, place)
    program = folder / 'build' / 'fragsim'
    wheel_hook.make(ROOT, [str(program)], {
        'BUILD': str(program.parent), 'SYSTEM': 'WASI', 'WITH_CUDA': 'no', 'WITH_SQLITE': 'no',
        'WITH_ISAL': 'no', 'WARNINGS': '-Wall',
        'CC': f'{compiler} cc -target {TARGET}', 'AR': f'{compiler} ar', 'CFLAGS': '-O2',
        'CPPFLAGS': f'-I{place}/include', 'LDFLAGS': f'-s -L{place}/lib'})
    shutil.copyfile(program, folder / 'fragsim.wasm')
    return program.read_bytes()


def page(packed: bytes, version: str) -> str:
    """Every part in one file: nothing is loaded from anywhere."""
    parts = {
        'STYLE': (HERE / 'page.css').read_text(encoding='utf-8'),
        'WORKER': ''.join((HERE / x).read_text(encoding='utf-8') for x in ('wasi.js', 'worker.js')),
        'SCRIPT': (HERE / 'page.js').read_text(encoding='utf-8'),
        'VERSION': version, 'MODULE': base64.b64encode(packed).decode(),
    }
    text = (HERE / 'page.html').read_text(encoding='utf-8')
    for name, part in parts.items():
        assert '</script' not in part and text.count(f'%{name}%') == 1, name
        text = text.replace(f'%{name}%', part)
    return text


def main(sources: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    version = subprocess.run(['sed', '-n', r's/^.define FRAG_VERSION "\(.*\)".*/\1/p',
                              ROOT / 'include/fragsim/version.h'], check=True, capture_output=True,
                             text=True).stdout.strip()
    text = page(gzip.compress(module(sources, folder), mtime=0), version)
    if len(text) > LIMIT:
        sys.exit(f'wasm: the page has {len(text)} bytes, and {LIMIT} are its limit')
    (folder / 'fragsim.html').write_text(text, encoding='utf-8')
    print(f'{folder}/fragsim.html: {len(text)} bytes')


if __name__ == '__main__':
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
