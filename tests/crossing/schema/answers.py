"""answers.py - what answers and lists write is what their schemas say, and nothing else is.

Of each document every member is taken out once, one is added to each object, and each value is
replaced by one of a type that it never has: none of that may pass.
"""
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import mutants
from program import times
from tap import Tap

MIB = 1 << 20
CORPUS = Path(__file__).resolve().parents[2] / 'oracles' / 'corpus'


def trace(*sizes: int, devices: int = 1) -> str:
    """Blocks that are freed in the order in which they were allocated, two live at a time."""
    lines: list[dict] = [{'format': 'fragsim-trace', 'version': 1,
                          'devices': [{'context_bytes': MIB * d} for d in range(devices)]}]
    for i, size in enumerate(sizes):
        lines.append({'op': 'alloc', 'id': i, 'size': size, 'device': i % devices})
        if i:
            lines.append({'op': 'free', 'id': i - 1})
    return ''.join(json.dumps(x) + '\n' for x in lines)


# two segments that a block in each keeps from going back, on a device that has no other memory
SHORT = ('{"format":"fragsim-trace","version":1,"device":{"total_bytes":"8MiB"}}\n'
         + ''.join(json.dumps({'op': 'alloc', 'id': i, 'size': MIB * (3 if i & 1 else 1), 'tag': 'x'}) + '\n'
                   for i in range(4))
         + '{"op":"free","id":1}\n{"op":"free","id":3}\n'
         '{"op":"alloc","id":9,"size":"4MiB"}\n{"op":"free","id":9}\n')
