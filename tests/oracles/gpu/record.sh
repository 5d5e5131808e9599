#!/bin/sh
# record.sh - fragsim record on a real GPU; skipped where there is none. Prints TAP.
#
# What is recorded of a program is what the driver says is used; and a program with the runtime
# linked in, which is our own, is seen.
set -eu

cd "$(dirname "$0")/../../.."
. tests/oracles/gpu/begin.inc

# Blocks of whole pages, as far as the driver counts: it says what they take of the device.
cat >"$folder/program.py" <<'END_OF_PROGRAM'
import ctypes
import sys
cuda = ctypes.CDLL('libcuda.so.1')
context, at, left, total = (ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_size_t(), ctypes.c_size_t())


def call(name, *words):
    status = getattr(cuda, name)(*words)
    if status:
        sys.exit(f'{name}: error {status}')


def left_now():
    call('cuMemGetInfo_v2', ctypes.byref(left), ctypes.byref(total))
    return left.value


call('cuInit', 0)
call('cuDevicePrimaryCtxRetain', ctypes.byref(context), 0)
call('cuCtxSetCurrent', context)
before = left_now()
for size in (64, 2, 128, 6, 250):
    call('cuMemAlloc_v2', ctypes.byref(at), ctypes.c_size_t(size << 20))
print(before - left_now())
END_OF_PROGRAM

# requested FILE: the bytes of all allocs of a trace.
requested()
{
	/usr/bin/python3 -B -c 'import json, sys
print(sum(json.loads(line).get("size", 0) for line in open(sys.argv[1])))' "$1"
}

status=0
used=$("$program" record -o "$folder/a.ndjson" -- /usr/bin/python3 -B "$folder/program.py" \
	2>"$folder/out") || status=$?
if [ "$status" -eq 0 ]; then
	recorded=$(requested "$folder/a.ndjson")
	echo "the driver says $used, recorded are $recorded" >>"$folder/out"
	[ "$used" = "$recorded" ] || status=1
fi
report "$status" "recorded bytes are those that the driver says are used"

status=0
"$program" record -o "$folder/b.ndjson" -- "$program" replay -q -p direct "$folder/first.ndjson" \
	>"$folder/out" 2>&1 || status=$?
if [ "$status" -eq 0 ]; then
	grep -c '"op":"alloc"' "$folder/b.ndjson" >>"$folder/out" 2>&1 || status=1
fi
report "$status" "a program with the runtime linked in is recorded"

status=0
"$program" run -q "$folder/b.ndjson" >"$folder/out" 2>&1 || status=$?
report "$status" "and its trace is simulated"

echo "1..$number"
exit "$failed"
