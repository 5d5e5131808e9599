#!/bin/sh
# check-reproducible.sh [MAKE-SETTING...] - build and install the files of the last
# commit twice, in folders whose names differ in length, with another time zone,
# language, umask and number of jobs, a while apart; say what differs.
set -eu

cd "$(dirname "$0")/.."
work=$(mktemp -d "${TMPDIR:-/tmp}/reproducible.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# build FOLDER JOBS MAKE-SETTING...: sources in work/FOLDER, what is installed in work/FOLDER.out.
build()
{
	folder=$1
	jobs=$2
	shift 2
	mkdir -p "$work/$folder"
	git archive --format=tar HEAD | tar -x -f - -C "$work/$folder"
	make -s -C "$work/$folder" -j"$jobs" install prefix=/usr DESTDIR="$work/$folder.out" "$@" >/dev/null
}

unset MAKEFLAGS MFLAGS BUILD SAN || :
(
	umask 022
	export TZ=UTC LC_ALL=C
	build one 1 "$@"
)
sleep 2         # so that the clock shows another second
(
	umask 027
	export TZ=Asia/Kathmandu LC_ALL=C.UTF-8
	build a/much/longer/name 2 "$@"
)
for place in one a/much/longer/name; do
	(cd "$work/$place.out" && find . ! -type d -printf '%m %s %p %l\n' | LC_ALL=C sort) >"$work/$place.list"
done
if diff "$work/one.list" "$work/a/much/longer/name.list" &&
	diff -r "$work/one.out" "$work/a/much/longer/name.out"; then
	echo "the same bytes, in $(find "$work/one.out" -type f | wc -l) files"
else
	echo "the two builds differ: see above"
	exit 1
fi
