"""run.py - classes of blocks by the names of frameworks' functions and files, and what only looks like them.

    run.py PROGRAM

Prints TAP.  Each case is a training of two iterations that is written here by hand, and one block more whose frames
are those of a framework, or of a program that resembles it.  Frames of FSDP and DDP are those of real programs on
PyTorch 2.9.1 and 2.15.0; those of DeepSpeed, transformers and others follow their sources.
"""
import json
import os
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / 'formats' / 'snapshot'), str(HERE.parents[1] / 'support')]
from program import fragsim  # noqa: E402
from snaps import LARGE, M, Log, block, hole, pickled, segment, snapshot  # noqa: E402
from tap import Tap  # noqa: E402

TAP = Tap()
SITE = '/opt/venv/lib/python3.11/site-packages/'
WEIGHT, OTHER = 4 * M, 3 * M
MODULE = 'torch/nn/modules/module.py'
CASE = 77       # the line of the program that requests the block in question


def stack(*frames: str) -> list[dict]:
    """Frames as "file:function", innermost first; without a file native; in the end the program."""
    out = []
    for i, frame in enumerate(frames):
        file, _, name = frame.rpartition(' ')
        out.append({'name': name, 'filename': '??' if not file else file if file.startswith('/') else SITE + file,
                    'line': 10 + i if file else 0})
    return out


def program(line: int, name: str = '<module>') -> dict:
    return {'name': name, 'filename': '/home/me/train.py', 'line': line}


SETUP = [*stack(f'{MODULE} <lambda>', f'{MODULE} _apply'), program(5)]
FORWARD = [*stack('torch/nn/modules/linear.py forward', f'{MODULE} _call_impl'), program(20, 'step')]
BACKWARD = [{'name': 'torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)', 'filename': '??', 'line': 0}]
OPTIMIZER = [*stack('torch/optim/adam.py step'), program(30, 'step')]
PLAIN = [program(40, 'load')]


class Training:
    """Two weights, and twice: activations, gradients, optimizer state; `put` adds the block at a moment of the second."""

    def __init__(self, when: str, frames: list[dict], size: int, freed: str | None):
        self.log, self.at, self.live, self.names = Log().segment(LARGE, 256 * M), LARGE, {}, []
        for i in range(2):
            self.alloc(f'w{i}', SETUP, WEIGHT)
        for step in range(3):
            for part in ('load', 'forward', 'backward', 'between', 'optimizer', 'end'):
                if step == 1 and part == freed:
                    self.free('case')
                getattr(self, part)(step)
                if step == 1 and part == when:
                    self.alloc('case', frames, size)
                    if freed == 'at once':
                        self.free('case')
            if step == 2 and freed == 'later':
                self.free('case')

    def alloc(self, name: str, frames: list[dict], size: int) -> None:
        self.log.alloc(self.at, size, frames=frames)
        self.live[name] = (self.at, size)
        self.names.append(name)
        self.at += size

    def free(self, name: str) -> None:
        self.log.free(*self.live.pop(name))

    def load(self, step: int) -> None:
        self.alloc('x', PLAIN, M)

    def forward(self, step: int) -> None:
        self.alloc('a0', FORWARD, 2 * M)
        self.alloc('a1', FORWARD, 2 * M)

    def backward(self, step: int) -> None:
        for i in (1, 0):
            self.alloc(f'g{i}', BACKWARD, WEIGHT)
            self.free(f'a{i}')
        self.alloc('last', BACKWARD, M)

    def between(self, step: int) -> None:
        self.free('last')

    def optimizer(self, step: int) -> None:
        for i in range(2 if not step else 0):
            self.alloc(f'm{i}', OPTIMIZER, WEIGHT)
        self.alloc('tmp', OPTIMIZER, M)
        self.free('tmp')

    def end(self, step: int) -> None:
        for name in ('g0', 'g1', 'x'):
            self.free(name)

    def whole(self) -> dict:
        blocks, at = [], LARGE
        for addr, size in sorted(self.live.values()):
            blocks += ([hole(at, addr - at)] if addr > at else []) + [block(addr, size)]
            at = addr + size
        return snapshot([segment(LARGE, *blocks, hole(at, LARGE + 256 * M - at))], self.log)


def class_of(training: Training) -> str | None:
    """After the request of the block in question; no other block has its tag."""
    Path('in.pickle').write_bytes(pickled(training.whole()))
    events = [json.loads(line) for line in fragsim('trace', 'convert', '-q', 'in.pickle', '-').stdout.splitlines()[1:]]
    at = [i for i, e in enumerate(events) if e['op'] == 'alloc'][training.names.index('case')]
    fragsim('explain', '-q', '--at', str(at), '--top', '1000', '--json', 'out.json', 'in.pickle')
    return next(h['class'] for h in json.loads(Path('out.json').read_text())['moments'][-1]['holders']
                if h['tag'] == events[at]['tag'])


