"""make_snapshot.py FILE EVENTS - a large snapshot, shaped like those of real training.

Stacks are some hundred different ones of about a hundred frames, the same dicts in
all of them, but each event has captured a list of its own: so PyTorch does it.
"""
import itertools
import pickle
import random
import sys

M = 1 << 20
SEGMENT, SEGMENTS = 20 * M, 64
BASE = 0x7F0000000000


def frames(kind, count, native):
    return [{"name": f"{kind}_{i}", "line": 0 if native else 10 + i,
             "filename": "??" if native else f"/home/me/{kind.split('_')[0]}.py"}
            for i in range(count)]


def stacks():
    outer = frames("train", 30, False)
    modules = [frames(f"module_{i}", 20, False) for i in range(12)]
    sites = [frames(f"site_{i}", random.randint(4, 20), False) for i in range(60)]
    kinds = [frames(f"at::kernel_{i}", random.randint(20, 50), True) for i in range(6)]
    return [kinds[random.randrange(6)] + site + modules[random.randrange(12)] + outer
            for site in sites for _ in range(6)]


def history(count, known):
    """
    Blocks of 512 KiB in slots come and go. Each step of a training makes the same
    calls in the same order: stacks come round and round.
    """
    live, free, t = {}, list(range(SEGMENTS * 40)), 1700000000000000
    random.shuffle(free)
    stack = itertools.cycle(known)
    while count > 0:
        t += random.randrange(200)
        event = {"size": 500 * 1024 + random.randrange(12288), "stream": 0, "time_us": t,
                 "compile_context": "N/A", "user_metadata": ""}
        if free and (len(live) < 1000 or random.random() < 0.5):
            slot = free.pop()
            live[slot] = event["size"]
            event.update(action="alloc", addr=BASE + slot * 512 * 1024,
                         frames=list(next(stack)))
            yield event
            count -= 1
            continue
        slot = random.choice(list(live)) if count % 64 == 0 else next(iter(live))
        event["size"] = live.pop(slot)
        free.append(slot)
        shared = list(next(stack))
        for action in ("free_requested", "free_completed"):
            yield dict(event, action=action, addr=BASE + slot * 512 * 1024, frames=shared)
            count -= 1


def main():
    random.seed(1)
    events, live = [], {}
    for event in history(int(sys.argv[2]), stacks()):
        events.append(event)
        if event["action"] == "alloc":
            live[event["addr"]] = event
        elif event["action"] == "free_completed":
            del live[event["addr"]]
    segments = []
    for i in range(SEGMENTS):
        blocks = []
        for addr in range(BASE + i * SEGMENT, BASE + (i + 1) * SEGMENT, 512 * 1024):
            event = live.get(addr)
            blocks.append({"address": addr, "size": 512 * 1024,
                           "requested_size": event["size"] if event else 0,
                           "state": "active_allocated" if event else "inactive",
                           "frames": event["frames"] if event else []})
        segments.append({"device": 0, "address": BASE + i * SEGMENT, "total_size": SEGMENT,
                         "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
                         "is_expandable": False, "frames": [], "blocks": blocks})
    with open(sys.argv[1], "wb") as f:
        pickle.dump({"segments": segments, "device_traces": [events],
                     "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": ""},
                     "external_annotations": []}, f, protocol=4)


main()
