#!/bin/sh
# fuzz.sh MINUTES FUZZER... - run each fuzzer, FOLDER/fuzz_NAME, for so long. It begins
# with tests/fuzz/corpus/NAME and what it found before, in FOLDER/corpus/NAME; what
# breaks it goes to FOLDER/NAME-*. Words of its form stand in tests/fuzz/NAME.dict.
# FUZZARGS are more arguments of libFuzzer. Then come random command lines to a sanitized
# program, by CC and by FUZZ_CC: their sanitizers differ. A line that fails prints its seed and number.
set -eu

minutes=$1
seconds=$((minutes * 60))
shift
for fuzzer in "$@"; do
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
	"$fuzzer" -max_total_time=$seconds -artifact_prefix="$folder/$name-" $words ${FUZZARGS-} \
		"$folder/corpus/$name" $kept
done

build=${BUILD:-build}
build=${build%/san-*}
failed=
for compiler in "${CC:-cc}:$build" "${FUZZ_CC:-clang}:$build/clang"; do
	folder=${compiler#*:}
	make --no-print-directory CC="${compiler%%:*}" BUILD="$folder" SAN=address,undefined \
		"$folder/san-address-undefined/fragsim"
	/usr/bin/python3 -B tests/commandline/run.py "$folder/san-address-undefined/fragsim" \
		--minutes "$minutes" || failed=1
done
test ! "$failed"
