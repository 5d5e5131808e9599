"""run.py - the pages of the documentation site, before mkdocs builds them; prints TAP.

    run.py PROGRAM

Of each page every link leads to a page or a heading that is there, and every page is in the menu.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / 'tests' / 'support'))
from tap import Tap  # noqa: E402

CODE = re.compile(r'^```.*?^```$|`[^`\n]+`|^(    |\t)[^\n]*$', re.M | re.S)
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
        gallery = [x.read_text(encoding='utf-8')[:200] for x in (pages / 'gallery').iterdir()]
        tap.ok(len(gallery) == 3 and all('<html' in x for x in gallery),
               'the gallery has what the program reports now', gallery)
        (pages / 'index.md').write_text('[no](nowhere.md)\n', encoding='utf-8')
        tap.ok(lost(pages)[0] == ['index.md: nowhere.md'], 'a link that leads nowhere is found')
    return tap.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
