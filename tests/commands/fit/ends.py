"""ends.py - how fit ends, in every form, and that nothing depends on threads."""

import csv
import io
import json
import os
import signal
import subprocess
from pathlib import Path

from program import times, until_cpu

SECONDS = 120
OLD = b'what stood here before\n'
FORMATS = ('text', 'csv', 'json', 'markdown')
HEAD = '{"format":"fragsim-trace","version":1}\n'
GOOD = HEAD + ('{"op":"alloc","id":1,"size":30000000}\n{"op":"alloc","id":2,"size":1000}\n'
               '{"op":"free","id":1}\n{"op":"alloc","id":3,"size":25000000}\n')
INPUTS = {
    'good': GOOD, 'other': GOOD.replace('30000000', '45000000'),
    'bad': GOOD + '{"op":"free","id":77}\n', 'cut': GOOD[:-10], 'nothing': '',
    # no capacity is enough where a program may have none of it
    'nowhere': '{"op":"set_fraction","value":0}\n{"op":"alloc","id":1,"size":1000}\n',
    'marks': '{"op":"mark","name":"x"}\n',
}
GRIDS = {'grid': 'expandable_segments:True\n# a comment\n\nmax_split_size_mb:64 # another\r\n',
         'bad-grid': 'max_split_size_mb:64\nno_such:1\n', 'lone': 'garbage_collection_threshold:2'}

# options and traces: a word of the one line on standard error
WRONG = {
    'fit': {
        (): 'missing argument: TRACE', ('--up-to', '5KB', 'good'): '5KiB', ('--up-to', 'x', 'good'): '--up-to',
        ('--runs', '0', 'good'): '--runs', ('--runs', '-1', 'good'): '--runs',
        ('--runs', 'x', 'good'): '--runs', ('--headroom', 'good'): '--device CARD',
        ('--headroom', '--device-bytes', '0', 'good'): '--device CARD',
        ('--fail-if', 'x > 1', 'good'): 'smallest', ('--fail-if', 'reliable > +1%', 'good'): '+1%',
        ('--fail-if', 'reliable', 'good'): 'reliable', ('--fail-if', 'reliable > 1GB', 'good'): '1GiB',
        ('--format', 'xml', 'good'): 'markdown', ('-o', 'x.xml', 'good'): 'markdown',
        ('-o', '', 'good'): 'name of a file',
        ('-p', 'no', 'good'): 'bestfit',
        ('-p', 'bestfit', '--alloc-conf', 'x:1', 'good'): '--alloc-conf',
        ('--alloc-conf', 'no_such:1', 'good'): 'no_such', ('-', '-'): 'standard input',
        ('--json', '-', '--format', 'csv', 'good'): 'standard output',
        ('--json', '-', '-o', '-', 'good'): 'standard output',
        ('--json', 'x', '-o', './x', 'good'): 'two outputs',
        ('--json', 'good', 'good'): 'good', ('-o', './good', 'other', 'good'): 'good',
        ('--granularity', '0', 'good'): '--granularity', ('--threads', 'x', 'good'): '--threads',
        ('--device', 'no-card', 'good'): 'no-card', ('--bogus', 'good'): 'bogus',
        ('--profile', 'good', '--json', 'good', 'other'): 'profile',
            ('--spare', '5%', 'good'): '--device',
        ('--spare', '5', '--device-bytes', '1GiB', 'good'): 'percentage',
        ('--spare', '-1%', '--device-bytes', '1GiB', 'good'): 'percentage',
        ('--spare', '101%', '--device-bytes', '1GiB', 'good'): 'percentage',
        ('--spare', 'nan%', '--device-bytes', '1GiB', 'good'): 'percentage',
        ('--device-bytes', '0', 'good'): 'smallest',
        ('--together', '--device', 't4', 'good', 'other'): '--device',
        ('--settings', 'no-file', 'good'): '"short"', ('--settings', '.', 'good'): 'directory',
        ('--settings', 'bad-grid', 'good'): 'line 2', ('--settings', 'lone', 'good'): 'line 1',
        ('--settings', 'grid', '--json', 'grid', 'good'): 'grid',
        ('--test', 'good', '--json', 'good', 'other'): 'good', ('--test', '-', '-'): 'standard input',
    },
}
# options and traces: the status
ENDS = {
    'fit': {
        ('good',): 0, ('good', 'other'): 0, ('marks',): 0, ('nowhere',): 1, ('good', 'nowhere'): 1,
        ('--up-to', '1MiB', 'good'): 1, ('--runs', '1', '-p', 'pytorch', 'good'): 1,
        ('--fail-if', 'smallest > 1', 'good'): 1, ('--fail-if', 'reliable >= 1KiB', 'good'): 1,
        ('--fail-if', 'runs > 0', 'good'): 1, ('--fail-if', 'smallest<1', 'good'): 0,
        ('--fail-if', 'reliable == 3', 'good'): 0, ('--fail-if', 'runs<=0', 'good'): 0,
        ('--fail-if', 'smallest != 0', 'good'): 1, ('bad',): 4, ('cut',): 4, ('nothing',): 4,
        ('none',): 4, ('good', 'bad'): 4, ('--fail-if', 'smallest > 1', 'bad'): 4,
        ('--lenient', '-q', 'bad'): 0, ('--json', '/dev/full', 'good'): 6,
        ('--json', 'no/x', 'good'): 6, ('--json', '.', 'good'): 6,
        ('--fail-if', 'smallest > 1', '-o', '/dev/full', 'good'): 6,
        ('--headroom', '--device-bytes', '1GiB', 'good'): 0,
        # it does not fit there, even with no other process
        ('--headroom', '--device-bytes', '1MiB', 'good'): 1,
            ('--device-bytes', '1GiB', 'good'): 0, ('--device-bytes', '1MiB', 'good'): 1,
        ('--device-bytes', '1MiB', '--settings', 'none', 'good'): 1,
        ('--device-bytes', '1GiB', '--settings', 'none', 'good'): 0,
        ('--settings', 'grid', 'good'): 0, ('--settings', 'grid', '--exact', 'good'): 0,
        ('--settings', 'short', '-p', 'bestfit', 'good'): 0,
        # a test that needs more is a figure, but on a device it fails
        ('--test', 'other', 'good'): 0, ('--device-bytes', '40MiB', '--test', 'other', 'good'): 1,
        ('--device-bytes', '1GiB', '--test', 'other', 'good'): 0,
        ('--test', 'bad', 'good'): 4, ('--test', 'none', 'good'): 4,
    },
}


