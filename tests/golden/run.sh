#!/bin/sh
# run.sh AREA... - run the golden cases of tests/golden/AREA and print TAP.
#
# A case is CASE.sh, run by sh in a fresh, empty folder with an empty standard
# input and these variables: FRAGSIM, the program; GOLDEN_DIR, the folder that
# holds the case; TRACES, the folder of the recorded traces. Beside it stands
# what it must do:
#
#   CASE.stdout.exact, CASE.stderr.exact   the output, byte for byte; or
#   CASE.stdout.glob, CASE.stderr.glob     a shell pattern for each line; the
#                        line `...` stands for any lines up to the first that
#                        fits the pattern below it, at the end for all the rest
#   CASE.exit            the exit status
#
# Without the file the output must be empty, the exit status 0. ACCEPT=1 writes
# what the cases do now into the files; of patterns it only says that they no
# longer fit, because they are written by hand.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
: "${FRAGSIM:?names no program}"
TRACES=${TRACES:-$here/../../traces}
LC_ALL=C TZ=UTC
export FRAGSIM TRACES LC_ALL TZ
unset NO_COLOR CLICOLOR_FORCE COLUMNS || :

work=$(mktemp -d "${TMPDIR:-/tmp}/fragsim-golden.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# fits PATTERNS: does standard input fit the patterns of the file?
fits()
{
	any=false
	while IFS= read -r pattern <&3 || [ -n "$pattern" ]; do
		if [ "$pattern" = ... ]; then
			any=true
			continue
		fi
		while :; do
			line=
			IFS= read -r line || [ -n "$line" ] || return 1
			# A pattern, not a word: it stays without quotes.
			# shellcheck disable=SC2254
			case $line in
			$pattern) break ;;
			esac
			$any || return 1
		done
		any=false
	done 3<"$1"
	line=
	$any || { ! IFS= read -r line && [ -z "$line" ]; }
}

# comment: standard input as a TAP comment.
comment()
{
	awk '{ print "#   " $0 }'
}

# judge CASE STREAM: compare work/STREAM with what CASE expects.
judge()
{
	got=$work/$2
	exact=$1.$2.exact
	glob=$1.$2.glob
	if [ -f "$glob" ]; then
		if fits "$glob" <"$got"; then
			return 0
		fi
		echo "# $2 does not fit $glob:"
		comment <"$got"
		return 1
	fi
	if [ -n "${ACCEPT-}" ]; then
		rm -f "$exact"
		if [ -s "$got" ]; then
			cp "$got" "$exact"
		fi
		return 0
	fi
	if [ ! -f "$exact" ]; then
		exact=/dev/null
	fi
	if cmp -s "$exact" "$got"; then
		return 0
	fi
	echo "# $2 differs from what is expected:"
	diff -u --label expected --label "$2" "$exact" "$got" | comment
	return 1
}

# judge_exit CASE STATUS: the same for the exit status.
judge_exit()
{
	if [ -n "${ACCEPT-}" ]; then
		rm -f "$1.exit"
		if [ "$2" -ne 0 ]; then
			echo "$2" >"$1.exit"
		fi
		return 0
	fi
	wanted=0
	if [ -f "$1.exit" ]; then
		read -r wanted <"$1.exit"
	fi
	if [ "$2" = "$wanted" ]; then
		return 0
	fi
	echo "# exit status $2, expected $wanted"
	return 1
}

run_case()
{
	GOLDEN_DIR=$(dirname "$1")
	export GOLDEN_DIR
	rm -rf "$work/cwd"
	mkdir "$work/cwd"
	status=0
	(cd "$work/cwd" && exec sh "$1.sh") \
		>"$work/stdout" 2>"$work/stderr" </dev/null || status=$?
	good=true
	judge_exit "$1" "$status" || good=false
	judge "$1" stdout || good=false
	judge "$1" stderr || good=false
	$good
}

for area in "$@"; do
	for script in "$here/$area"/*.sh; do
		if [ -f "$script" ]; then
			echo "$script"
		fi
	done
done >"$work/cases"

count=$(wc -l <"$work/cases")
echo "1..$count"
number=0
failed=0
while IFS= read -r script <&4; do
	number=$((number + 1))
	case=${script%.sh}
	if run_case "$case"; then
		echo "ok $number - ${case#"$here/"}"
	else
		echo "not ok $number - ${case#"$here/"}"
		failed=1
	fi
done 4<"$work/cases"
exit "$failed"
