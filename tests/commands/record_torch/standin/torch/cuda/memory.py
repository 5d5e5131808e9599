"""The allocator, and its history."""
import os
import sys
import time
from collections import deque

import torch

DEVICES = 2
TOTAL = 64 << 20        # bytes of each device
ROUND = 2 << 20


class OutOfMemoryError(RuntimeError):
    pass


class Device:
    def __init__(self, ordinal):
        self.ordinal = ordinal
        self.next = (ordinal + 1) << 40
        self.segments = {}      # by address: [bytes, requested, frames]; requested 0: free
        self.allocs = 0


devices = [Device(d) for d in range(DEVICES)]
history = None          # a ring of each device; None: off
spoilt = False          # the next snapshot cannot be pickled


def in_this_process():
    torch.cuda.init()
    if torch.cuda._started_in != os.getpid():
        raise RuntimeError('Cannot re-initialize CUDA in forked subprocess')


def stack():
    frame, found = sys._getframe(2), []
    while frame:
        found.append({'filename': frame.f_code.co_filename, 'line': frame.f_lineno,
                      'name': frame.f_code.co_name})
        frame = frame.f_back
    return found


def log(device, action, size, address, frames, where='addr'):
    if history is not None:
        history[device.ordinal].append({
            'action': action, where: address, 'size': size, 'stream': 0, 'frames': frames,
            'time_us': time.time_ns() // 1000})


def used(device):
    return sum(bytes_ for bytes_, _, _ in device.segments.values())


def alloc(size, ordinal=0):
    in_this_process()
    device, frames = devices[ordinal], stack()
    whole = -(-size // ROUND) * ROUND
    for address, segment in device.segments.items():
        if segment[:2] == [whole, 0]:
            break
    else:
        for address in [a for a, s in device.segments.items() if not s[1]]:
            if used(device) + whole > TOTAL:
                log(device, 'segment_free', device.segments.pop(address)[0], address, frames)
        if used(device) + whole > TOTAL:
            left = TOTAL - used(device)
            log(device, 'oom', whole, left, frames, 'device_free')
            for observer in torch._C.observers:
                observer(ordinal, size, used(device), left)
            raise OutOfMemoryError(f'CUDA out of memory. Tried to allocate {size} bytes')
        address = device.next
        device.next += whole
        device.segments[address] = [whole, 0, frames]
        log(device, 'segment_alloc', whole, address, frames)
    device.segments[address][1:] = [size, frames]
    device.allocs += 1
    log(device, 'alloc', size, address, frames)
    return ordinal, address


def free(block):
    ordinal, address = block
    device, frames = devices[ordinal], stack()
    size = device.segments[address][1]
    device.segments[address][1] = 0
    log(device, 'free_requested', size, address, frames)
    log(device, 'free_completed', size, address, frames)


def memory_stats(device=0):
    return {'allocation.all.allocated': devices[device].allocs}


def _record_memory_history(enabled='all', context='all', stacks='all', max_entries=sys.maxsize,
                           device=None, clear_history=False):
    global history
    if torch.KIND == 'old':
        raise TypeError("_record_memory_history() got an unexpected keyword argument 'context'")
    in_this_process()
    if enabled is None:
        history = None
    elif history is None or clear_history:
        history = [deque(maxlen=max_entries) for _ in devices]


def _snapshot(device=None):
    in_this_process()
    segments = [{
        'device': d.ordinal, 'address': address, 'total_size': whole, 'stream': 0,
        'allocated_size': whole if requested else 0, 'active_size': whole if requested else 0,
        'requested_size': requested, 'segment_type': 'large', 'segment_pool_id': (0, 0),
        'is_expandable': False, 'frames': frames,
        'blocks': [{'address': address, 'size': whole, 'requested_size': requested,
                    'state': 'active_allocated' if requested else 'inactive', 'frames': frames}],
    } for d in devices for address, (whole, requested, frames) in d.segments.items()]
    return {'segments': segments, 'device_traces': [list(ring) for ring in history or ([], [])],
            'allocator_settings': {'PYTORCH_CUDA_ALLOC_CONF': '', 'expandable_segments': False},
            **({'spoilt': lambda: None} if spoilt else {})}
