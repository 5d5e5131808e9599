"""play.py - programs of ../corpus, with and without fragsim.watch(), in a process each.

    torch-run VERSION play.py [MODULE...] < CASES > ENDS

CASES: a JSON list of objects. program, words: what runs; env: its environment; watch: the arguments
of fragsim.watch(), null: without; threads: false, a backward runs in the thread that calls it;
output: a path, to which .out and .err are added. ENDS: a line of JSON for each: status, and the
seconds of processor time that it and its children took.

PyTorch and the modules are imported once: each program runs in a fork of this process, at the top of its stack, so
that it ends as any program does. The recorder of the truth is a stand-in: a program prints what the
allocator counted.
"""
import importlib
import json
import os
import runpy
import sys
import types

import torch


class Truth:
    base = None
    threads = True

    def __init__(self, *_args, **_more):
        torch.backends.cudnn.enabled = False    # there is none on the fake device
        torch.autograd.set_multithreading_enabled(self.threads)

    def record(self, **_options):
        self.base = 0

    def track(self, *_args, **_more):
        pass

    at = iteration = note = track

    def done(self, **_more):
        for key, value in sorted(torch.cuda.memory_stats().items()):
            if key.startswith(('allocated', 'reserved', 'num_', 'segment', 'requested', 'inactive')):
                print(key, value)


def become(case):
    """This process is the program's from here on."""
    for number, end in ((1, 'out'), (2, 'err')):
        os.dup2(os.open(f'{case["output"]}.{end}', os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
    for name, value in case['env'].items():
        os.environ[name] = value
    program = os.path.abspath(case['program'])
    sys.argv[:] = [program, '/nonexistent', *case['words']]
    sys.path[0] = os.path.dirname(program)
    Truth.threads = case['threads']
    sys.modules['truth'] = types.SimpleNamespace(Truth=Truth, line_of=lambda *_: 0)
    if case['watch'] is not None:
        import fragsim
        fragsim.watch(**case['watch'])
    return program


def serve():
    """The program that this process is to run; in the parent None, once all are done."""
    for case in json.load(sys.stdin):
        child = os.fork()
        if not child:
            return become(case)
        _, status, used = os.wait4(child, 0)
        print(json.dumps({'status': os.waitstatus_to_exitcode(status), 'seconds': used.ru_utime + used.ru_stime}),
              flush=True)
    return None


if __name__ == '__main__':
    for module in sys.argv[1:]:
        importlib.import_module(module)
    chosen = serve()
    if chosen:
        runpy.run_path(chosen, run_name='__main__')
