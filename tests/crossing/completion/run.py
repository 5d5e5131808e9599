"""run.py - completion: what the program offers, and what three shells make of it; prints TAP.

    run.py PROGRAM

What is offered is held against what the program says elsewhere: its lists, its
-h, and the complaint about a value that there is not. bash and zsh are driven at
a terminal, by keys; fish can be asked. A shell that is missing is skipped.
"""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from program import PATIENCE, PROGRAM, call as fragsim  # noqa: E402
from tap import Tap  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = ROOT / 'scripts' / 'completion'
DUMP = '\x18'           # the key that writes down the line, Ctrl-X

TAP = Tap()
report, skip, equal = TAP.result, TAP.skip, TAP.same


def offered(*words: str) -> list[str]:
    """The candidates without what is told of them, and the lines for the shell."""
    status, out, err = fragsim('complete', '--', *words)
    assert (status, err) == (0, ''), (words, status, err)
    return [line if line.startswith(':') else line.split('\t')[0] for line in out.splitlines()]


def options_of(*command: str) -> dict[str, str | None]:
    """What -h lists: long options, and what they take."""
    found = re.findall(r'^ .*?--([\w-]+)(?: ([A-Z:]+)(?: [A-Z]+)*)?  +\S', fragsim(*command, '-h')[1], re.M)
    return {name: takes or None for name, takes in found}


def names(text: str) -> list[str]:
    return re.findall(r'^ *([\w-]+) ', text, re.M)


def listed(*words: str) -> list[str]:
    """The names at the beginnings of lines."""
    return re.findall(r'^  ([\w-]+)  ', fragsim(*words)[1], re.M)


def check_lists() -> None:
    commands = listed('--help')
    equal('the commands are those of --help', offered(''), commands)
    equal('help offers them too', offered('help', ''), commands)
    scenarios = names(fragsim('trace', 'gen', '--list')[1])
    equal('the scenarios are those of gen --list', offered('trace', 'gen', ''), scenarios)
    verbs = [[x, verb] for x in ('trace', 'list') for verb in listed(x, '-h')]
    for group in ('trace', 'list'):
        equal(f'the verbs are those of {group} -h', offered(group, ''), listed(group, '-h'))
    for words in [[x] for x in commands if x not in ('trace', 'list')] + verbs + [
            ['trace', 'gen', x] for x in scenarios]:
        wanted = ['--' + x for x in options_of(*words)]
        assert '--help' in wanted, wanted
        equal(f'the options of {" ".join(words)} are those of -h', offered(*words, '--'), wanted)


def check_policies() -> None:
    policies = json.loads(fragsim('list', 'policies', '--json', '-')[1])['policies']
    every = [x['name'] for x in policies]
    equal('the policies', offered('run', '-p', ''), [*every, ':open'])
    for policy in policies:
        keys = [x['name'] for x in policy['params']]
        start = policy['name'] + ':'
        equal(f'the keys of {start}', offered('run', '-p', start),
              [*(f'{start}{x}=' for x in keys), ':open'] if keys else [])
        for key in policy['params']:
            words = ['true', 'false'] if key['type'] == 'bool' else []
            typed = f'{start}{key["name"]}='
            equal(f'the values of {typed}', offered('run', '--policy', typed),
                  [*(typed + x for x in words), ':open'])


def check_words() -> None:
    """A value that there is not is answered with those that there are."""
    for command in [*offered(''), *(f'trace {x}' for x in offered('trace', ''))]:
        words = command.split()
        for option, takes in options_of(*words).items():
            if takes not in ('WHAT', 'FORM', 'FORMAT'):
                continue
            said = fragsim(*words, f'--{option}', 'no-such', 'x', 'y')[2].split('no-such: ')[1]
            wanted = re.findall(r'[\w-]+', re.sub('^ ?use |no such form; there are:', '', said).replace(' or ', ' ')
                                .replace('no such format; there are', ''))
            equal(f'the words of {command} --{option}', sorted(offered(*words, f'--{option}', '')),
                  sorted(wanted))


