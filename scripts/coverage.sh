#!/bin/sh
# coverage.sh [NAME=VALUE...] - which lines and branches of src/ the tests and corpora reach.
#
# Builds in a folder of its own, runs `make check-all` there, and prints a table; the
# pages of each file are in build/coverage/html. Ends with 1 where less than 95 % of
# the lines or 85 % of the branches are reached. What is left, and why, stands in
# CONTRIBUTING.md. Takes some minutes.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}/coverage

command -v gcovr > /dev/null || scripts/install-packages.sh gcovr
mkdir -p "$build/html"
find "$build" -name '*.gcda' -delete
COVERAGE=1 make --no-print-directory check-all BUILD="$build" PROPERTY_SEEDS=50 \
	CFLAGS='-O0 -g --coverage -fprofile-update=atomic' "$@" ||
	echo 'coverage: to count takes memory, files and time of its own, so some tests fail here'
# of what tests/unit/banned.sh compiles from a pipe
rm -f ./a--.gcno
gcovr --root . --filter src/ --object-directory "$build" --exclude-unreachable-branches \
	--html-details "$build/html/index.html" --print-summary \
	--fail-under-line 95 --fail-under-branch 85
