"""assemble.py - lay the pages of the site together, for mkdocs to build.

    assemble.py PROGRAM FOLDER      FOLDER/pages, FOLDER/mkdocs.yml

The reference is the manual, by mandoc; a name such as fragsim-run(1) becomes a link to its page.
Tutorials, how-tos and this folder's pages are Markdown already. The gallery is what PROGRAM
reports now. A page that is in no folder below fails the build, as do links that lead nowhere.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
MAN, SITE, TRACES = ROOT / 'man', ROOT / 'doc/site', ROOT / 'traces'
NAME = re.compile(r'\b(fragsim(?:-[a-z-]+)?)\((\d)\)')
# of headings and code nothing is made a link
CODE = re.compile(r'(^```.*?^```$|^(?:#|    |\t)[^\n]*$|`[^`\n]+`|\[[^]\n]*\]\([^)\n]*\))', re.M | re.S)
HOWTO = [('PyTorch', 'pytorch'), ('Training frameworks', 'frameworks'), ('vLLM', 'vllm'),
         ('JAX', 'jax'), ('TensorFlow', 'tensorflow'), ('RAPIDS', 'rapids'), ('CuPy', 'cupy'),
         ('Clusters', 'clusters')]
EXPLAINED = ['fragsim-metrics.7', 'fragsim-searches.7', 'fragsim-policies.7', 'fragsim-conditions.7']
GALLERY = {
    'failure': ('gpt2_small_train_bs8_seq1024', '--device-bytes', '16GiB', '--context-bytes', '450MiB'),
    'varlen': ('gpt2_small_train_bs16_varlen_ckpt',),
    'diffusion': ('sd15_unet_vae_infer_multires',),
}


def linked(text: str, folder: str) -> str:
    """Each page of the manual that is named outside code, as a link from a page in `folder`."""
    def link(m: re.Match) -> str:
        page = f'{m[1]}.{m[2]}'
        return f'[{m[0]}]({folder}{page}.md)' if (MAN / page).exists() else m[0]

    parts = CODE.split(text)
    return ''.join(x if i % 2 else NAME.sub(link, x) for i, x in enumerate(parts))


def manual(page: Path) -> str:
    """A page as Markdown: its name is the heading, and the headings are a level lower."""
    text = subprocess.run(['mandoc', '-T', 'markdown', page], check=True, capture_output=True,
                          text=True).stdout
    lines = text.splitlines()[2:-2]     # without the lines at the head and the foot
    about = re.search(r'\*\*.*?\*\* - (.*)', text)
    assert about, page
    text = '\n'.join('#' + x if x.startswith('#') else x for x in lines)
    text = text.replace('&nbsp;', ' ')
    return f'# {page.stem}({page.suffix[1:]})\n\n{text}\n'


def main(program: str, folder: Path) -> None:
    pages = folder / 'pages'
    shutil.rmtree(pages, ignore_errors=True)
    for name in ('reference', 'howto', 'explanation', 'gallery'):
        (pages / name).mkdir(parents=True)
    for page in sorted(MAN.glob('fragsim*.[1-8]')):
        (pages / 'reference' / f'{page.name}.md').write_text(linked(manual(page), ''), encoding='utf-8')
    for path in sorted(SITE.glob('*.md')):
        (pages / path.name).write_text(linked(path.read_text(encoding='utf-8'), 'reference/'),
                                       encoding='utf-8')
    for path in sorted((SITE / 'howto').glob('*.md')):
        (pages / 'howto' / path.name).write_text(
            linked(path.read_text(encoding='utf-8'), '../reference/'), encoding='utf-8')
    for name, source in (('architecture', 'ARCHITECTURE.md'), ('performance', 'doc/performance.md'),
                         ('changes', 'CHANGELOG.md')):
        (pages / 'explanation' / f'{name}.md').write_text(
            linked((ROOT / source).read_text(encoding='utf-8'), '../reference/'), encoding='utf-8')
    for name, (trace, *options) in GALLERY.items():
        done = subprocess.run([program, 'run', '-q', *options, TRACES / f'{trace}.ndjson.gz', '-o',
                               pages / 'gallery' / f'{name}.html'], check=False)
        assert done.returncode in (0, 3), done          # an out-of-memory is what one of them shows
    settings = yaml.safe_load((SITE / 'mkdocs.yml').read_text(encoding='utf-8'))
    names = sorted(x.stem for x in (pages / 'reference').glob('*.md'))
    settings['nav'] = [
        {'Home': 'index.md'}, {'Tutorial': 'reference/fragsim-tutorial.7.md'},
        {'How to': [{title: f'howto/{x}.md'} for title, x in HOWTO]},
        {'Gallery': 'gallery.md'},
        {'Reference': [f'reference/{x}.md' for x in names
                       if x not in EXPLAINED and x != 'fragsim-tutorial.7']},
        {'Explanation': [{'Architecture': 'explanation/architecture.md'},
                         *(f'reference/{x}.md' for x in EXPLAINED),
                         {'Speed': 'explanation/performance.md'}, {'Changes': 'explanation/changes.md'}]},
    ]
    (folder / 'mkdocs.yml').write_text(yaml.safe_dump(settings, sort_keys=False), encoding='utf-8')


if __name__ == '__main__':
    main(sys.argv[1], Path(sys.argv[2]))
