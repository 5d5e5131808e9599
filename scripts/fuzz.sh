#!/bin/sh
# fuzz.sh MINUTES FUZZER... - run each fuzzer, FOLDER/fuzz_NAME, for so long. It begins
# with tests/fuzz/corpus/NAME and what it found before, in FOLDER/corpus/NAME; what
# breaks it goes to FOLDER/NAME-*. Words of its form stand in tests/fuzz/NAME.dict.
# FUZZARGS are more arguments of libFuzzer.
set -eu

seconds=$(($1 * 60))
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