TRACES = {
    'short': SHORT,
    'one': trace(30 * MIB, 9 * MIB, 55 * MIB, 21 * MIB, 3 * MIB),
    'other': trace(40 * MIB, 5 * MIB, 12 * MIB),
    'pair': trace(30 * MIB, 9 * MIB, 55 * MIB, 21 * MIB, devices=2),
    'waits': trace(30 * MIB, 9 * MIB) + '{"op":"record_stream","id":1,"stream":"x"}\n'
             '{"op":"free","id":1,"pending":true}\n',
    'nothing': '{"format":"fragsim-trace","version":1,"events":[]}\n',
    'ended': '{"format":"fragsim-trace","version":1,"meta":{"ends_at_oom":{"step":1,"size":5000000}}}\n'
             '{"op":"alloc","id":0,"size":3000000}\n{"op":"alloc","id":1,"size":5000000}\n',
}
MESSAGES = {
    'message': 'CUDA out of memory. Tried to allocate 64.00 MiB (GPU 0; 4.00 GiB total capacity; '
               '3.35 GiB already allocated; 0 bytes free; 3.41 GiB reserved in total by PyTorch)\n',
    'few': 'RESOURCE_EXHAUSTED: Out of memory while trying to allocate 7406166528 bytes.\n',
    'figures': 'memory allocated: 2.00 GB\nmemory reserved: 3.00 GB\n',
    'figures2': 'memory allocated: 2.50 GB\nmemory free: 3.00 GB\n',
}
# what it is, command, exit status
COMMANDS = {
    'fragsim-accounts': (
        ('two texts', ('diff', 'figures', 'figures2'), 0),
    ),
    'fragsim-message': (
        ('memory figures', ('explain', 'figures'), 0),
        ('a message', ('explain', 'message'), 0),
        ('without figures', ('explain', 'few'), 0),
    ),
    'fragsim-explain': (
        ('an out-of-memory', ('explain', '-p', 'bestfit:segment=4MiB', 'short'), 0),
        ('two devices, and moves', ('explain', '--moves', '3', '-p', 'pytorch', '--device-bytes',
                                    '70MiB', 'pair'), 0),
        ('a peak without limits', ('explain', 'one'), 0),
        ('a step', ('explain', '--at', '2', '-p', 'direct', 'other'), 0),
        ('blocks that wait', ('explain', '--at', '4', '-p', 'bestfit', 'waits'), 0),
        ('the end of a recording at its OOM', ('explain', 'ended'), 0),
        ('nothing to explain', ('explain', 'nothing'), 0),
        ('no row of any list', ('explain', '--top', '0', '-p', 'bestfit:segment=4MiB', 'short'), 0),
        ('blocks that wait, and none of them', ('explain', '--top', '0', '--at', '4', '-p', 'bestfit',
                                                'waits'), 0),
    ),
    'fragsim-fit': (
        ('the smallest device', ('fit', '--settings', 'short', '--test', 'other', 'one'), 0),
        ('cut', ('fit', '--settings', 'short', '--top', '2', 'one'), 0),
        ('a policy beside', ('fit', '--settings', 'short', '-p', 'buddy', 'one', 'other'), 0),
        ('a device', ('fit', '--settings', 'short', '--device', 't4', 'one'), 0),
        ('the end of a recording at its OOM', ('fit', '--settings', 'short', 'ended'), 0),
        ('a device that is too small',
         ('fit', '--settings', 'short', '--device-bytes', '64MiB', '--test', 'other', 'one'), 1),
        ('one trace', ('fit', 'one'), 0),
        ('every stretch, cut', ('fit', '--map', '--top', '0', '-p', 'pytorch', 'one', 'other'), 0),
        ('every stretch', ('fit', '--map', '--headroom', '--device', 't4', 'one'), 0),
        ('two traces', ('fit', '-p', 'pytorch', '-p', 'buddy', 'one', 'other'), 0),
        ('at the same time', ('fit', '--together', 'one', 'other'), 0),
        ('with an offset', ('fit', '--together', '--offset', '1', 'one', 'other'), 0),
        ('two devices', ('fit', '-p', 'bestfit', 'pair'), 0),
        ('nothing to allocate', ('fit', '-p', 'bestfit', '--map', 'nothing'), 0),
        ('the end of a recording at its OOM', ('fit', 'ended'), 0),
        ('nowhere', ('fit', '--up-to', '64MiB', '-p', 'pytorch', '--map', 'one'), 1),
    ),
    'fragsim-info': (
        ('one trace', ('trace', 'info', 'one'), 0),
        ('two devices', ('trace', 'info', 'pair'), 0),
        ('blocks that wait', ('trace', 'info', 'waits'), 0),
        ('nothing to allocate', ('trace', 'info', 'nothing'), 0),
        ('a snapshot', ('trace', 'info', str(CORPUS / 'leak_hook.pickle.gz')), 0),
        ('the snapshot of an OOM', ('trace', 'info', str(CORPUS / 'oom_fragmentation.pickle.gz')), 0),
    ),
    'fragsim-policies': (
        ('all', ('list', 'policies'), 0),
        ('one without keys', ('list', 'policies', 'direct'), 0),
    ),
    'fragsim-settings': (
        ('all', ('list', 'settings'), 0),
        ('all, as a format', ('list', 'settings', '--format', 'json'), 0),
    ),
    'fragsim-cards': (
        ('all', ('list', 'cards'), 0),
        ('named ones, with their sources', ('list', 'cards', 't4', 'h100-80gb', 'gtx-1650'), 0),
    ),
    'fragsim-placement': (
        ('one trace', ('plan', 'one'), 0),
        ('two devices', ('plan', '-p', 'bestfit', 'pair'), 0),
        ('nothing to allocate', ('plan', '-p', 'bestfit', 'nothing'), 0),
        ('a capacity that is too small', ('plan', '--alone', '--capacity', '64MiB', 'one'), 1),
        ('no time', ('plan', '--alone', '--time', '0', 'other'), 0),
    ),
    'fragsim-ranks': (
        ('four ranks, one of which stands out', ('ranks', '-p', 'direct', 'one', 'other', 'other',
                                                  'short'), 0),
        ('two', ('ranks', 'one', 'short'), 0),
        ('one stands out, cut', ('ranks', '--top', '0', '-p', 'direct', 'one', 'other', 'other', 'short'),
         0),
        ('two devices', ('ranks', '-p', 'pytorch', '--device-bytes', '70MiB', 'pair'), 0),
        ('nothing to allocate', ('ranks', 'nothing'), 0),
    ),
    'fragsim-predict': (
        ('numbers of one', ('predict', '--at', '3,8', '--largest', '--up-to', '5', '--device', '1GiB',
                            '-p', 'bestfit', 'one=1', 'one=2'), 0),
        ('several changes, cut', ('predict', '--top', '0', '--hoist', '-p', 'bestfit', 'one'), 0),
        ('several changes', ('predict', '--scale', '1/2', '--hoist', '-p', 'bestfit', 'one'), 0),
        ('the usual settings', ('predict', '--split', '1MiB', 'one'), 0),
        ('two devices', ('predict', '--preallocate', '1MiB', '-p', 'buddy', 'pair'), 0),
        ('nothing to change', ('predict', '--hoist', '-p', 'bestfit', 'nothing'), 0),
    ),
}
FREE = ('params', 'ops', 'versions')    # whatever a policy or a trace has
OPTIONAL = ('map', 'together', 'waits', 'more', 'recording', 'recorded_log', 'host', 'expects', 'least',
            'power_of_two')
