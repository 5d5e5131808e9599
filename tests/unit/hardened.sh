#!/bin/sh
# hardened.sh - the program is built as Debian hardens its own, whoever builds it.
set -eu

if [ -n "${SAN-}" ]; then
	echo "1..0 # SKIP sanitizers look for themselves"
	exit 0
fi
if ! command -v readelf >/dev/null; then
	echo "1..0 # SKIP no readelf"
	exit 0
fi
elf=$(readelf -Wdhl --dyn-syms "$FRAGSIM")
number=0
failed=0

# expect WHAT PATTERN
expect()
{
	number=$((number + 1))
	if printf '%s\n' "$elf" | grep -Eq "$2"; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1"
		failed=1
	fi
}

expect 'it may lie anywhere' 'Type: +DYN \(Position-Independent'
expect 'its tables are read-only' 'GNU_RELRO'
expect 'and are filled before it begins' 'BIND_NOW'
# A packager's own CFLAGS may say otherwise of these two.
if grep -q -- '-fno-stack-protector' "$BUILD/flags"; then
	number=$((number + 1))
	echo "ok $number - stacks are watched # SKIP CFLAGS say no"
else
	expect 'stacks are watched' ' __stack_chk_fail'
fi
if grep -q -- '-D_FORTIFY_SOURCE=[23]' "$BUILD/flags"; then
	expect 'calls of the C library know the room they have' ' __[a-z]+_chk'
else
	number=$((number + 1))
	echo "ok $number - calls of the C library know the room they have # SKIP without -O"
fi
echo "1..$number"
exit $failed
