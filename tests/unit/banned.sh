#!/bin/sh
# banned.sh - a banned call in src/ does not compile, with the flags of this build,
# and nothing does for a machine that fragsim is not made for.
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

# machine WORD MACRO VALUE: "refused" or "taken" where the compiler says so of itself.
machine()
{
	number=$((number + 1))
	said=taken
	echo "int f(void); int f(void) { return 0; }" |
		$command -Wno-error -Wno-builtin-macro-redefined "-U$2" "-D$2=$3" -fsyntax-only \
			-x c - 2>"$log" || said=refused
	if [ $said = refused ] && ! grep -q "made for 64-bit little-endian" "$log"; then
		said="refused for another reason"
	fi
	if [ "$said" = "$1" ]; then
		echo "ok $number - $2 is $3: $1"
	else
		echo "not ok $number - $2 is $3: $said"
		failed=1
	fi
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo 1..20
expect refused 'strcpy(p, "")'
expect refused 'strcat(p, "")'
expect refused 'sprintf(p, "x")'
expect refused 'vsprintf(p, "x", v)'
expect refused 'strtok(p, "x")'
expect refused '(void)atoi(p)'
expect refused '(void)atol(p)'
expect refused '(void)rand()'
expect refused '(void)vsnprintf(p, 1, p, v)'
expect refused '(void)strtod(p, NULL)'
expect refused '(void)strtof(p, NULL)'
expect refused '(void)atof(p)'
expect refused 'setlocale(0, p)'
expect refused 'srand(1)'
expect refused 'time(NULL)'
expect taken 'snprintf(p, 1, "x")'
expect taken 'struct { int time; } s = { 0 }; (void)s.time'
machine refused __BYTE_ORDER__ __ORDER_BIG_ENDIAN__
machine refused __SIZEOF_POINTER__ 4
machine taken __SIZEOF_POINTER__ 8
exit $failed
