"""manual.py - fragsim help on a terminal: man(1) where it finds the page, else the options."""

import os

from harness import Terminal, cases, equal, run, test

# found or not, it says nothing of -w; it shows how it was called and what it ignores
MAN = r'''#!/bin/sh
if [ "$1" = -w ]; then
	echo a path; echo a complaint >&2
	exit %d
fi
echo "man $*" $(grep SigIgn /proc/$$/status)
exit 5
'''


def on_terminal(folder, *args, env):
    """Status, and what a terminal shows of standard output."""
    with Terminal() as terminal:
        done = run(folder, *args, stdout=terminal.fd, env=env)
    return done.status, terminal.shown().decode(), done.err


def with_man(folder, status):
    """An environment whose man says that it has any page (0) or none."""
    (folder / 'bin').mkdir()
    man = folder / 'bin' / 'man'
    man.write_text(MAN % status, encoding='ascii')
    man.chmod(0o755)
    return {**os.environ, 'PATH': f'{folder}/bin:{os.environ["PATH"]}'}


@test
def a_page_is_opened(folder):
    """help CMD on a terminal is man's page, and man's status; nothing is ignored for it"""
    status, shown, err = on_terminal(folder, 'help', 'run', env=with_man(folder, 0))
    words = shown.split()
    equal((status, words[:4], err), (5, ['man', '--', 'fragsim-run', 'SigIgn:'], b''), 'outcome')
    ignored = int(words[4], 16)
    # SIGPIPE and SIGXFSZ: bits 12 and 24
    equal(ignored & (1 << 12 | 1 << 24), 0, 'signals that man would ignore')


@test
def no_page(folder):
    """help CMD on a terminal lists the options where man has no page"""
    env = with_man(folder, 16)
    equal(on_terminal(folder, 'help', 'run', env=env),
          (0, run(folder, 'run', '-h').out.decode(), b''), 'outcome')


@test
def no_man(folder):
    """help CMD on a terminal lists the options where there is no man"""
    env = {**os.environ, 'PATH': str(folder)}
    equal(on_terminal(folder, 'help', 'run', env=env),
          (0, run(folder, 'run', '-h').out.decode(), b''), 'outcome')


@cases('help run', 'help', 'run -h', '--help')
def not_on_a_terminal(folder, words):
    """man is not asked: without a terminal, or where nobody needs a page"""
    env = with_man(folder, 0)
    out = run(folder, *words.split(), env=env)
    equal((out.status, out.err), (0, b''), 'outcome')
    assert b'usage: fragsim ' in out.out, out.out
    if words != 'help run':
        equal(on_terminal(folder, *words.split(), env=env), (0, out.out.decode(), b''), 'on one')
