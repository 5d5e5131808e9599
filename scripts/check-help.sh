#!/bin/sh
# check-help.sh - the manual and the program say the same; prints TAP. Each page
# passes mandoc's lint, each command has a page, and the long options that
# `fragsim COMMAND -h` lists are those of the page's .It lines. FRAGSIM names
# the program.
set -eu

cd "$(dirname "$0")/.."
program=${FRAGSIM:-build/fragsim}
number=0
failed=0

# report STATUS TITLE COMPLAINT...: one test, good where STATUS is 0.
report()
{
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $number - $2"
		return
	fi
	echo "not ok $number - $2"
	failed=1
	shift 2
	printf '%s\n' "$@" | sed 's/^/#   /'
}

# options_of_help: the long options of an option list, `  -o, --steps FILE ...`.
options_of_help()
{
	sed -n 's/^[ 	][ 	]*\(-[A-Za-z0-9],\{0,1\} \{1,\}\)\{0,1\}--\([a-z0-9][a-z0-9-]*\).*/\2/p' |
		LC_ALL=C sort -u
}

# options_of_page PAGE: those that an .It line of the page names.
options_of_page()
{
	sed -n '/^\.It /p' "$1" | sed 's/\\//g' | grep -o 'Fl -[a-z0-9][a-z0-9-]*' |
		sed 's/^Fl --*//' | LC_ALL=C sort -u
}

check_options()
{
	page=man/fragsim-$1.1
	if ! help=$("$program" "$1" -h 2>&1); then
		report 1 "fragsim $1 -h" "$help"
		return
	fi
	in_help=$(printf '%s\n' "$help" | options_of_help)
	in_page=$(options_of_page "$page" || :)
	if [ "$in_help" = "$in_page" ]; then
		report 0 "the options of $page"
	else
		report 1 "the options of $page" "in -h:" "$in_help" "in $page:" "$in_page"
	fi
}

for page in man/*.[1-8]; do
	if [ -f "$page" ]; then
		status=0
		text=$(mandoc -Tlint -Wwarning "$page" 2>&1) || status=$?
		report "$status" "$page" "$text"
	fi
done

commands=$(sed -n 's/^const struct frag_cmd frag_cmd_\([a-z0-9_]*\) = .*/\1/p' \
	src/cmd/*.c 2>/dev/null | tr _ - | LC_ALL=C sort)
for command in $commands; do
	if [ -f "man/fragsim-$command.1" ]; then
		check_options "$command"
	else
		report 1 "the page of $command" "man/fragsim-$command.1 is missing"
	fi
done

if [ "$number" -eq 0 ]; then
	echo "1..0 # SKIP no manual and no command"
else
	echo "1..$number"
fi
exit "$failed"
