#!/bin/sh
# banned.sh - a banned call in src/ does not compile, with the flags of this build.
set -eu

command=$(sed 's/ : .*//' "$BUILD/flags")
number=0
failed=0

# expect WORD STATEMENT: "refused" or "taken" by the compiler.
expect()
{
	number=$((number + 1))
	said=taken
	echo "void f(char *p, va_list v); void f(char *p, va_list v) { (void)p; (void)v; $2; }" |
		$command -Wno-error -include stdarg.h -fsyntax-only -x c - 2>"$log" || said=refused
	if [ $said = refused ] && ! grep -q does_not_call "$log"; then
		said="refused for another reason"
	fi
	if [ "$said" = "$1" ]; then
		echo "ok $number - $2"
	else
		echo "not ok $number - $2: $said"
		failed=1
	fi
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo 1..12
expect refused 'strcpy(p, "")'
expect refused 'strcat(p, "")'
expect refused 'sprintf(p, "x")'
expect refused 'vsprintf(p, "x", v)'
expect refused 'strtok(p, "x")'
expect refused '(void)atoi(p)'
expect refused '(void)atol(p)'
expect refused '(void)rand()'
expect refused 'srand(1)'
expect refused 'time(NULL)'
expect taken 'snprintf(p, 1, "x")'
expect taken 'struct { int time; } s = { 0 }; (void)s.time'
exit $failed
