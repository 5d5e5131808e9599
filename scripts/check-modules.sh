#!/bin/sh
# check-modules.sh [ROOT] - the rules of the source tree that no compiler checks,
# printed as TAP, each breach as FILE:LINE. The module rules read modules.txt: a
# file may include "module/x.h" of its own module and of the modules listed for it, and
# its object may use symbols of those alone. A public header belongs to the module
# of its name, or to the one that a line "name.h = module" says, else to base.
# Objects are taken from $BUILD (build); without any, their rule is skipped.
set -eu

modules=$(cd "$(dirname "$0")" && pwd)/modules.txt
cd "${1:-$(dirname "$0")/..}"
build=${BUILD:-build}

files=$(find src include -name '*.[ch]' 2>/dev/null | LC_ALL=C sort)
if [ -z "$files" ]; then
	echo "1..0 # SKIP no sources"
	exit 0
fi

# Which symbol is whose, as lines "ROOM/FILE TYPE SYMBOL", of the objects that have a source.
symbols=$(mktemp)
trap 'rm -f "$symbols"' EXIT
for file in $files; do
	object=$build/${file%.c}.o
	if [ "${file%.c}" != "$file" ] && [ -f "$object" ]; then
		nm -P "$object" | sed -n "s|^\(frag_[A-Za-z0-9_]*\) \([A-Z]\).*|${file#src/} \2 \1|p"
	fi
done >"$symbols"

# The names hold no spaces; the last rule below sees to that.
# shellcheck disable=SC2086
LC_ALL=C awk -v modules="$modules" -v symbols="$symbols" '
function breach(rule, text)
{
	found[rule] = found[rule] "#   " FILENAME ":" FNR ": " text "\n"
}

# The line without comments, strings and character constants.
function code(line,    out, c, i)
{
	out = ""
	for (i = 1; i <= length(line); i++) {
		c = substr(line, i, 1)
		if (in_comment) {
			if (substr(line, i, 2) == "*/") {
				in_comment = 0
				i++
			}
		} else if (quote != "") {
			if (c == "\\")
				i++
			else if (c == quote) {
				quote = ""
				out = out c
			}
		} else if (substr(line, i, 2) == "/*") {
			in_comment = 1
			out = out " "
			i++
		} else if (substr(line, i, 2) == "//") {
			break
		} else {
			if (c == "\"" || c == "\047")
				quote = c
			out = out c
		}
	}
	quote = ""
	return out
}

function module_of_header(path,    part)
{
	split(path, part, "/")
	if (part[1] != "fragsim")
		return part[1]
	if (part[2] in home)
		return home[part[2]]
	sub(/\.h$/, "", part[2])
	return part[2] in allowed ? part[2] : "base"
}

