"""made.py - messages of bytes that are known, printed as the allocators print them."""
import random

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def printed(size: int) -> str:
    """As PyTorch prints a size."""
    if size <= KIB:
        return f'{size} bytes'
    for unit, name in ((KIB, 'KiB'), (MIB, 'MiB')):
        if size <= unit * KIB:
            return f'{size / unit:.2f} {name}'
    return f'{size / GIB:.2f} GiB'


class Device:
    """A device, what is in use of it and a request, near the edges between verdicts often."""

    def __init__(self, rng: random.Random) -> None:
        self.total = rng.choice((4, 8, 11, 16, 24, 40, 80, 141)) * GIB - rng.randrange(GIB)
        outside = rng.choice((rng.randrange(self.total // 25), rng.randrange(self.total // 2),
                              self.total // 20 + rng.randrange(-20 * MIB, 20 * MIB)))
        free = rng.choice((0, rng.randrange(64 * MIB), rng.randrange(self.total - outside)))
        free = min(free, self.total - outside)
        held = self.total - outside - free
        unallocated = rng.choice((0, rng.randrange(MIB, 900 * MIB), rng.randrange(held + 1)))
        unallocated = min(unallocated, held)
        allocated = held - unallocated
        asked = rng.choice((
            free + unallocated, free - 2 * MIB, self.total, self.total * 98 // 100 - allocated,
            free + unallocated - self.total // 20, rng.randrange(1, self.total * 5 // 4)))
        asked = max(1, asked + rng.choice((0, 0, rng.randrange(-30 * MIB, 30 * MIB),
                                           rng.randrange(-40, 40))))
        self.point = asked, self.total, free, allocated, unallocated
        self.said = {'asked': printed(asked), 'total': printed(self.total), 'free': printed(free),
                     'allocated': printed(allocated)}
        self.text = rng.choice((self._cached, self._reserved, self._sentences))(
            rng, printed(allocated + unallocated), printed(unallocated))

    def _classic(self, rng: random.Random, last: str) -> str:
        s = self.said
        return (f'RuntimeError: CUDA out of memory. Tried to allocate {s["asked"]} (GPU '
                f'{rng.randrange(8)}; {s["total"]} total capacity; {s["allocated"]} already '
                f'allocated; {s["free"]} free; {last})')

    def _cached(self, rng: random.Random, _: str, unallocated: str) -> str:
        self.wording = 'pytorch-cached'
        self.said['cached'] = unallocated
        return self._classic(rng, f'{unallocated} cached')

    def _reserved(self, rng: random.Random, reserved: str, _: str) -> str:
        self.wording = 'pytorch-reserved'
        self.said['reserved'] = reserved
        return self._classic(rng, f'{reserved} reserved in total by PyTorch')

    def _sentences(self, rng: random.Random, _: str, unallocated: str) -> str:
        self.wording = 'pytorch-sentences'
        self.said['unallocated'] = unallocated
        s = self.said
        processes = ''.join(f'Process {rng.randrange(1 << 22)} has {printed(rng.randrange(GIB))} '
                            'memory in use. ' for _ in range(rng.choice((0, 0, 1, 3, 40))))
        own = rng.choice(('', 'Including non-PyTorch memory, this process has 17179869184.00 GiB '
                              'memory in use. '))
        limit = rng.choice(('', f'{printed(self.total // 2)} allowed; '))
        pools = rng.choice(('', f'with {s["allocated"]} allocated in private pools (e.g., CUDA '
                                'Graphs), '))
        return (f'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {s["asked"]}. GPU '
                f'{rng.randrange(8)} has a total capacity of {s["total"]} of which {s["free"]} is '
                f'free. {processes}{own}{limit}Of the allocated memory {s["allocated"]} is '
                f'allocated by PyTorch, {pools}and {unallocated} is reserved by PyTorch but '
                'unallocated. If reserved but unallocated memory is large try setting '
                'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.')


def binary(size: int) -> str:
    """As TensorFlow prints a size: each unit but the last is cut off."""
    if size < KIB:
        return f'{size}B'
    for unit in 'KMG':
        if size < MIB or unit == 'G':
            return f'{size / KIB:.{1 if unit == "K" else 2}f}{unit}iB'
        size //= KIB
    return ''


class Dump:
    """A heap of a BFC allocator, and what it writes when it cannot serve a request."""

    def __init__(self, rng: random.Random, number: int) -> None:
        self.name = f'dump {number}'
        chunks = [(rng.random() < 0.6, 256 * rng.randrange(1, 1 << rng.randrange(1, 22)))
                  for _ in range(rng.randrange(1, 60))]
        used = sum(size for live, size in chunks if live)
        self.free = [size for live, size in chunks if not live]
        total = sum(self.free)
        self.index = 100 * (1 - max(self.free) / total) if self.free else 0
        regions = used + total
        limit = regions + rng.choice((0, rng.randrange(4 * GIB)))
        self.asked = 256 * rng.randrange(1, 1 << 24)
        style = number % 4
        lines = [f'Bin for {binary(self.asked)} was 256.00MiB, Chunk State: ']
        at = 0x7f94a0000000
        for live, size in chunks:
            lines.append((
                f'{"Chunk" if live else "Free "} at 0x{at:x} of size {size}',
                f'{"InUse" if live else "Free "} at {at:x} next {rng.randrange(99)} of size {size}',
                f'{"InUse" if live else "Free "} at 0x{at:x} of size {size} next '
                f'{rng.randrange(1 << 64)}')[min(style, 2)])
            at += size
        lines += ['     Summary of in-use Chunks by size: ', '3 Chunks of size 256 totalling 768B',
                  f'Sum Total of in-use chunks: {binary(used)}']
        if style > 1:
            lines.append(f'{"total_region_allocated_bytes_" if style == 2 else "Total bytes in pool"}'
                         f': {regions} memory_limit_: {limit} available bytes: {limit - regions} '
                         f'curr_region_allocation_bytes_: {2 * limit}')
        lines.append(f'Stats: \nLimit:      {limit}\nInUse:      {used}\nMaxInUse:   {regions}\n'
                     f'NumAllocs:   123\nMaxAllocSize:   {self.asked}\n')
        head = '2019-04-02 00:54:04.596012: I tensorflow/core/common_runtime/bfc_allocator.cc:64] '
        body = ''.join(f'{head}{line}\n' for line in lines)
        asked = f'ran out of memory trying to allocate {binary(self.asked)}'
        self.said = {'asked': f'{self.asked} bytes', 'total': f'{limit} bytes',
                     'allocated': f'{used} bytes', 'reserved': f'{regions} bytes'}
        if style == 0:
            self.text = f'{body}{head}R{asked[1:]}.  See logs for memory state.\n'
        else:
            rounded = f' (rounded to {self.asked})requested by op Conv2D' if style > 1 else ''
            self.text = (f'{head}Allocator (GPU_{number % 8}_bfc) {asked}{rounded}.  Current '
                         f'allocation summary follows.\n{body}')
        if style < 2:
            text = binary(self.asked)
            cut = next(i for i, c in enumerate(text) if c.isalpha())
            self.said['asked'] = f'{text[:cut]} {text[cut:]}'
        if style > 1:
            self.said['free'] = f'{limit - regions} bytes'
