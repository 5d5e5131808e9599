#!/bin/sh
# check-help.sh - the manual and the program say the same; prints TAP. Each page
# passes mandoc's lint, style included, each command has a page, and the long options that
# `fragsim COMMAND -h` lists are those of the page's .It lines. A verb has a section of its
# command's page, .Sh TRACE GEN; a scenario of trace gen has an .Ss of its name in it, with those
# that `fragsim trace gen SCENARIO -h` lists besides. FRAGSIM names the program.
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

# options_of_page PAGE VERB SCENARIO: those that an .It line names, of the page outside the sections
# of verbs, or of the verb's outside those of scenarios, or of one of these.
options_of_page()
{
	awk -v wanted="$2 $3" -v verbs="|$(printf "%s" "$commands" | tr "\n" "|")|" \
		-v scenarios=" $(printf "%s" "$scenarios" | tr "\n" " ") " '
		/^\.S[hs] / { scenario = /^\.Ss/ && index(scenarios, " " $2 " ") ? $2 : "" }
		/^\.Sh / { verb = NF == 3 && index(verbs, "|" tolower($2 " " $3) "|") ? tolower($3) : "" }
		/^\.It / && verb " " scenario == wanted' "$1" | sed 's/\\//g' | grep -o 'Fl -[a-z0-9][a-z0-9-]*' |
		sed 's/^Fl --*//' | LC_ALL=C sort -u
}

# check_options COMMAND [VERB [SCENARIO]]
check_options()
{
	page=man/fragsim-$1.1
	title="the options of $*"
	if ! help=$("$program" "$@" -h 2>&1); then
		report 1 "fragsim $* -h" "$help"
		return
	fi
	in_help=$(printf '%s\n' "$help" | options_of_help)
	in_page=$(options_of_page "$page" "${2-}" "" || :)
	if [ $# -eq 3 ]; then
		in_page=$({
			printf '%s\n' "$in_page"
			options_of_page "$page" "$2" "$3" || :
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
	sections=$(sed -n '/^\.Sh TRACE GEN/,/^\.Sh EXIT/s/^\.Ss \([a-z0-9-]*\)$/\1/p' man/fragsim-trace.1 |
		LC_ALL=C sort)
	if [ "$scenarios" = "$sections" ]; then
		report 0 "the scenarios of man/fragsim-trace.1"
	else
		report 1 "the scenarios of man/fragsim-trace.1" "listed:" "$scenarios" \
			"in the page:" "$sections"
	fi
	for scenario in $scenarios; do
		check_options trace gen "$scenario"
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

scenarios=$("$program" trace gen --list | awk '{ print $1 }' | LC_ALL=C sort)
commands=$(sed -n 's/^const struct frag_cmd frag_cmd_\([a-z0-9_]*\) = .*/\1/p' \
	src/cmd/*.c 2>/dev/null | sed 's/^\(trace\|list\)_/\1 /; s/_/-/g' | LC_ALL=C sort)
for line in $(printf '%s\n' "$commands" | tr ' ' :); do
	command=${line%:*}
	verb=${line#"$command"}
	verb=${verb#:}
	if [ ! -f "man/fragsim-$command.1" ]; then
		report 1 "the page of $command" "man/fragsim-$command.1 is missing"
	elif [ -n "$verb" ] || ! printf '%s\n' "$commands" | grep -q "^$command "; then
		check_options "$command" ${verb:+"$verb"}
	fi
	if [ "$verb" = gen ]; then
		check_scenarios
	fi
done

if [ "$number" -eq 0 ]; then
	echo "1..0 # SKIP no manual and no command"
else
	echo "1..$number"
fi
exit "$failed"