function check_include(path,    to)
{
	if (index(path, "../"))
		breach(PARENT, "includes " path)
	to = module_of_header(path)
	if (path !~ /^[^\/]+\/[^\/]+$/ || !(to in allowed))
		breach(MODULES, "includes " path ", which is in no module")
	else if (to != module && index(allowed[module], " " to " ") == 0)
		breach(MODULES, module " includes " path ", which belongs to " to)
	delete wanted[module " " to]
	if (FILENAME ~ /^include/ && path !~ /^fragsim\//)
		breach(PUBLIC, "includes " path)
}

BEGIN {
	MODULES = ++rules; title[MODULES] = "modules include what modules.txt allows"
	PARENT = ++rules; title[PARENT] = "no include goes up by ../"
	PUBLIC = ++rules; title[PUBLIC] = "public headers include public headers only"
	CJSON = ++rules; title[CJSON] = "cJSON only in src/base/json.c"
	UNIQUE = ++rules; title[UNIQUE] = "file names are unique across src/"
	LENGTH = ++rules; title[LENGTH] = "no file is longer than 900 lines"
	QUIET = ++rules; title[QUIET] = "below cmd nothing prints, exits or aborts"
	FIRST = ++rules; title[FIRST] = "each file begins with its name and what it is for"
	NAMES = ++rules; title[NAMES] = "files are src/ROOM/NAME or include/fragsim/NAME"
	DOWN = ++rules; title[DOWN] = "modules.txt names modules below alone, and none without need"
	CALLS = ++rules; title[CALLS] = "objects use symbols of the modules that modules.txt allows"
	FILES = ++rules; title[FILES] = "within a module, files use those before them in modules.txt"

	FILENAME = modules
	FNR = 0
	while ((getline line < modules) > 0) {
		FNR++
		sub(/#.*/, "", line)
		if (split(line, part, ":") == 2) {
			gsub(/[ \t]+/, " ", part[2])
			allowed[part[1]] = part[2] " "
			read_module(part[1], part[2])
		}
		if (split(line, part, /[ \t]*=[ \t]*/) == 2)
			home[part[1]] = part[2]
		if (split(line, part, /[ \t]*<[ \t]*/) == 2)
			read_order(part[1], part[2])
	}
	while ((getline line < symbols) > 0) {
		split(line, part, " ")
		objects++
		if (part[2] == "U")
			used[part[1] " " part[3]]
		else
			owner[part[3]] = part[1]
	}
	if (!objects)
		title[CALLS] = title[CALLS] " # SKIP no objects are built"
}

# A module of modules.txt. One that was named above may be defined now, never the reverse.
function read_module(module, list,    name, n, i)
{
	defined[module]
	n = split(list, name, " ")
	for (i = 1; i <= n; i++) {
		if (name[i] in defined)
			breach(DOWN, module " names " name[i] ", which is not below it")
		if (name[i] != "-")
			wanted[module " " name[i]] = FNR
	}
}

# "ROOM < FILE FILE ...": each may use those before it, of earlier such lines too.
function read_order(module, list,    name, n, i)
{
	n = split(list, name, " ")
	for (i = 1; i <= n; i++)
		rank[module "/" name[i] ".c"] = ++ranked[module]
}

# One use of a symbol that another file of src/ has.
function check_call(from, symbol,    to, a, b)
{
	if (!(symbol in owner) || owner[symbol] == from)
		return
	to = owner[symbol]
	split(from, a, "/")
	split(to, b, "/")
	FILENAME = "src/" from
	FNR = 1
	if (a[1] == b[1]) {
		if ((from in rank) && (!(to in rank) || rank[to] > rank[from]))
			breach(FILES, "uses " symbol " of " b[2])
	} else {
		delete wanted[a[1] " " b[1]]
		if (index(allowed[a[1]], " " b[1] " ") == 0)
			breach(CALLS, "uses " symbol " of " b[1])
	}
}

FNR == 1 {
	in_comment = 0
	count = split(FILENAME, part, "/")
	name = part[count]
	module = part[1] == "src" ? part[2] : module_of_header("fragsim/" name)
	if (count != 3 || !(module in allowed) || FILENAME ~ /[^A-Za-z0-9_.\/]/)
		breach(NAMES, "a place or name that is not foreseen")
	if (part[1] == "src") {
		if (name in seen)
			breach(UNIQUE, "like " seen[name])
		seen[name] = FILENAME
	}
	title_line = $0 == "/*" ? 2 : 1
	present[module]
}

# A module whose files have an order names all of them there.
FNR == 1 && (module in ranked) && name ~ /\.c$/ && !((module "/" name) in rank) {
	breach(FILES, "is in no line \"" module " < ...\" of scripts/modules.txt")
}

FNR == title_line {
	start = (FNR == 1 ? "/* " : " * ") name " - "
	if (substr($0, 1, length(start)) != start)
		breach(FIRST, "does not begin with \"" start "\"")
}

FNR == 901 { breach(LENGTH, "is too long") }

{
	text = code($0)
	if (text ~ /^[ \t]*#[ \t]*include/) {
		if (split($0, part, "\"") >= 3)
			check_include(part[2])
		else if (text ~ /<cjson\//)
			text = text " cJSON"
	}
	if (text ~ /cJSON/ && FILENAME != "src/base/json.c")
		breach(CJSON, "speaks of cJSON")
	# a child that platform.c forks ends itself
	if (module != "cmd" && FILENAME != "src/base/error.c" &&
	    !(FILENAME == "src/base/platform.c" && text ~ /[ \t]_exit\((0|run\(ctx\))\)/) &&
	    text ~ /(^|[^A-Za-z0-9_])(v?printf|puts|putchar|perror|_?exit|_Exit|quick_exit|abort)[ \t]*\(/)
		breach(QUIET, "prints, exits or aborts")
}

END {
	for (pair in used) {
		split(pair, part, " ")
		check_call(part[1], part[2])
	}
	FILENAME = modules
	for (pair in wanted) {
		split(pair, part, " ")
		FNR = wanted[pair]
		if (objects && (part[1] in present))
			breach(DOWN, part[1] " has no need of " part[2])
	}
	print "1.." rules
	for (rule = 1; rule <= rules; rule++) {
		good = !(rule in found)
		print (good ? "ok " : "not ok ") rule " - " title[rule]
		if (!good) {
			printf "%s", found[rule]
			failed = 1
		}
	}
	exit failed + 0
}' $files
