#!/bin/sh
# analyse.sh [TOOL...] - cppcheck, gcc's -fanalyzer, clang-tidy and valgrind over the program.
#
# Ends with 1 where one of them says something that scripts/analyse.txt does not
# know. What is off as a whole: .clang-tidy says it for clang-tidy; of gcc's, the
# leaks, since gcc 12 loses sight of what stands in an array or in a caller's struct
# (tests/crossing/fault counts what is not freed). Takes minutes; a missing tool is skipped, aloud.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}/analyse
sources=$(find src -name '*.c' ! -name cuda.c | sort)
flags='-std=c11 -Iinclude -Isrc -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64'
status=0
mkdir -p "$build"

# Keeps of "FILE:LINE:...: text [CHECK]" on stdin what the list does not know.
judge()
{
	awk -v tool="$1" '
		FNR == NR { if ($1 == tool) known[$2 " " $3] = 1; next }
		match($0, /\[[^][ ]*\]$/) {
			file = $0
			sub(/:.*/, "", file)
			sub(/^.*\/src\//, "src/", file)
			check = substr($0, RSTART + 1, RLENGTH - 2)
			sub(/^-W/, "", check)
			sub(/,-warnings-as-errors$/, "", check)
			if ((file " " check) in known)
				seen[file " " check] = 1
			else if (!told[$0]++) {
				print
				bad = 1
			}
		}
		END {
			for (k in known)
				if (!(k in seen)) {
					print "scripts/analyse.txt: " tool " does not say this any more: " k
					bad = 1
				}
			exit bad
		}' scripts/analyse.txt -
}

run_cppcheck()
{
	cppcheck --std=c11 --language=c -Iinclude -Isrc -D__x86_64__ -D_XOPEN_SOURCE=700 --quiet \
		--enable=warning,performance,portability \
		--template='{file}:{line}:{column}: {severity}: {message} [{id}]' src 2>&1 |
		judge cppcheck
}

# Flags and files are words.
# shellcheck disable=SC2086
run_gcc()
{
	for file in $sources; do
		gcc $flags -include base/banned.h -O2 -fanalyzer -Wno-analyzer-malloc-leak \
			-fdiagnostics-plain-output -c -o /dev/null "$file" 2>&1
	done | grep 'warning: ' | judge gcc
}

# shellcheck disable=SC2086
# One file at a time: of several, clang 14 takes each va_list for uninitialized.
run_clang_tidy()
{
	printf '%s\n' $sources |
		xargs -n 1 -P 2 sh -c 'clang-tidy --quiet "$@" -- '"$flags"' -include base/banned.h \
			2> /dev/null' sh | grep -E '(warning|error): ' | judge clang-tidy
}

# Each command once; --error-exitcode tells memory errors and leaks from its own status.
run_valgrind()
{
	make --no-print-directory BUILD="$build" CFLAGS='-O1 -g' "$build/fragsim-standin"
	printf '%s\n' '{"format":"fragsim-trace","version":1,"device":{"total_bytes":"8MiB"}}' \
		'{"op":"alloc","id":"x","size":"3MiB","tag":"w","stream":"copy","t":1}' \
		'{"op":"record_stream","id":"x","stream":4}' '{"op":"mark","name":"m"}' \
		'{"op":"free","id":"x"}' '{"op":"alloc","id":3,"size":"6MiB","pool":1}' \
		'{"op":"sync"}' '{"op":"alloc","id":4,"size":5000}' > "$build/t.ndjson"
	good=true
	while read -r line; do
		# shellcheck disable=SC2086
		if ! (cd "$build" && FRAGSIM_STANDIN=gpus=1 valgrind -q --leak-check=full \
			--show-leak-kinds=all --errors-for-leak-kinds=definite,indirect,possible \
			--error-exitcode=99 ./fragsim-standin $line > out 2> err
			test $? -ne 99); then
			echo "valgrind: fragsim $line"
			cat "$build/err"
			good=false
		fi
	done <<'COMMANDS'
run -p bestfit -p firstfit -p nextfit -p worstfit -p buddy -p sizeclass -p tlsf -p direct -p bfc:garbage_collection=true -p plan -p compact:over=bestfit --on-oom continue --check t.ndjson
run -p pytorch --on-oom continue --summary pytorch --steps s.csv --placements p.ndjson --json r.json t.ndjson
run -p pytorch:expandable_segments=true --threads 2 -p buddy t.ndjson
run nothing.ndjson
diff -p bestfit -p pytorch -o o.md -o o.json -o o.xml -o o.csv --format github -o o.github t.ndjson
diff r.json r.json
trace convert t.ndjson t.fsb
trace convert t.fsb u.ndjson.gz
trace convert -t object u.ndjson.gz u.json.zst
trace info t.fsb
trace info --json - u.json.zst
trace slice --from-mark m t.ndjson u.ndjson
trace anonymize t.ndjson u.ndjson
trace merge t.ndjson t.fsb u.ndjson
trace shrink t.ndjson u.ndjson
verify t.ndjson
list policies --json -
trace gen training --iterations 1 -o u.ndjson
trace gen pipeline --iterations 1 --layers 2 -o u.ndjson
replay -p bestfit -p pytorch --verify --on-oom continue t.ndjson
run --bogus
COMMANDS
	$good
}

if [ $# -eq 0 ]; then
	set -- cppcheck gcc clang-tidy valgrind
fi
for tool; do
	if ! command -v "$tool" > /dev/null; then
		echo "analyse: no $tool here, skipped (apt-get install $tool)"
		continue
	fi
	echo "analyse: $tool"
	case $tool in
	cppcheck) run_cppcheck || status=1 ;;
	gcc) run_gcc || status=1 ;;
	clang-tidy) run_clang_tidy || status=1 ;;
	valgrind) run_valgrind || status=1 ;;
	*) echo "analyse: no tool $tool" && status=1 ;;
	esac
done
exit $status
