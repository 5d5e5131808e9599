"""pools.py - CuPy's own pool over a made-up device, and the rule that it follows.

CuPy keeps the free blocks of a stream by size, and equal ones by the addresses of their Python
objects, which no rule can follow. So the real pool is compared with a rule step by step, in which
that one choice is taken over from it and everything else is strict; and fragsim is compared with the
same rule, when it takes the lowest of equals.
"""
import ctypes
import gc

from case import Case, OracleError

UNIT = 512
SPACING = 2 << 20


class Device:
    """Totals, and addresses with nothing behind them."""

    def __init__(self, case: Case) -> None:
        self.case, self.room = case, case.room()
        self.cap: int | None = None
        self.used, self.next = 0, 1 << 40
        self.held: dict[int, int] = {}
        self.calls: list[str] = []

    def obtain(self, size: int) -> int | None:
        take, address = self.case.booked(size), self.next
        if self.used + take > self.room or (self.cap is not None and self.used + take > self.cap):
            self.calls.append('!%d' % size)
            return None
        self.used += take
        self.next += (size + SPACING) // SPACING * SPACING + SPACING
        self.held[address] = size
        self.calls.append('+%d:%d' % (address, size))
        return address

    def give_back(self, address: int) -> None:
        self.used -= self.case.booked(self.held.pop(address))
        self.calls.append('-%d' % address)

    def told(self) -> list[str]:
        """The calls since the last time; what goes back at once has no order."""
        calls, self.calls = self.calls, []
        for at in range(len(calls)):
            end = at
            while end < len(calls) and calls[end][0] == '-':
                end += 1
            calls[at:end] = sorted(calls[at:end], key=lambda call: int(call[1:]))
        return calls


class Rule:
    """The pool in plain words; blocks are [address, bytes, free], by segment and address."""

    def __init__(self, case: Case) -> None:
        self.device = Device(case)
        self.limit = case.keys.get('limit', 0)
        self.segments: dict[int, tuple[int, list]] = {}     # address -> stream, blocks
        self.elsewhere = 0      # choices that were not the lowest of equals

    def best(self, need: int, stream: int) -> list:
        """The free blocks that a request can take, lowest first."""
        fits = [block for owner, blocks in self.segments.values() if owner == stream
                for block in blocks if block[2] and block[1] >= need]
        least = min((block[1] for block in fits), default=0)
        return sorted(block for block in fits if block[1] == least)

    def release(self) -> None:
        for address in sorted(self.segments):
            blocks = self.segments[address][1]
            if len(blocks) == 1 and blocks[0][2]:
                self.device.give_back(address)
                del self.segments[address]

    def within(self, size: int) -> bool:
        return not self.limit or sum(self.device.held.values()) + size <= self.limit

    def obtain(self, size: int, stream: int) -> list | None:
        if self.limit and size > self.limit:
            return None         # nothing that goes back could help
        if not self.within(size):
            self.release()
            if not self.within(size):
                return None
        for _ in range(3):
            address = self.device.obtain(size)
            if address is not None:
                block = [address, size, True]
                self.segments[address] = (stream, [block])
                return block
            self.release()
        return None

    def alloc(self, size: int, stream: int, like: int | None = None) -> int | None:
        """Its address; the one of `like` where that is one of the best. None: out of memory."""
        need = -(-size // UNIT) * UNIT
        best = self.best(need, stream)
        block = best[0] if best else self.obtain(need, stream)
        if block is None:
            return None
        if best and like is not None:
            block = next((one for one in best if one[0] == like), block)
            self.elsewhere += block is not best[0]
        block[2] = False
        if block[1] > need:
            blocks = self.blocks_at(block[0])
            blocks.insert(blocks.index(block) + 1, [block[0] + need, block[1] - need, True])
            block[1] = need
        return block[0]

    def blocks_at(self, address: int) -> list:
        return self.segments[max(base for base in self.segments if base <= address)][1]

    def free(self, address: int) -> None:
        blocks = self.blocks_at(address)
        at = next(i for i, block in enumerate(blocks) if block[0] == address)
        blocks[at][2] = True
        for lower in (at, at - 1):      # the next one first, as it does not move this one
            if lower >= 0 and lower + 1 < len(blocks) and blocks[lower][2] and blocks[lower + 1][2]:
                blocks[lower][1] += blocks.pop(lower + 1)[1]


def load():
    """Imports CuPy on a machine without a GPU: two functions of its runtime are replaced first."""
    import cupy_backends.cuda.api.runtime as runtime
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_New.restype = ctypes.py_object
    api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    keep = []
    for name, value in (('getDevice', 0), ('getDeviceCount', 1)):
        signature = api.PyCapsule_GetName(runtime.__pyx_capi__[name])
        function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda skip, value=value: value)
        keep.append((function, signature))
        runtime.__pyx_capi__[name] = api.PyCapsule_New(
            ctypes.cast(function, ctypes.c_void_p), signature, None)
    import cupy
    cupy.kept_by_the_oracle = keep
    gc.collect()
    gc.freeze()         # a refusal collects garbage: of what is ours only
    return cupy


