#!/bin/sh
# check-help.sh - the manual and the program say the same; prints TAP. Each page
# passes mandoc's lint, style included, each command has a page, and the long options that
# `fragsim COMMAND -h` lists are those of the page's .It lines. A scenario of gen
# has a section .Ss of its name, with those that `fragsim gen SCENARIO -h` lists
# besides. FRAGSIM names the program.
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

# options_of_page PAGE [SCENARIO]: those that an .It line names, of the page
# outside the sections of scenarios or of one of these.
options_of_page()
{
	awk -v wanted="${2-}" -v scenarios=" $(printf "%s" "$scenarios" | tr "\n" " ") " '
		/^\.S[hs] / { section = index(scenarios, " " $2 " ") ? $2 : "" }
		/^\.It / && section == wanted' "$1" | sed 's/\\//g' | grep -o 'Fl -[a-z0-9][a-z0-9-]*' |
		sed 's/^Fl --*//' | LC_ALL=C sort -u
}

# check_options COMMAND [SCENARIO]
check_options()
{
	page=man/fragsim-$1.1
	title="the options of $page${2:+, $2}"
	if ! help=$("$program" "$@" -h 2>&1); then
		report 1 "fragsim $* -h" "$help"
		return
	fi
	in_help=$(printf '%s\n' "$help" | options_of_help)
	in_page=$(options_of_page "$page" || :)
	if [ $# -eq 2 ]; then
		in_page=$({
			printf '%s\n' "$in_page"
			options_of_page "$page" "$2" || :
		} | sed '/^$/d' | LC_ALL=C sort -u)
	fi
	if [ "$in_help" = "$in_page" ]; then
		report 0 "$title"
	else
		report 1 "$title" "in -h:" "$in_help" "in $page:" "$in_page"
	fi
}

# Each scenario has a section, and each section of gen's page a scenario.
check_scenarios()
{
	sections=$(sed -n 's/^\.Ss //p' man/fragsim-gen.1 | LC_ALL=C sort)
	if [ "$scenarios" = "$sections" ]; then
		report 0 "the scenarios of man/fragsim-gen.1"
	else
		report 1 "the scenarios of man/fragsim-gen.1" "listed:" "$scenarios" \
			"in the page:" "$sections"
	fi
	for scenario in $scenarios; do
		check_options gen "$scenario"
	done
}

# What lint says of a page. Which manuals are found, and how old their index is, depends on
# the machine: of our own that is asked here.
lint()
{
	mandoc -Tlint -W style "$1" 2>/dev/null | grep -v 'STYLE: referenced manual not found' || :
	sed -n 's/^\.Xr \(fragsim[^ ]*\) \([1-8]\).*/\1.\2/p' "$1" | LC_ALL=C sort -u |
		while IFS= read -r name; do
			[ -f "man/$name" ] || [ -f "man/$name.in" ] || echo "$1: there is no man/$name"
		done
}

for page in man/*.[1-8] "$BUILD"/documents/*.5; do
	if [ -f "$page" ] && ! command -v mandoc >/dev/null; then
		number=$((number + 1))
		echo "ok $number - $page # SKIP mandoc is not installed"
	elif [ -f "$page" ]; then
		text=$(lint "$page")
		status=0
		[ -z "$text" ] || status=1
		report "$status" "$page" "$text"
	fi
done

scenarios=$("$program" gen --list | awk '{ print $1 }' | LC_ALL=C sort)
commands=$(sed -n 's/^const struct frag_cmd frag_cmd_\([a-z0-9_]*\) = .*/\1/p' \
	src/cmd/*.c 2>/dev/null | tr _ - | LC_ALL=C sort)
for command in $commands; do
	if [ -f "man/fragsim-$command.1" ]; then
		check_options "$command"
		if [ "$command" = gen ]; then
			check_scenarios
		fi
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
