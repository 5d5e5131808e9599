#!/bin/sh
# fuzz.sh MINUTES FUZZER... - run each fuzzer, FOLDER/fuzz_NAME, for so long, JOBS at a
# time. It begins with tests/fuzz/corpus/NAME and what it found before, in
# FOLDER/corpus/NAME; what breaks it goes to FOLDER/NAME-*, what it prints to
# FOLDER/NAME.log. Words of its form stand in tests/fuzz/NAME.dict. FUZZARGS are more
# arguments of libFuzzer. Then come random command lines to the program that check-san
# builds. A line that fails prints its seed and number. SEED makes a search that can be
# had again, as a gate needs it: without it each one is another.
set -eu

minutes=$1
shift
if [ "$minutes" = one ]; then
	fuzzer=$1
	folder=${fuzzer%/*}
	name=${fuzzer##*/fuzz_}
	kept=tests/fuzz/corpus/$name
	if [ ! -d "$kept" ]; then
		kept=
	fi
	words=
	if [ -f "tests/fuzz/$name.dict" ]; then
		words=-dict=tests/fuzz/$name.dict
	fi
	mkdir -p "$folder/corpus/$name"
	# Words, of which there may be none.
	# shellcheck disable=SC2086
	if "$fuzzer" -max_total_time="$SECONDS_EACH" -artifact_prefix="$folder/$name-" $words \
		${SEED:+-seed=$SEED} ${FUZZARGS-} "$folder/corpus/$name" $kept >"$folder/$name.log" 2>&1; then
		echo "$name: $(tail -n 1 "$folder/$name.log")"
		exit
	fi
	echo "$name: failed"
	tail -n 60 "$folder/$name.log"
	exit 1
fi

failed=
printf '%s\n' "$@" | SECONDS_EACH=$((minutes * 60)) xargs -P "${JOBS:-2}" -n 1 "$0" one || failed=1
# by its relative name, as check-san has it: another one would be built anew
build=${BUILD:-build}
build=${build#"$PWD"/}
program=$build/san-address-undefined/fragsim
make --no-print-directory CC="${FUZZ_CC:-clang}" BUILD="$build" SAN=address,undefined "$program"
SAN=address,undefined /usr/bin/python3 -B tests/crossing/commandline/run.py "$program" --minutes "$minutes" \
	${SEED:+--seed "$SEED"} || failed=1
test ! "$failed"