# words that are there, and what the last one may become
CASES = [
    (['ver'], ['verify']),
    (['--'], ['--color', '--help', '--version']),
    (['--color', ''], ['auto', 'always', 'never']),
    (['--color=n'], ['--color=never']),
    (['--color', 'never', '--color=auto', 'ver'], ['verify']),
    (['--color', 'never', 'run', '--on-oom=s'], ['--on-oom=stop']),
    (['--colored', 'po'], []),
    (['nonsense', ''], []),
    (['run', ''], [':files\t']),
    (['list', 'policies', 'b'], ['bestfit', 'bfc', 'buddy']),
    (['list', 'policies', 'bestfit', 'bestfit:'], []),
    (['list', 'policies', './s'], [':files\t']),
    (['run', '-'], None),       # as `--`
    (['run', '--on-oom=s'], ['--on-oom=stop']),
    (['run', '--on-o', 'c'], ['continue']),             # cut short, as the program takes it
    (['run', '--on-oom', 'stop', ''], [':files\t']),
    (['run', '--', '--on-oom', ''], [':files\t']),      # no option any more
    (['run', '--', '-'], [':files\t']),
    (['run', '-qp', 'wor'], ['worstfit', ':open']),
    (['run', '-pbuddy', ''], [':files\t']),
    (['run', '--threads', ''], []),
    (['run', '--columns', 'h'], ['holes', ':open']),
    (['run', '--columns=step,h'], ['--columns=step,holes', ':open']),
    (['replay', '--columns', 'holes,step,h'], [':open']),       # each only once
    (['run', '--columns', 'step,al'], ['step,allocated', ':open']),     # all stands alone
    (['run', '--steps', 'a'], [':files\t']),
    (['run', '--steps=a'], [':files\t--steps=']),
    (['run', '-p', './own'], [':files\t', ':open']),
    (['run', '-p', 'bestfit:align=512,segment=2MiB,pool=0,m'],
     ['bestfit:align=512,segment=2MiB,pool=0,min_split=', ':open']),
    (['run', '-p', 'direct:'], []),
    (['run', '--policy=buddy:mi'], ['--policy=buddy:min=', ':open']),
    (['run', '--alloc-conf', 'max_split_size_mb:64,exp'],
     ['max_split_size_mb:64,expandable_segments:',
      'max_split_size_mb:64,expandable_segments_reserve:', ':open']),
    (['run', '--alloc-conf', 'expandable_segments:T'], ['expandable_segments:True', ':open']),
    (['diff', '-o', 'm'], [':files\t']),
    (['diff', '--output', 'rep'], [':files\t']),
    (['diff', '--format', 'mark'], ['markdown']),
    (['diff', '--format', 'g'], ['github']), (['diff', '--format', 'c'], ['csv']),
    (['diff', '--format', 'j'], ['json', 'junit']),
    (['fit', '--format', 'j'], ['json']),
    (['fit', '--output=c'], [':files\t--output=']),
    (['fit', '--settings', 'sh'], ['short', ':files\t']),
    (['fit', '--test', 'x'], [':files\t']),
    (['sweep', '--settings', 'n'], ['none', ':files\t']),
    (['sweep', '--plan', 's'], ['slurm']),
    (['sweep', '-o', 'x'], [':files\t']),
    (['sweep', '--merge=x'], [':files\t--merge=']),
    (['sweep', '--shard', 'a'], ['auto']),
    (['run', '--device', 'rtx-409'], ['rtx-4090']),
    (['trace', 'slice', '--only-device', ''], []),
    (['list', 'cards', 't'], ['t4']),
    (['run', '--device', 'a30:2'], ['a30:2g.12gb']), (['fit', '--device=a30:2'], ['--device=a30:2g.12gb']),
    (['explain', 'e'], [':files\t']),
    (['trace', 'gen', 'q'], ['qkv']),
    (['trace', 'gen', 'qkv', ''], []),
    (['trace', 'gen', 'random', '--si'], ['--sizes']),
    (['trace', 'gen', '-o', ''], [':files\t']),
    (['trace', 'gen', '-o', 'x', 'q'], ['qkv']),
    (['help', 'run', ''], []),
]


def check_cases() -> None:
    for words, wanted in CASES:
        if wanted is None:
            wanted = offered(*words[:-1], '--')
            wanted.remove('--help')
            equal('a dash is two', [x for x in offered(*words) if x != '--help'], wanted)
        else:
            equal(f'complete {words}', [*fragsim('complete', '--', *words)[1].splitlines()]
                  if wanted[:1] and wanted[0].startswith(':files') else offered(*words), wanted)
    equal('without a word, the commands', offered(), offered(''))
    equal('a gen word', sorted(offered('trace', 'gen', 'random', '--sizes', '')),
          sorted(re.findall(r'[\w-]+', re.search(r'--sizes WORD +.*?: (.*) \(', fragsim(
              'trace', 'gen', 'random', '-h')[1])[1])))


# what is typed before the tab, and the line after it
TYPED = [
    ('fragsim list polic', 'fragsim list policies '),
    ('fragsim run --place', 'fragsim run --placements '),
    ('fragsim run --on-oom st', 'fragsim run --on-oom stop '),
    ('fragsim run --on-oom=st', 'fragsim run --on-oom=stop '),
    ('fragsim run -p wor', 'fragsim run -p worstfit'),
    ('fragsim run -p worstfit:ali', 'fragsim run -p worstfit:align='),
    ('fragsim run -p worstfit:align=64,seg', 'fragsim run -p worstfit:align=64,segment='),
    ('fragsim run --policy=worstfit:ali', 'fragsim run --policy=worstfit:align='),
    ('fragsim run --alloc-conf max_s', 'fragsim run --alloc-conf max_split_size_mb:'),
    ('fragsim run trac', 'fragsim run trace.ndjson '),
    ('fragsim run --steps=trac', 'fragsim run --steps=trace.ndjson '),
    ('fragsim diff -o trac', 'fragsim diff -o trace.ndjson '),
    ('fragsim trace info ./a\\ b/c', 'fragsim trace info ./a\\ b/cde '),
    ('./fragsim trace gen qk', './fragsim trace gen qkv '),
    ('~/fragsim trace gen qk', '~/fragsim trace gen qkv '),
]