class Real:
    """CuPy's MemoryPool."""

    def __init__(self, cupy, case: Case) -> None:
        self.cupy, self.device = cupy, Device(case)
        memory = cupy.cuda.memory
        allocator = memory.PythonFunctionAllocator(self.obtain, self.give_back)
        self.pool = memory.MemoryPool(allocator.malloc)
        self.pool.set_limit(size=case.keys.get('limit', 0))
        self.live: dict[int, object] = {}

    def obtain(self, size: int, _device: int) -> int:
        address = self.device.obtain(size)
        if address is None:
            from cupy_backends.cuda.api.runtime import CUDARuntimeError
            raise CUDARuntimeError(2)
        return address

    def give_back(self, address: int, _device: int) -> None:
        self.device.give_back(address)

    def alloc(self, size: int, stream: int) -> int | None:
        cuda = self.cupy.cuda
        (cuda.ExternalStream(stream + 16) if stream else cuda.Stream.null).use()
        try:
            pointer = self.pool.malloc(size)
        except cuda.memory.OutOfMemoryError:
            return None
        self.live[pointer.ptr] = pointer
        return pointer.ptr

    def free(self, address: int) -> None:
        del self.live[address]

    def release(self) -> None:
        self.pool.free_all_blocks()


class Pools:
    """The real pool and the rule beside it, and the rule that fragsim is compared with."""

    def __init__(self, cupy, case: Case) -> None:
        self.real, self.beside, self.lowest = Real(cupy, case), Rule(case), Rule(case)
        self.places: dict[int, tuple] = {}      # number -> address in each of the two runs

    def same_calls(self, op: str) -> None:
        real, rule = self.real.device.told(), self.beside.device.told()
        if real != rule:
            raise OracleError('%s: CuPy calls %s, by its rule %s' % (op, real, rule))

    def answer(self, text: str) -> str:
        return ' '.join((text, *self.lowest.device.told()))

    def alloc(self, number: int, size: int, stream: int) -> str:
        real = self.real.alloc(size, stream)
        rule = self.beside.alloc(size, stream, real)
        if real != rule:
            raise OracleError('a block at %s, by the rule at %s' % (real, rule))
        self.same_calls('a %d' % number)
        lowest = self.lowest.alloc(size, stream)
        self.places[number] = rule, lowest
        if lowest is None:
            return self.answer('a %d OOM' % number)
        return self.answer('a %d %d %d' % (number, lowest, -(-size // UNIT) * UNIT))

    def free(self, number: int) -> str:
        real, lowest = self.places.pop(number)
        if real is not None:
            self.real.free(real)
            self.beside.free(real)
        if lowest is not None:
            self.lowest.free(lowest)
        self.same_calls('f %d' % number)
        return self.answer('f %d' % number)

    def release(self) -> str:
        for one in (self.real, self.beside, self.lowest):
            one.release()
        self.same_calls('e')
        return self.answer('e')

    def cap(self, most: int) -> str:
        for one in (self.real, self.beside, self.lowest):
            one.device.cap = most if most >= 0 else None
        return 'c'

    def serve(self, line: str) -> str:
        op, *numbers = line.split()
        return {'a': self.alloc, 'f': self.free, 'e': self.release, 'c': self.cap}[op](
            *map(int, numbers))
