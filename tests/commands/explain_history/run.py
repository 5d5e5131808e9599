#!/usr/bin/python3
"""run.py - what explain and run say of a program's history before an out-of-memory.

    run.py PROGRAM      prints TAP

Snapshots of small programs, written event by event: all blocks have 20 MiB and a segment of their
own, so what is alive at the failure, and who made it, is known by counting.
"""
import json
import pickle
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'support'))
from program import call  # noqa: E402
from tap import Tap  # noqa: E402

BLOCK = 20 << 20
TAP = Tap()


def frames(*calls: str) -> list:
    """Of 'LINE FUNCTION', the innermost first, in train.py, or 'LINE FUNCTION FILE' of PyTorch."""
    parts = [[*c.split(), ''][:3] for c in calls]
    return [{'filename': f'/opt/site-packages/torch/{file}' if file else '/home/me/train.py',
             'line': int(line), 'name': name} for line, name, file in parts]


class Program:
    """A program on a device of so many blocks."""
    def __init__(self, room: int) -> None:
        self.events, self.marks, self.segments = [], [], []
        self.free, self.time, self.room = [], 1000, room

    def note(self, action: str, addr: int, calls: tuple = (), **more: int) -> None:
        self.time += 1
        self.events.append({'action': action, 'addr': addr, 'size': BLOCK, 'stream': 0,
                            'time_us': self.time, 'frames': frames(*calls), **more})

    def alloc(self, *calls: str) -> int:
        if not self.free:
            assert len(self.segments) < self.room
            self.segments.append((len(self.segments) + 1) << 32)
            self.note('segment_alloc', self.segments[-1], calls)
            self.free.append(self.segments[-1])
        addr = self.free.pop(0)
        self.note('alloc', addr, calls)
        return addr

    def release(self, *addrs: int) -> None:
        for addr in addrs:
            self.note('free_requested', addr)
            self.note('free_completed', addr)
            self.free = sorted([*self.free, addr])

    def fail(self, *calls: str) -> int:
        """Everything is in use. Returns the step."""
        assert not self.free and len(self.segments) == self.room
        self.note('oom', 0, calls, device_free=0)
        steps = [e['action'] for e in self.events[:-1]]
        return (steps.count('alloc') + steps.count('free_requested') + 2 * steps.count('oom')
                + 2 * len(self.marks))

    def step(self) -> None:
        self.time += 1
        for stage in ('START', 'END'):
            self.marks.append({'name': 'Optimizer.step#SGD.step', 'stage': stage, 'device': 0,
                               'time_us': self.time})
            self.time += 1

    def snapshot(self) -> dict:
        live = set(self.segments) - set(self.free)
        return {'device_traces': [self.events], 'external_annotations': self.marks,
                'segments': [{'device': 0, 'address': a, 'total_size': BLOCK, 'stream': 0,
                              'segment_type': 'large', 'allocated_size': BLOCK * (a in live),
                              'active_size': BLOCK * (a in live), 'requested_size': BLOCK,
                              'segment_pool_id': (0, 0), 'is_expandable': False, 'frames': [],
                              'blocks': [{'address': a, 'size': BLOCK, 'requested_size': BLOCK,
                                          'state': 'active_allocated' if a in live
                                          else 'inactive', 'frames': []}]}
                             for a in self.segments]}

    def weights(self, count: int) -> None:
        for _ in range(count):
            self.alloc('3 build', '90 main')


def attempt(p: Program, count: int, *calls: str) -> list:
    return [p.alloc('20 forward', *calls) for _ in range(count)]


def retry_in_handler() -> tuple:
    p = Program(10)
    p.weights(3)
    attempt(p, 7, '30 attempt', '51 main')
    failed = p.fail('20 forward', '30 attempt', '51 main')
    last = p.fail('20 forward', '30 attempt', '53 main')
    return p, {'verdict': 'failed_attempt', 'requested_by': '"train.py:20 forward"',
               'recorded_ooms': [failed, last],
               'failed_attempt': {'failed_at': failed, 'left_behind': 7 * BLOCK, 'blocks': 7,
                                  'tag': '"train.py:20 forward"'}}


def retry_after_release() -> tuple:
    p = Program(10)
    p.weights(3)
    made = attempt(p, 7, '30 attempt', '51 main')
    p.fail('20 forward', '30 attempt', '51 main')
    p.release(*made)
    attempt(p, 7, '30 attempt', '55 main')
    p.fail('20 forward', '30 attempt', '55 main')
    return p, {'verdict': 'capacity', 'failed_attempt': None}


def fallback() -> tuple:
    p = Program(10)
    p.weights(3)
    attempt(p, 7, '30 attempt', '51 main')
    p.fail('20 forward', '30 attempt', '51 main')
    p.fail('70 by_parts', '60 main')
    return p, {'verdict': 'capacity', 'failed_attempt': None,
               'requested_by': '"train.py:70 by_parts"'}


def backward() -> tuple:
    p = Program(10)
    p.weights(3)
    attempt(p, 7, '30 attempt', '51 main')
    step = p.fail()
    return p, {'verdict': 'capacity', 'requested_by': '"train.py:20 forward"',
               'frames_at': step - 1, 'frames': ['/home/me/train.py:20 forward',
                                                 '/home/me/train.py:30 attempt',
                                                 '/home/me/train.py:51 main']}


def trained(room: int) -> Program:
    """Three steps, each with three blocks that it frees."""
    p = Program(room)
    p.weights(4)
    for _ in range(3):
        made = attempt(p, 3, '40 main')
        p.release(*made)
        p.step()
    return p


