"""moved.py - a trace with the moves that explain prints, for a run that knows nothing of them.

A move at a step: its blocks are freed before the request of that step, and allocated again after
it, in the order that is printed, with what streams they were used on.
"""
import json


def lines(events: list, head: dict) -> str:
    return '\n'.join(json.dumps(x) for x in [head, *events]) + '\n'


def key(ident: object) -> str:
    """1 and "1" are different."""
    return json.dumps(ident)


def with_moves(events: list, moves: list) -> tuple:
    """The events, and of each step the place where it is now."""
    out, places, live = [], [], {}
    todo = list(moves)
    for step, event in enumerate(events):
        move = todo.pop(0) if todo and todo[0]['step'] == step else None
        for ident in move['ids'] if move else []:
            out.append({'op': 'free', 'id': ident})
        places.append(len(out))
        out.append(event)
        for ident in move['ids'] if move else []:
            alloc, streams = live[key(ident)]
            out.append(alloc)
            out.extend({'op': 'record_stream', 'id': ident, 'stream': s} for s in streams)
        if event['op'] == 'alloc':
            live[key(event['id'])] = (event, [])
        elif event['op'] == 'record_stream':
            live[key(event['id'])][1].append(event['stream'])
    return out, places
