"""samples.py - a small trace of every form that is read, which the tests that go through all forms share.

Each has as much of its form as fits: marks, tags, stacks, pools, streams, devices, a request that
fails, places. tests/lists/run.py compares the forms with the tables of the readers.
"""
import gzip
import json
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
for folder in ('formats/snapshot', 'formats/nsys'):
    sys.path.insert(0, str(TESTS / folder))
import databases as nsys                # noqa: E402
import snaps                            # noqa: E402

LINES = '''{"format":"fragsim-trace","version":1,"devices":[{"name":"a","total_bytes":"8MiB"},{}]}
{"op":"mark","name":"step 1"}
{"op":"alloc","id":"x","size":"3MiB","tag":"weights","stream":"copy"}
{"op":"alloc","id":2,"size":1000,"pool":"graph","device":1}
{"op":"record_stream","id":"x","stream":4}
{"op":"mark","name":"step 2"}
{"op":"free","id":"x"}
{"op":"alloc","id":3,"size":"6MiB","tag":"input"}
{"op":"sync"}
{"op":"alloc","id":4,"size":5000}
{"op":"free","id":2,"pending":true}
{"op":"complete","id":2}
{"op":"empty_cache"}
'''
RMM = '''Thread,Time,Action,Pointer,Size,Stream
1,10:00:00.000001,allocate,0x7f00,1000,0x0
1,10:00:00.000002,allocate,0x7e00,2000,0x55
1,10:00:00.000003,free,0x7f00,1000,0x0
'''
MINIMALLOC = '''id,lower,upper,size,alignment,offset,gaps,hint
1,0,2,4,1,,,
b,2,4,8,4,8,,8
3,3,8,16,1,,4-5,16
'''
# two buffers of one allocation
XLA = (b'\n/\n\x05small\x12\x04main\x1a \n\x04main\x12\x18\n\x05add.1:\x0c'
       b'\x12\njit(f)/add\x98\x02\x07\x1aI\n\x08\x08\x01\x10@\x1a\x02 \x07\n\x04\x08\x02\x10@\x1a'
       b'\x13\x10\x80\x01J\x06\x08\x01\x10\x00\x18@J\x06\x08\x02\x10@\x18@""\n\x06\x08\x00\x10\x01(\x00\n\x06\x08\x00'
       b'\x10\x02(\x00\n\x06\x08\x01\x10\x01(\x00\n\x06\x08\x01\x10\x02(\x00\x10\x01')
KINETO = '''{"schemaVersion":1,"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::empty","pid":1,"tid":7,"ts":0,"dur":9},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":7,"ts":1.5,
 "args":{"Bytes":512,"Addr":4096,"Device Type":1,"Device Id":0}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":7,"ts":2.5,
 "args":{"Bytes":-512,"Addr":4096,"Device Type":1,"Device Id":0}}]}
'''
TIMELINE = '[[-1, 1, 4096, 0], [1000, 2, 512, 7], [2000, 3, -512, 7], [2000, 3, 512, 4], [3000, 4, -512, 4]]\n'


def snapshot() -> dict:
    """A block from before the log with a stack, a note of the program, and annotations."""
    out = snaps.basic(frames=snaps.FRAMES)
    # the first record requests a tag: a second one would request again what failed
    out['segments'][0]['blocks'][0]['frames'] = snaps.FRAMES
    out['device_traces'][0][2]['user_metadata'] = 'what the program says'
    out['external_annotations'] = [{'name': 'step', 'stage': stage, 'device': 0, 'time_us': t}
                                   for stage, t in (('START', 1001), ('END', 1004))]
    return out


def database(path: Path, encoding: str) -> None:
    """Ranges of NVTX, call chains, a static variable, memory of the host, and a device's name."""
    frames = [{'id': 1, 'symbol': i, 'module': 4 + i, 'unresolved': 0, 'originalIP': 0,
               'stackDepth': i} for i in range(2)]
    nsys.database(
        str(path), [nsys.event(10, 1, 512, correlationId=1), nsys.event(20, 2, 4096, correlationId=2),
                    nsys.event(25, 3, 64, memKind=5, name='table'), nsys.event(27, 4, 64, memKind=1),
                    nsys.event(30, 1, 512, True)],
        schema=f'PRAGMA encoding = "{encoding}";{nsys.SCHEMA}',
        strings=('cudaMalloc_v3020', 'step()', 'forward', 'a range', '/usr/lib/libcudart.so', '/opt/a.out'),
        CUPTI_ACTIVITY_KIND_RUNTIME=[nsys.call(1, 0, 1), nsys.call(2, 0)],
        CUDA_CALLCHAINS=frames, NVTX_EVENTS=[nsys.span(5, 40, 'step'), nsys.span(15, 35, None, textId=3)],
        TARGET_INFO_GPU=[{'vmId': 1, 'id': 0, 'name': 'a card', 'totalMemory': 1 << 30}],
        TARGET_INFO_CUDA_DEVICE=[{'gpuId': 0, 'cudaId': 0, 'pid': nsys.PID}])


NAMES = ('kineto.json', 'lines.fsb', 'lines.json.zst', 'lines.ndjson', 'lines.ndjson.gz', 'mini.csv',
         'mixed.hlo.pb.gz', 'nsys-utf-16le.sqlite', 'nsys-utf-8.sqlite', 'object.json', 'rmm.csv',
         'snap.html', 'snap.json', 'snap.pickle', 'timeline.json', 'xla.hlo.pb')
# those that a run ends with an OOM of
STATUS = dict.fromkeys(('lines.fsb', 'lines.json.zst', 'lines.ndjson', 'lines.ndjson.gz', 'object.json'), 3)


def write(folder: Path, program: str) -> None:
    """All of NAMES."""
    head, *events = LINES.splitlines()
    pickled = snaps.pickled(snapshot())
    texts = {'lines.ndjson': LINES, 'object.json': f'{head[:-1]},"events":[{",".join(events)}]}}',
             'rmm.csv': RMM, 'mini.csv': MINIMALLOC, 'kineto.json': KINETO, 'timeline.json': TIMELINE,
             'snap.json': json.dumps(snapshot())}
    files = {'lines.ndjson.gz': gzip.compress(LINES.encode(), mtime=0), 'xla.hlo.pb': XLA,
             'mixed.hlo.pb.gz': (TESTS / 'formats' / 'hlo' / 'mixed.hlo.pb.gz').read_bytes(),
             'snap.pickle': pickled, 'snap.html': snaps.page(pickled),
             **{name: text.encode() for name, text in texts.items()}}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    for encoding in ('UTF-8', 'UTF-16le'):
        database(folder / f'nsys-{encoding.lower()}.sqlite', encoding)
    for name in ('lines.fsb', 'lines.json.zst'):
        subprocess.run([program, 'trace', 'convert', '-q', 'lines.ndjson', name], cwd=folder, check=True)
