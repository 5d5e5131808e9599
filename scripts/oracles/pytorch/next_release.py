#!/usr/bin/python3 -B
"""next_release.py - is fragsim ready for the newest PyTorch?

  next_release.py                    download the newest wheel of torch that pip finds, build the oracle
                                     with it, run 300 random cases, and list what names are new
  next_release.py --index URL --pre  the same of another index, such as that of nightly builds
  next_release.py --wheel FILE       the same of a wheel
  next_release.py --libraries FOLDER only the names in its libc10.so, libc10_cuda.so, libtorch_python.so
  next_release.py ... --accept       these names are known from now on: words.txt

Names are setting keys, actions of traces and members of snapshots: words of the libraries that stand next to
known ones of their kind. Exits with status 1 if a case differs or a name is new.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent / 'common'))

KNOWN = HERE / 'words.txt'
NEAR = 1500     # bytes around a known name
# by library: known names that stand among others of their kind
NAMES = {'libc10.so': ('max_split_size_mb', 'garbage_collection_threshold'),
         'libc10_cuda.so': ('max_split_size_mb', 'free_requested'),
         'libtorch_python.so': ('free_requested', 'segment_pool_id')}
WORD = re.compile(rb'(?<=\0)[a-z][a-z0-9_]{2,60}(?=\0)')


def words_near(data: bytes, names: tuple[str, ...]) -> set[str]:
    """The words in lower case that stand near these names."""
    found = set()
    for name in names:
        for match in re.finditer(rb'\0%s\0' % name.encode(), data):
            part = data[max(0, match.start() - NEAR):match.end() + NEAR]
            found |= {word.decode() for word in WORD.findall(part)}
    return found


def new_words(folder: Path) -> dict[str, list[str]]:
    """By library: what is in no line of words.txt."""
    known = set(KNOWN.read_text(encoding='utf-8').split()) if KNOWN.exists() else set()
    return {library: sorted(words_near((folder / library).read_bytes(), names) - known)
            for library, names in NAMES.items()}


def build_newest(arguments: argparse.Namespace) -> int:
    """Returns the N of its 2.N."""
    from build import ANY_PYTHON, WANTED, compile_all, version_of       # noqa: PLC0415
    from wheels import fetch                                            # noqa: PLC0415
    options = [*ANY_PYTHON, *(['--index-url', arguments.index] if arguments.index else []),
               *(['--pre'] if arguments.pre else [])]
    arguments.folder.mkdir(parents=True, exist_ok=True)
    # a folder of an earlier day may have an older release
    for old in arguments.folder.glob('torch-*.dist-info'):
        old.rename(old.with_suffix('.old'))
    fetch({'torch': (*WANTED, 'torch/lib/libtorch_python.so')}, arguments.folder, arguments.wheel, tuple(options))
    compile_all(arguments.folder, arguments.cuda_include)
    return version_of(arguments.folder)


def fuzz(arguments: argparse.Namespace, version: int) -> int:
    """By the rules of that release, or of the newest one that fragsim knows."""
    from torch_case import NEWEST                                       # noqa: PLC0415
    rules = min(version, NEWEST)
    print('torch 2.%d, with the rules of 2.%d' % (version, rules), flush=True)
    return subprocess.run([sys.executable, '-B', HERE / 'run.py', '--folder', arguments.folder, '--torch', '2.%d' % rules,
                           'fuzz', str(arguments.cases)], check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--index', help='of packages')
    parser.add_argument('--pre', action='store_true', help='releases that are not final, too')
    parser.add_argument('--wheel', type=Path)
    parser.add_argument('--libraries', type=Path)
    parser.add_argument('--accept', action='store_true')
    parser.add_argument('--cases', type=int, default=300)
    parser.add_argument('--cuda-include', help='headers of CUDA')
    parser.add_argument('--folder', type=Path, default=ROOT / 'build/pytorch-oracle-next')
    arguments = parser.parse_args()
    status = 0
    if not arguments.libraries:
        status = fuzz(arguments, build_newest(arguments)) != 0
    found = new_words(arguments.libraries or arguments.folder / 'torch/lib')
    for library, words in found.items():
        print('%s: %s' % (library, ', '.join(words) if words else 'no new name'))
    if arguments.accept:
        known = set(KNOWN.read_text(encoding='utf-8').split()) if KNOWN.exists() else set()
        KNOWN.write_text('\n'.join(sorted(known.union(*found.values()))) + '\n', encoding='utf-8')
        return int(status)
    return int(bool(status or any(found.values())))


if __name__ == '__main__':
    sys.exit(main())
