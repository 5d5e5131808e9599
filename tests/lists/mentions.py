"""mentions.py - files and names of the sources that the documents for developers mention."""
import re
import subprocess
from pathlib import PurePath

import tree
from tap import Tap

DOCUMENTS = ('ARCHITECTURE.md', 'CONTRIBUTING.md')
FILE = re.compile(r'[\w./-]+\.(?:c|h|py|sh|txt|map|md|js|[1357])(?![\w.])')
FOLDER = re.compile(r'(?:src|include|tests|scripts|man|traces)/[\w./-]+')
NAME = re.compile(r'(?:frag_\w+|FRAG_[A-Z_]+|\w+(?=\(\)))')
PLACEHOLDER = re.compile(r'NAME|CASE|\*')       # src/policy/NAME.c stands for any


def check(tap: Tap) -> None:
    known = subprocess.run(['git', 'ls-files'], cwd=tree.ROOT, capture_output=True, text=True,
                           check=False).stdout.split() or tree.files('**/*')
    bare = {PurePath(x).name for x in known}
    code = '\n'.join(tree.text(x) for x in known
                     if x.endswith(('.c', '.h')) and x.startswith(('src/', 'include/')))
    code += ''.join(tree.text(x) for x in tree.files('tests/**/*.py'))
    count = 0
    wrong = [f'Makefile: no source asks for {x}' for x in sorted(set(
        re.findall(r'-D(FRAG_\w+)', tree.text('Makefile')))) if f'def {x}\n' not in code]
    for document in DOCUMENTS:
        for span in sorted(set(re.findall(r'`([^`\n]+)`', tree.text(document)))):
            if PLACEHOLDER.search(span):
                continue
            count += len(FILE.findall(span))
            wrong += [f'{document}: {x} does not exist' for x in FOLDER.findall(span)
                      if not (tree.ROOT / x).exists()]
            wrong += [f'{document}: {x} does not exist' for x in FILE.findall(span)
                      if x not in known and f'src/{x}' not in known
                      and ('/' in x or x not in bare)]
            wrong += [f'{document}: {x} is not in the sources' for x in NAME.findall(span)
                      if not FILE.search(span) and not re.search(rf'\b{x}\b', code)]
    tap.result('documents and the Makefile mention files and names that exist', wrong,
               count < 60 and f'only {count} files were found')