def is_one(kind: str, text: bytes) -> bool:
    """Is it of that format?"""
    if kind == 'json':
        return json.loads(text)['version'] == 3
    if kind == 'csv':
        rows = list(csv.reader(io.StringIO(text.decode())))
        return len(rows) > 1 and len({len(row) for row in rows}) == 1
    if kind == 'markdown':
        rows = [row for row in text.decode().splitlines() if row.startswith('|')]
        return len(rows) > 1 and len({row.replace('\\|', '').count('|') for row in rows}) == 1
    return bool(text)


def unproven(command: str, said: dict, whole: dict) -> list:
    """What an interrupted answer must not have; whole: that of a search to its end."""
    assert command == 'fit'
    return [f'more than was seen: {x}' for x, all_of_it in zip(said['fits'], whole['fits'])
            if any(x[name] not in (None, all_of_it[name]) for name in ('smallest', 'reliable'))
            or (x['runs'] and x['examined_to'] is None and x['reliable'] is None)]


class Ends:
    def __init__(self, tap: object, program: str, folder: Path) -> None:
        self.tap, self.program, self.folder = tap, program, folder

    def run(self, *args: str, **how: object) -> tuple:
        how.setdefault('stdin', subprocess.DEVNULL)
        how.setdefault('stdout', subprocess.PIPE)
        done = subprocess.run([self.program, *args], stderr=subprocess.PIPE, cwd=self.folder,
                              timeout=SECONDS, check=False, **how)
        return done.returncode, done.stdout, done.stderr.decode()

    def files(self) -> dict:
        return {x.name: x.read_bytes() for x in self.folder.iterdir()}

    def wrong(self, command: str) -> None:
        faults = []
        before = self.files()
        for args, words in WRONG[command].items():
            status, out, err = self.run(command, *args)
            if status != 2 or out or err.count('\n') != 1 or words not in err:
                faults.append(f'{args}: {status}, {out[:80]!r}, {err!r}')
            if self.files() != before:
                faults.append(f'{args}: files have changed')
        self.tap.result(f'{command}: wrong usage is one line that says what is wrong', faults)

    def end(self, command: str, kind: str, args: tuple, wanted: int) -> list:
        (self.folder / 'out').write_bytes(OLD)
        before = self.files()
        status, out, err = self.run(command, *(() if '-q' in args and kind == 'text' else
                                               ('--format', kind)), '-o', 'out', *args)
        after = self.files()
        quiet = '-q' in args and kind == 'text'
        return [f'{what}: {args}: {status}, {err!r}' for bad, what in (
            (status != wanted, f'not {wanted}'),
            (wanted > 1 and after != before, 'a file was harmed'),
            (after.keys() != before.keys(), 'a file was left behind'),
            (wanted > 1 and err.count('\n') != 1, 'not one line'),
            (wanted in (2, 4) and out, 'output'),
            (wanted < 2 and not quiet and after['out'] != out, 'not the same in a file'),
            (wanted < 2 and not is_one(kind, after['out']), f'no {kind}')) if bad]

    def ends(self, command: str) -> None:
        """Every end in every format, on standard output and in a file that was there before."""
        for kind in FORMATS:
            self.tap.result(f'{command} as {kind}: every end has its status', [
                fault for args, wanted in ENDS[command].items()
                for fault in self.end(command, kind, args, wanted)])
        (self.folder / 'out').unlink()

    def standard_output(self, command: str) -> None:
        faults = []
        for kind in FORMATS:
            with open('/dev/full', 'wb') as full:
                status, _, err = self.run(command, '--format', kind, 'good', stdout=full)
            if status != 6 or 'standard output' not in err:
                faults.append(f'{kind} on a full disk: {status}, {err!r}')
            reader, writer = os.pipe()
            os.close(reader)
            status, _, err = self.run(command, '--format', kind, 'good', stdout=writer)
            os.close(writer)
            if (status, err) != (6, ''):
                faults.append(f'{kind} that nobody reads: {status}, {err!r}')
        status, out, err = self.run(command, '-q', 'good')
        if (status, out, err) != (0, b'', ''):
            faults.append(f'-q: {status}, {out!r}, {err!r}')
        self.tap.result(f'{command}: standard output that is full, closed, or not wanted', faults)

    def inputs(self, command: str) -> None:
        def answer(*args: str, **how: object) -> tuple:
            status, out, err = self.run(command, '-q', '--json', '-', *args, **how)
            said = json.loads(out) if out else {'traces': [{'path': err}]}
            del said['traces'][0]['path']
            return status, said

        wanted = answer('good')
        faults = []
        for name, tool in (('good.gz', 'gzip'), ('good.zst', 'zstd')):
            with open(self.folder / name, 'wb') as to:
                subprocess.run([tool, '-qc', str(self.folder / 'good')], stdout=to, check=True)
        self.run('trace', 'convert', '-q', 'good', 'good.fsb')
        faults += [f'{name}: not the same' for name in ('good.gz', 'good.zst', 'good.fsb')
                   if answer(name) != wanted]
        with open(self.folder / 'good', 'rb') as text:
            if answer('-', stdin=text) != wanted:
                faults.append('standard input: not the same')
        self.tap.result(f'{command}: the same of a pipe and of every form', faults)

    def threads(self) -> None:
        self.run('trace', 'gen', 'training', '--layers', '3', '--iterations', '2', '-o', 'more')
        faults = []
        for args in (('fit', '--map', 'good', 'other', 'more'),
                     ('fit', '--settings', 'all', '--exact', '-v', 'good', 'more'),
                     ('fit', '--device-bytes', '300MiB', '--test', 'other', 'good', 'more')):
            for kind in FORMATS:
                said = {self.run(*args, '--format', kind, '--threads', n) for n in '128'}
                if len(said) > 1 or not next(iter(said))[1]:
                    faults.append(f'{args} as {kind}: not the same with other threads, or nothing')
        self.tap.result('threads make no difference', faults)

    def interrupted(self) -> None:
        """What is proven is printed, and nothing else."""
        self.run('trace', 'gen', 'random', '--events', str(times(30000, 200000)), '-o',
                 'long')
        faults, seen = [], 0
        whole = {'fit': json.loads(self.run('fit', '-q', '--json', '-', 'long')[1])}
        for command, wait in (('fit', y) for y in (0.02, 0.05, 0.1, 0.2, 0.4)):
            with subprocess.Popen([self.program, command, '-q', '--json', '-', '-o', 'words.txt',
                                   'long'], stdout=subprocess.PIPE, cwd=self.folder) as process:
                until_cpu(process, wait)
                process.send_signal(signal.SIGINT)
                out, _ = process.communicate(timeout=SECONDS)
            if process.returncode not in (0, 130):
                faults.append(f'{command}: status {process.returncode}')
            if process.returncode != 130 or not out:
                continue
            seen += 1
            faults += unproven(command, json.loads(out), whole[command])
            words = (self.folder / 'words.txt').read_text()
            if 'interrupted' not in words or 'on any device' in words or str(2**64 - 1) in words:
                faults.append(f'{command}: {words}')
        self.tap.result('Ctrl-C prints what is proven', faults, not seen and 'nothing was seen')


def check(tap: object, program: str, folder: Path) -> None:
    for name, text in {**INPUTS, **GRIDS}.items():
        (folder / name).write_text(text, encoding='ascii')
    ends = Ends(tap, program, folder)
    for command in ('fit',):
        ends.wrong(command)
        ends.ends(command)
        ends.standard_output(command)
        ends.inputs(command)
    ends.threads()
    ends.interrupted()
