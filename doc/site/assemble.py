"""assemble.py - lay the pages of the site together, for mkdocs to build.

    assemble.py PROGRAM FOLDER      FOLDER/pages, FOLDER/mkdocs.yml

The reference is the manual, by mandoc; a name such as fragsim-run(1) becomes a link to its page.
Tutorials, how-tos and this folder's pages are Markdown already. The gallery, and the verdict on the
first page, are what PROGRAM answers now. A page that is in no folder below fails the build, as do links that lead nowhere.
"""
import html
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
MAN, SITE = ROOT / 'man', ROOT / 'doc/site'
NAME = re.compile(r'\b(fragsim(?:-[a-z-]+)?)\((\d)\)')
# of headings and code nothing is made a link
CODE = re.compile(r'(^```.*?^```$|^(?:#|    |\t)[^\n]*$|`[^`\n]+`|\[[^]\n]*\]\([^)\n]*\))', re.M | re.S)
HOWTO = [('PyTorch', 'pytorch'), ('Training frameworks', 'frameworks'), ('vLLM', 'vllm'),
         ('JAX', 'jax'), ('TensorFlow', 'tensorflow'), ('RAPIDS', 'rapids'), ('CuPy', 'cupy'),
         ('Clusters', 'clusters')]
EXPLAINED = ['fragsim-metrics.7', 'fragsim-searches.7', 'fragsim-policies.7', 'fragsim-conditions.7']
WIDE = ['index.md', 'gallery.md', 'tasks.md', 'table.md']        # no list of headings beside them
# The reference, by task; what is in no group is in the last one.
GROUPS = {
    'Why did it fail': ['fragsim-explain.1', 'fragsim-page.7'],
    'Which setting, which GPU': ['fragsim-fit.1', 'fragsim-predict.1', 'fragsim-run.1', 'fragsim-plan.1', 'fragsim-list.1'],
    'Leaks and ranks': ['fragsim-leaks.1', 'fragsim-ranks.1'],
    'What changed': ['fragsim-diff.1', 'fragsim-sweep.1', 'fragsim-verify.1', 'fragsim-result.5'],
    'Record and traces': ['fragsim-record.1', 'fragsim-replay.1', 'fragsim-trace.1', 'fragsim-formats.5', 'fragsim-lines.5',
                          'fragsim-binary.5', 'fragsim-profile.5'],
    'From programs': ['fragsim-python.7', 'fragsim.3', 'fragsim-plugin.7'],
}
# The head of index.md: where `make wasm` has built the page for browsers, and where not
BROWSER = '''<div class="drop" markdown>
**Drop a snapshot, a trace or a log here.** fragsim runs in this browser: nothing is installed, and nothing is uploaded.

[Open fragsim in this browser](fragsim.html){ .md-button .md-button--primary }
</div>'''
NO_BROWSER = 'In the sources, `make wasm` and then `make site` put fragsim on this page, to drop files on.'
# Pages of the gallery: the command, and how many of its first lines of text are shown
TRAINING = 'traces/gpt2_small_train_bs8_seq1024.ndjson.gz'
GALLERY = {
    'failure': (f'explain --device 16GiB --context-bytes 450MiB {TRAINING}', 6),
    'fit': ('fit --context-bytes 450MiB traces/gpt2_small_train_bs16_varlen_ckpt.ndjson.gz', 2),
    'leak': ('leaks --device l4 --context-bytes 450MiB --other-bytes 0 qkv.ndjson', 3),
    'change': (f'diff {TRAINING} traces/gpt2_small_train_bs8_seq1024_ckpt.ndjson.gz', 1),
    'diffusion': ('run traces/sd15_unet_vae_infer_multires.ndjson.gz', 2),
}
GENERATED = {'leak': 'trace gen qkv -o qkv.ndjson'}      # before it


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


