#!/usr/bin/python3
"""check_sources.py - are the names that answers print in the packages that they are said to be from?

    check_sources.py [SITE ...]

Reads tests/commands/explain_messages/sources.txt. Of each row whose source is "PACKAGE VERSION, FILE" the
name is searched for in that file, of a package that is installed in a SITE (a folder site-packages) or of
its wheel, which pip downloads. Prints a line for each row; status 1: a name is missing. Rows with other
sources are counted. Not a part of make check: it needs a network.
"""
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / 'tests/commands/explain_messages/sources.txt'
ROW = re.compile(r'([a-z][a-z_]*) (\d+(?:\.\d+)+), ([^;,]+)')


def installed(site: Path, package: str, version: str) -> dict[str, Path] | None:
    if not (site / f'{package}-{version}.dist-info').is_dir() and not list(site.glob(f'{package}-{version}+*')):
        return None
    return {str(p.relative_to(site)): p for p in (site / package).rglob('*') if p.suffix in ('.py', '.so')}


def downloaded(package: str, version: str, folder: str) -> dict[str, zipfile.Path]:
    subprocess.run([sys.executable, '-m', 'pip', 'download', '-q', '--no-deps', '--only-binary=:all:', '-d', folder,
                    f'{package}=={version}'], check=True)
    wheel = next(p for p in Path(folder).glob('*.whl') if p.name.startswith(f'{package}-'))
    root = zipfile.Path(zipfile.ZipFile(wheel))
    return {x: root / x for x in root.root.namelist() if x.endswith(('.py', '.so'))}


def has(files: dict, where: str, name: str) -> bool:
    """A file's end, a library's name, a folder, or a file and another one ("a.py and b.py")."""
    word = name.lstrip('-').rsplit('.', 1)[-1]
    words = {word.encode(), word.replace('-', '_').encode()}
    if word.isupper():      # a flag of absl is a variable too, in capitals
        words.add(word.lower().encode())
    for part in where.split(' and '):
        part = part.split(',')[0].strip()
        some = [p for n, p in files.items() if n.endswith('/' + part) or f'/{part}/' in f'/{n}' or part in n]
        if any(x in p.read_bytes() for p in some for x in words):
            return True
    return False


def main(sites: list[str]) -> int:
    missing = others = found = 0
    packages: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        for row in SOURCES.read_text(encoding='utf-8').split('\n'):
            name, *rest = row.split(' | ')
            match = ROW.match(rest[0]) if rest else None
            if not match:
                others += bool(rest) and row[0] != '#'
                continue
            package, version, where = match.groups()
            if (package, version) not in packages:
                at_hand = [x for x in (installed(Path(s), package, version) for s in sites) if x]
                try:
                    packages[package, version] = at_hand[0] if at_hand else downloaded(package, version, folder)
                except subprocess.CalledProcessError:
                    packages[package, version] = None
            files = packages[package, version]
            good = files is not None and has(files, where, name)
            found += good
            missing += not good
            print('found  ' if good else 'MISSING' if files is not None else 'no package', name, 'in', package, version,
                  where)
    print(f'{found} found, {missing} not; {others} rows are from threads and manuals')
    return 1 if missing else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