def evaluation() -> tuple:
    """Seven blocks more than the three that were alive before at once, of five passes."""
    p = trained(14)
    for _ in range(5):
        p.alloc('61 main')
        p.alloc('20 forward', '62 main')
    p.fail('61 main')
    return p, {'verdict': 'accumulation'}


def step_again() -> tuple:
    """Only PyTorch's frames show that the step is tried again, not gone on with."""
    step = '80 step optim/sgd.py', '70 use_grad optim/optimizer.py'
    p = Program(10)
    p.weights(3)
    for _ in range(7):
        p.alloc('90 add optim/sgd.py', *step, '61 main')
    failed = p.fail('90 add optim/sgd.py', *step, '61 main')
    p.fail('90 add optim/sgd.py', *step, '63 main')
    return p, {'verdict': 'failed_attempt',
               'failed_attempt': {'failed_at': failed, 'left_behind': 7 * BLOCK, 'blocks': 7,
                                  'tag': '"train.py:61 main"'}}


def layers() -> tuple:
    """The first pass of a loop over layers that begins and fails looks like ten passes."""
    p = Program(20)
    p.weights(10)
    for _ in range(10):
        p.alloc('44 main')
    p.fail('44 main')
    return p, {'verdict': 'capacity', 'accumulation': None}


def check_leak(path: str) -> None:
    """A block of each iteration stays; without stacks so few of them can be layers of one pass."""
    lines = [{'format': 'fragsim-trace', 'version': 1,
              'device': {'total_bytes': '22MiB', 'granularity_bytes': '1MiB'}}]
    lines += [{'op': 'alloc', 'id': f'w{i}', 'size': '1MiB', 'tag': 'weights'} for i in range(10)]
    for i in range(14):
        lines += [{'op': 'mark', 'name': f'iteration {i}'},
                  {'op': 'alloc', 'id': f'k{i}', 'size': '1MiB', 'tag': 'kept'},
                  {'op': 'alloc', 'id': f's{i}', 'size': '1MiB', 'tag': 'scratch'},
                  {'op': 'free', 'id': f's{i}'}]
    Path(path).write_text(''.join(json.dumps(x) + '\n' for x in lines), encoding='ascii')
    policy = '-p', 'bestfit:segment=1MiB,align=1MiB', path
    moment = json.loads(call('explain', '-q', '--json', '-', *policy)[1])['moments'][0]
    # 10 + 12 blocks are the device: the scratch of the twelfth fails, after eleven whole ones
    TAP.same('a leak by marks alone', [moment.get(k) for k in ('verdict', 'step', 'leak')],
             ['leak', 10 + 11 * 4 + 2, {'bytes': 10 << 20, 'since': 10 + 4 + 1, 'per_iteration': 1 << 20,
                                        'iterations': 11, 'tag': 'kept'}])
    said = 'leak: 10.00 MiB of kept, 1.00 MiB per iteration over 11 iterations, none freed'
    for command in 'explain', 'run':
        out = call(command, *policy)[1]
        TAP.ok(said in out, f'{command} says so', out)


# of recorded/programs.py: the verdict, and the line of what it names
RECORDED = {
    'retry_with_log': ('failed_attempt', 'programs.py:29 step'),
    'retry_in_handler': ('failed_attempt', 'programs.py:29 step'),
    'suspended_generator': ('failed_attempt', 'programs.py:67 passes'),
    'validation_without_no_grad': ('accumulation', 'programs.py:88 validation_without_no_grad'),
    # 880 MiB and 16 of weights, which are in two segments; 2.9 keeps 17 MiB of workspaces more
    'retry_when_released-2.15': ('capacity', None),
    'retry_when_released-2.9': ('capacity', None), 'load': ('capacity', None),
    'first_step': ('capacity', None),
}


def check_recorded() -> None:
    """Programs under PyTorch: what each did is known, and no other is accused."""
    for path in sorted((Path(__file__).parent / 'recorded').glob('*.pickle.gz')):
        name = path.name.removesuffix('.pickle.gz')
        verdict, line = RECORDED.get(name) or RECORDED[name.partition('-')[0]]
        moment = json.loads(call('explain', '-q', '--json', '-', str(path))[1])['moments'][0]
        said = [moment[x]['tag'] for x in ('failed_attempt', 'accumulation', 'leak') if moment[x]]
        TAP.same(path.name, [moment['verdict'], said], [verdict, [line] if line else []])


def main() -> int:
    check_recorded()
    with tempfile.TemporaryDirectory() as folder:
        check_leak(f'{folder}/leak.ndjson')
        for case in (retry_in_handler, retry_after_release, fallback, backward, evaluation,
                     step_again, layers):
            program, wanted = case()
            path = f'{folder}/{case.__name__}.pickle'
            Path(path).write_bytes(pickle.dumps(program.snapshot()))
            _, out, err = call('explain', '-q', '--json', '-', path)
            moment = json.loads(out)['moments'][0] if out else {'verdict': err}
            text = call('explain', path)[1]
            TAP.ok(len(text.splitlines()) <= 8, 'eight lines', text)
            TAP.same(case.__name__, {k: moment.get(k) for k in wanted},
                     {k: json.loads(v) if isinstance(v, str) and v[0] == '"' else
                      {m: json.loads(n) if isinstance(n, str) else n for m, n in v.items()}
                      if isinstance(v, dict) else v for k, v in wanted.items()}, moment['verdict'])
            if case is retry_in_handler:
                out = call('run', path)[1]
                TAP.ok('requested by train.py:20 forward at event' in out.splitlines()[0]
                       and 'OOMs      2 recorded' in out, 'run: the code, and how many failed', out)
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