def case(name: str, wanted: set | str, frames: list[str], when: str = 'forward', size: int = OTHER,
         freed: str | None = None, own: str = 'step') -> None:
    got = class_of(Training(when, [*stack(*frames), program(CASE, own)], size, freed))
    told = 'no class of the model' if wanted is NOT_MODEL else wanted
    TAP.result(f'{name}: {told}', [] if got in (wanted if wanted is NOT_MODEL else {wanted}) else [f'got {got}'])


DDP = 'torch/nn/parallel/distributed.py'
REDUCER = 'c10d::Reducer::initialize_bucket_storage(c10d::Reducer::Bucket&)'
CALLS = (f'{MODULE} _call_impl', f'{MODULE} _wrapped_call_impl')
FSDP2, FSDP1 = 'torch/distributed/fsdp/_fully_shard/', 'torch/distributed/fsdp/'
ZERO = 'deepspeed/runtime/zero/'
NOT_MODEL = {None, 'activations', 'temporaries', 'long-lived'}


def test_buckets() -> None:
    case('buckets that DDP makes', 'gradients', [f'{DDP} _ddp_init_helper', f'{DDP} __init__'], 'load')
    case('buckets that DDP makes anew', 'gradients', [f'{DDP} _pre_forward', f'{DDP} forward', *CALLS])
    case('buckets of DDP by native frames', 'gradients', [f' {REDUCER}', f'{DDP} __init__'], 'load')
    case('a copy that DDP makes in a backward pass and frees', NOT_MODEL, [f' {REDUCER}', ' torch::autograd::Engine::thread_main()'],
         'backward', freed='at once')
    case('buffers that DDP sends', NOT_MODEL, ['torch/distributed/utils.py _sync_params_and_buffers', f'{DDP} _sync_module_states',
                                               f'{DDP} _pre_forward'], freed='backward')
    case('a bucket of ZeRO', 'gradients', [f'{ZERO}stage_1_and_2.py setup_buckets', f'{ZERO}stage_1_and_2.py backward'], 'backward')
    case('the buffer of ZeRO\'s backward pass', 'gradients', [f'{ZERO}stage_1_and_2.py backward', 'deepspeed/runtime/engine.py backward'],
         'backward')
    case('shards of gradients of FSDP 2', 'gradients', [f'{FSDP2}_fsdp_collectives.py allocate', f'{FSDP2}_fsdp_collectives.py foreach_reduce',
                                                        f'{FSDP2}_fsdp_param_group.py post_backward'], 'backward', freed='end')
    case('shards of gradients of FSDP 1', 'gradients', [f'{FSDP1}_runtime_utils.py _get_reduce_scatter_tensors',
                                                        f'{FSDP1}_runtime_utils.py _reduce_grad'], 'backward', freed='end')
    case('buckets of sequences of the program', NOT_MODEL, [], own='make_buckets')
    case('buckets of a package that is not distributed', NOT_MODEL, ['tools/data/buckets.py fill_bucket'], 'load')
    case('a program in a folder that is called zero', NOT_MODEL, ['/home/zero/run/helpers.py reduce_losses'], 'load')


def test_gathered() -> None:
    case('parameters that FSDP 2 gathers', 'weights', [f'{FSDP2}_fsdp_collectives.py allocate', f'{FSDP2}_fsdp_collectives.py foreach_all_gather',
                                                       f'{FSDP2}_fsdp_param_group.py unshard', *CALLS], freed='backward')
    case('parameters that FSDP 1 gathers', 'weights', ['torch/storage.py _resize_', 'torch/distributed/utils.py _alloc_storage',
                                                       f'{FSDP1}_flat_param.py _alloc_padded_unsharded_flat_param',
                                                       f'{FSDP1}_flat_param.py unshard', *CALLS], freed='backward')
    case('parameters that ZeRO gathers', 'weights', [f'{ZERO}partition_parameters.py _all_gather_dtype',
                                                     f'{ZERO}partitioned_param_coordinator.py fetch_sub_module', *CALLS], freed='backward')
    case('shards that FSDP keeps', 'weights', [f'{FSDP2}_fsdp_param.py _init_sharded_param', f'{FSDP2}_fsdp_param.py __init__'], 'load')
    case('a shard that ZeRO keeps', 'weights', [f'{ZERO}partition_parameters.py _partition_param', f'{ZERO}partition_parameters.py partition'],
         'load')
    case('features that the program gathers', NOT_MODEL, ['torch/distributed/distributed_c10d.py all_gather'], freed='backward',
         own='contrastive_loss')
    case('a function of the program that is called unshard', NOT_MODEL, [], freed='backward', own='unshard')