def answers(program: str, folder: Path) -> dict[str, str]:
    """Writes the pages of the gallery into `folder`; of each its command and first lines, as HTML."""
    shown = {}
    with tempfile.TemporaryDirectory(prefix='gallery-') as work:
        (Path(work) / 'traces').symlink_to(ROOT / 'traces')     # names as a reader would give them
        for name, (line, lines) in GALLERY.items():
            commands = [GENERATED[name]] if name in GENERATED else []
            for command in (*commands, line):
                page = ['-o', folder / f'{name}.html'] if command is line else []
                done = subprocess.run([program, *command.split(), *page], cwd=work, check=False, stdout=subprocess.PIPE,
                                      text=True)
                assert done.returncode in (0, 3), done          # an out-of-memory is what one of them shows
            said = done.stdout.splitlines()[:lines]
            text = [*(f'$ fragsim {x}' for x in commands), f'$ fragsim {line} -o {name}.html', *said]
            bad = ' bad' if said[0].startswith(('OOM', 'LEAK')) else ''
            shown[name] = ''.join([f'<div class="verdict{bad}">', *(f'<code>{html.escape(x)}</code>' for x in text), '</div>'])
    return shown


def main(program: str, folder: Path) -> None:
    folder = folder.resolve()
    pages = folder / 'pages'
    shutil.rmtree(pages, ignore_errors=True)
    for name in ('reference', 'howto', 'explanation', 'gallery'):
        (pages / name).mkdir(parents=True)
    for page in sorted(MAN.glob('fragsim*.[1-8]')):
        (pages / 'reference' / f'{page.name}.md').write_text(linked(manual(page), ''), encoding='utf-8')
    browser = folder.parent / 'wasm' / 'fragsim.html'
    if browser.exists():
        shutil.copy(browser, pages)
    filled = answers(program, pages / 'gallery')
    filled |= {'verdict': filled['failure'], 'browser': BROWSER if browser.exists() else NO_BROWSER}
    for path in sorted(SITE.glob('*.md')):
        text = linked(path.read_text(encoding='utf-8'), 'reference/')
        if path.name in ('index.md', 'gallery.md'):
            text = re.sub(r'^\{(\w+)\}$', lambda m: filled[m[1]], text, flags=re.M)
        head = '---\nhide: [toc]\n---\n' if path.name in WIDE else ''
        (pages / path.name).write_text(head + text, encoding='utf-8')
    for path in (*(SITE / x for x in ('table.js', 'table.csv', 'site.css', 'drop.js', 'report-dark.png')), ROOT / 'doc/report.png'):
        shutil.copy(path, pages)
    for path in sorted((SITE / 'howto').glob('*.md')):
        (pages / 'howto' / path.name).write_text(
            linked(path.read_text(encoding='utf-8'), '../reference/'), encoding='utf-8')
    for name, source in (('architecture', 'ARCHITECTURE.md'), ('performance', 'doc/performance.md'),
                         ('changes', 'CHANGELOG.md')):
        (pages / 'explanation' / f'{name}.md').write_text(
            linked((ROOT / source).read_text(encoding='utf-8'), '../reference/'), encoding='utf-8')
    settings = yaml.safe_load((SITE / 'mkdocs.yml').read_text(encoding='utf-8'))
    names = sorted(x.stem for x in (pages / 'reference').glob('*.md'))
    known = {'fragsim-tutorial.7', *EXPLAINED, *(x for group in GROUPS.values() for x in group)}
    groups = {**GROUPS, 'The rest': [x for x in names if x not in known]}
    settings['nav'] = [
        {'Home': 'index.md'}, {'Tutorial': 'reference/fragsim-tutorial.7.md'},
        {'How to': [{title: f'howto/{x}.md'} for title, x in HOWTO]},
        {'Gallery': 'gallery.md'}, {'Table of settings': 'table.md'},
        {'Reference': ['tasks.md', *({title: [f'reference/{x}.md' for x in group if x in names]}
                                     for title, group in groups.items())]},
        {'Explanation': [{'Architecture': 'explanation/architecture.md'},
                         *(f'reference/{x}.md' for x in EXPLAINED),
                         {'Speed': 'explanation/performance.md'}, {'Changes': 'explanation/changes.md'}]},
    ]
    (folder / 'mkdocs.yml').write_text(yaml.safe_dump(settings, sort_keys=False), encoding='utf-8')


if __name__ == '__main__':
    main(str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]))
