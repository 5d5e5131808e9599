"""cards.py - the cards, slices and copies that fit names, against runs on them."""

import json
import subprocess
from pathlib import Path

from program import times
from tap import Tap

TRACES = Path(__file__).resolve().parents[3] / 'traces'
NAMES = ('bert_base_infer_varlen', 'gpt2_small_train_bs16_varlen_ckpt')


def document(program: str, *words: object) -> tuple[int, dict]:
    done = subprocess.run([program, *map(str, words)], capture_output=True, check=False)
    return done.returncode, json.loads(done.stdout)


def check_trace(program: str, trace: Path, cards: dict) -> list:
    """A card is named if the program runs on it, and each copy as if the others were not there."""
    _, found = document(program, 'fit', '-q', '--json', '-', trace)
    best = min((f for f in found['fits'] if f['alloc_conf'] is not None), key=lambda f: f['reliable'])
    policy = best['policy']['text']
    named = {row['card']: row for row in found['cards']}
    faults = []
    for key, card in list(cards.items())[::times(4, 1)]:
        room = card['bytes'] - card['context_bytes']
        expected = best['reliable'] <= room and (best['examined_to'] is None or room < best['examined_to'])
        status, _ = document(program, 'run', '-q', '-p', policy, '--device', key, '--json', '-', trace)
        if (key in named) != expected or (status == 0) < (key in named) or (status != 3 and room < best['smallest']):
            faults.append(f'{key}: named {key in named}, status {status}')
        if key not in named:
            continue
        copies, each = named[key]['copies'], best['no_refusal'] + card['context_bytes']
        if named[key]['context_bytes'] != card['context_bytes']:
            faults.append(f'{key}: {named[key]}')
        if ':' in key:
            faults += [f'{key}: {copies} copies'] if copies != card['per_card'] else []
            continue
        if copies != max(1, card['bytes'] // each):
            faults.append(f'{key}: {copies} copies of {each}')
        status, run = document(program, 'run', '-q', '-p', policy, '--context-bytes', card['context_bytes'], '--json', '-',
                               '--device-bytes', card['bytes'] - (copies - 1) * each, trace)
        if status or copies > 1 and any(r['counts']['retries'] for r in run['runs']):
            faults.append(f'{key}: the last of {copies} copies is refused memory')
    return faults


def check(tap: Tap, program: str) -> None:
    _, listed = document(program, 'list', 'cards', '--json', '-')
    cards = {card['key']: card for card in listed['cards']}
    for name in NAMES:
        tap.result(f'{name}: cards, slices and copies are as runs on them',
                   check_trace(program, TRACES / f'{name}.ndjson.gz', cards))
    # a context that is given is in the sizes, and 0 is none
    trace = TRACES / f'{NAMES[0]}.ndjson.gz'
    for context in (0, 1 << 30):
        _, found = document(program, 'fit', '-q', '--context-bytes', context, '--json', '-', trace)
        best = min((f for f in found['fits'] if f['alloc_conf'] is not None), key=lambda f: f['reliable'])
        tap.same(f'context {context}: each card has all its bytes for the sizes',
                 [(r['card'], r['context_bytes']) for r in found['cards']],
                 [(c['key'], 0) for c in cards.values() if c['bytes'] >= best['reliable']
                  and c['bytes'] < (best['examined_to'] or 1 << 60)])