BASH_RC = r'''
set +o history
PS1='$ '
source "$COMPLETION/fragsim.bash"
dump() { printf '%s' "$READLINE_LINE" >"$OUT.part"; mv "$OUT.part" "$OUT"; READLINE_LINE=; READLINE_POINT=0; }
bind -x '"\C-x": dump'
bind 'set bell-style none'
touch "$OUT.ready"
'''

ZSH_RC = r'''
PS1='$ '
fpath=("$COMPLETION" $fpath)
autoload -Uz compinit
compinit -u -D
dump() { printf '%s' "$BUFFER" >"$OUT.part"; mv "$OUT.part" "$OUT"; BUFFER=; CURSOR=0 }
zle -N dump
bindkey -e
bindkey '^X' dump
touch "$OUT.ready"
'''


class Terminal:
    """An interactive shell, and the line that its keys have made."""

    def __init__(self, folder: Path, command: list[str], env: dict[str, str]) -> None:
        self.out = folder / 'line'
        self.child, self.master = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, {**env, 'OUT': str(self.out), 'TERM': 'dumb',
                                             'COMPLETION': str(SCRIPTS)})
        os.set_blocking(self.master, False)
        self.wait(Path(f'{self.out}.ready'))

    def drain(self) -> None:
        try:
            while os.read(self.master, 65536):
                pass
        except OSError:
            pass

    def wait(self, path: Path) -> None:
        end = time.monotonic() + PATIENCE
        while not path.exists():
            if time.monotonic() > end:
                raise TimeoutError(path.name)
            self.drain()
            time.sleep(0.005)

    def line_after(self, typed: str) -> str:
        os.write(self.master, f'{typed}\t{DUMP}'.encode())
        self.wait(self.out)
        text = self.out.read_text(encoding='utf-8')
        self.out.unlink()
        return text

    def close(self) -> None:
        os.close(self.master)           # a hang-up
        os.waitpid(self.child, 0)


def furnish(folder: Path) -> dict[str, str]:
    (folder / 'trace.ndjson').write_text('{}\n', encoding='ascii')
    (folder / 'a b').mkdir()
    (folder / 'a b' / 'cde').write_text('', encoding='ascii')
    (folder / 'bin').mkdir()
    for place in (folder / 'bin', folder):
        (place / 'fragsim').symlink_to(PROGRAM)
    return {**os.environ, 'PATH': f'{folder}/bin:{os.environ["PATH"]}', 'HOME': str(folder),
            'ZDOTDIR': str(folder), 'XDG_CONFIG_HOME': str(folder), 'LC_ALL': 'C.UTF-8'}


def check_terminal(shell: str, folder: Path, env: dict[str, str]) -> None:
    (folder / '.bashrc').write_text(BASH_RC, encoding='ascii')
    (folder / '.zshrc').write_text(ZSH_RC, encoding='ascii')
    command = {'bash': ['bash', '--noprofile', '--rcfile', str(folder / '.bashrc'), '-i'],
               'zsh': ['zsh', '-d', '-i']}[shell]
    terminal = Terminal(folder, command, env)
    for typed, wanted in TYPED:
        equal(f'{shell}: {typed}', terminal.line_after(typed), wanted)
    terminal.close()


def check_fish(folder: Path, env: dict[str, str]) -> None:
    for typed, wanted in TYPED:
        done = subprocess.run(
            ['fish', '--no-config', '-c', f'source {SCRIPTS}/fragsim.fish; complete -C $argv[1]',
             typed], cwd=folder, env=env, capture_output=True, text=True, check=False,
            timeout=PATIENCE)
        lines = [x.split('\t')[0] for x in done.stdout.splitlines()]
        word = wanted.strip().split(' ')[-1] if '\\' not in wanted else './a b/cde'
        equal(f'fish: {typed}', (lines, done.stderr), ([word], ''))


def check_shell(shell: str) -> None:
    if not shutil.which(shell):
        skip(shell, f'there is no {shell} (apt-get install {shell})')
        return
    with tempfile.TemporaryDirectory(prefix='completion-') as place:
        folder = Path(place).resolve()
        env = furnish(folder)
        if shell == 'fish':
            check_fish(folder, env)
        else:
            check_terminal(shell, folder, env)


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    os.chdir('/')           # no file of ours is named like one of the words
    check_lists()
    check_policies()
    check_words()
    check_cases()
    for shell in ('bash', 'zsh', 'fish'):
        check_shell(shell)
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv))