# only where `list cards` was asked for that card by its name
OF_A_NAMED_CARD = ('reported', 'by', 'source', 'context_message', 'context_source')
EITHER = ('default', 'grows', 'id', 'ids', 'pool', 'proven', 'trace_fits', 'stream', 'waits')   # of several types


def wrong_values(value: object, name: str) -> list[object]:
    """Values of types that never stand there. What is null may be a number or text elsewhere;
    `fits` and `overflowed` are true or false elsewhere."""
    if value is None:
        return [[]] if name.endswith(('.fits', '.overflowed')) else [True, []]
    if isinstance(value, bool):
        return ['true', 1]
    if isinstance(value, (int, float)):
        return ['5', -1, True, []]
    if isinstance(value, str):
        return [5, True, []]
    return [True, 'x', 5] + ([None] if isinstance(value, list) else [])


def broken(document: dict) -> Iterator[tuple[str, dict]]:
    for path in ((), *mutants.paths(document)):
        value = mutants.value_at(document, path)
        name = mutants.name_of(path)
        if any(x in FREE and isinstance(mutants.value_at(document, path[:i + 1]), dict)
               for i, x in enumerate(path[:-1])):
            continue
        if isinstance(value, dict) and not (path and path[-1] in FREE):
            yield f'{name} and more', mutants.changed(document, (*path, 'more'), 1)
        if path and isinstance(path[-1], str) and path[-1] not in OPTIONAL \
                and not (path[0] == 'cards' and path[-1] in OF_A_NAMED_CARD) \
                and path[-2:-1] != ('more',):
            yield f'{name} missing', mutants.changed(document, path)
        either = path and (path[-1] in EITHER or (len(path) > 1 and path[-2] in EITHER))
        for wrong in wrong_values(value, name) if path and not either else []:
            # an offset may be negative, and time run backwards
            if wrong == -1 and ('together' in path or path[-1] == 'duration'):
                continue
            yield f'{name} = {wrong!r}', mutants.changed(document, path, wrong)


def check(tap: Tap, load: Callable[[str], dict], faults_of: Callable, program: str, folder: str,
          validator_of: Callable[[dict], jsonschema.protocols.Validator]) -> None:
    for name, text in (TRACES | MESSAGES).items():
        Path(folder, name).write_text(text, encoding='utf-8')
    for kind, commands in COMMANDS.items():
        validator = validator_of(load(kind.removeprefix('fragsim-')))
        for what, command, status in commands:
            written = () if '--format' in command else ('--json', '-')
            done = subprocess.run([program, *command, *written], cwd=folder,
                                  capture_output=True, check=False, timeout=60)
            if done.returncode != status:
                tap.result(f'{kind}: {what}', [f'status {done.returncode}, not {status}',
                                               repr(done.stderr[:200])])
                continue
            document = json.loads(done.stdout)
            tap.result(f'{kind}: {what}', faults_of(validator, document))
            bad = list(broken(document))[::times(21, 7)]
            tap.result(f'{kind}: {what}, none of {len(bad)} mutants passes',
                       [f'passes: {name}' for name, mutant in bad if validator.is_valid(mutant)])