def test_caches() -> None:
    hf = 'transformers/cache_utils.py update'
    case('the cache of transformers', 'kv', [hf, 'transformers/models/llama/modeling_llama.py forward', *CALLS], freed='later')
    case('a cache of the program, by its function', 'kv', [], 'load', freed='later', own='allocate_kv_cache')
    case('a cache of a comprehension', 'kv', ['/home/me/train.py <listcomp>'], 'load', freed='later', own='make_kv_caches')
    case('a copy within a cache', NOT_MODEL, [hf, 'transformers/models/llama/modeling_llama.py forward', *CALLS], freed='at once')
    case('activations in a list', NOT_MODEL, [f'{MODULE} forward', *CALLS], freed='later', own='keep_outputs')
    case('tokens of a loop that is named after its cache', NOT_MODEL, [], 'load', freed='later', own='generate_with_kv_cache')
    case('activations of a forward pass that a cache is passed to', NOT_MODEL, ['torch/nn/modules/linear.py forward', *CALLS],
         freed='backward', own='run_kv_cache')


def test_averages() -> None:
    case('an average of the weights that begins late', 'weights', [], 'end', WEIGHT, own='update_ema')
    case('an average of the weights of a package', 'weights', ['diffusers/ema.py __init__'], 'end', WEIGHT)
    case('a copy of other bytes in an average\'s update', NOT_MODEL, [], 'end', OTHER, own='update_ema')
    case('a function with the letters', NOT_MODEL, [], 'end', WEIGHT, own='load_schema')
    case('a copy of the weights without a name', NOT_MODEL, [], 'end', WEIGHT)


def test_state() -> None:
    case('optimizer state that comes back', 'optimizer', ['/home/me/train.py <listcomp>'], 'between', WEIGHT, 'end', 'load_optimizer_state')
    case('state by a common name', 'optimizer', [], 'between', WEIGHT, 'end', 'optimizer_to')
    case('other bytes in such a function', NOT_MODEL, [], 'between', OTHER, 'end', 'optimizer_to')
    case('what comes back without a name is not called a gradient', NOT_MODEL, [], 'between', WEIGHT, 'end')


BLAS = ['torch/nn/modules/linear.py forward', *CALLS]


def test_workspaces() -> None:
    """Frames of Python alone: that of cuBLASLt comes directly after that of cuBLAS, from the same place."""
    for name, wanted, size, own in (('the workspace of cuBLASLt', 'workspaces', M, 'step'),
                                    ('activations that are requested later', 'activations', 0, 'step'),
                                    ('what follows from another place', 'activations', M, 'other')):
        training = Training('never', PLAIN, M, None)
        first = next(i for i, e in enumerate(training.log.events) if e.get('frames') == FORWARD)
        rest, training.log.events[first:] = training.log.events[first:], []
        training.alloc('blas', [*stack(*BLAS), program(CASE, 'step')], 8519680)
        if not size:
            training.alloc('between', PLAIN, M)
        training.alloc('case', [*stack(*BLAS), program(CASE, own)], M)
        for event in rest:
            training.log.add(**{k: v for k, v in event.items() if k != 'time_us'})
        Path('in.pickle').write_bytes(pickled(training.whole()))
        count = len(fragsim('trace', 'convert', '-q', 'in.pickle', '-').stdout.splitlines()) - 2
        done = fragsim('explain', '-v', '--at', str(count), 'in.pickle').stdout.decode()
        held = re.search(r'^ *held +(.*)$', done, re.M)
        both = f'workspaces {(8519680 + M) / M:.2f}' if wanted == 'workspaces' else 'workspaces 8.12'
        TAP.result(f'{name}: {wanted}', [] if held and both in held[1] else [f'got {held and held[1]}'])


def test_pools() -> None:
    """Without stacks: lifetimes say nothing of blocks in a private pool; a frame does."""
    for name, pool, frames, wanted in (('a block that stays', None, None, 'weights'), ('in a private pool', (1, 0), None, 'other'),
                                       ('in a private pool, with a frame', (1, 0), SETUP, 'weights')):
        log = Log(pool=pool, frames=frames).segment(LARGE, 20 * M).alloc(LARGE, 4 * M)
        for i in range(20):
            log.alloc(LARGE + 4 * M, 2 * M).free(LARGE + 4 * M, 2 * M)
        Path('in.pickle').write_bytes(pickled(snapshot([segment(LARGE, block(LARGE, 4 * M), hole(LARGE + 4 * M, 16 * M),
                                                                pool=pool or (0, 0))], log)))
        fragsim('explain', '-q', '--at', '40', '--json', 'out.json', 'in.pickle')
        got = [h['class'] for h in json.loads(Path('out.json').read_text())['moments'][-1]['holders']]
        TAP.result(f'{name}: {wanted}', [] if got == [wanted] else [f'got {got}'])


def main() -> int:
    os.chdir(tempfile.mkdtemp(prefix='classes-'))
    test_buckets()
    test_gathered()
    test_caches()
    test_averages()
    test_state()
    test_workspaces()
    test_pools()
    return TAP.finish()


if __name__ == '__main__':
    sys.exit(main())
