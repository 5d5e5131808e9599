#!/bin/sh
# wheel-sources.sh FOLDER - Debian's sources of what a wheel links, with Debian's patches: cJSON,
# SQLite, zlib and zstd, as FOLDER/cjson, FOLDER/sqlite3, FOLDER/zlib and FOLDER/libzstd.
#
# A wheel needs them compiled for an old glibc, for musl or for macOS. The system's
# own list of sources stays as it is: a copy with sources in it is used, in a
# folder of its own.
set -eu

folder=$1
if [ -e "$folder/sqlite3/sqlite3.c" ]; then
	exit 0
fi
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir -p "$place/lists/partial" "$place/cache/archives/partial" "$place/none"
# Both forms of a list: deb822, and a line each.
cat /etc/apt/sources.list.d/*.sources 2>/dev/null |
	sed 's/^Types:.*/Types: deb-src/' >"$place/debian.sources"
cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
	sed -n 's/^deb /deb-src /p' >"$place/debian.list"
mkdir "$place/parts"
find "$place" -maxdepth 1 -name 'debian.*' -size +0 -exec mv {} "$place/parts" \;
cat >"$place/settings" <<END
Dir::Etc::sourcelist "$place/none/none.list";
Dir::Etc::sourceparts "$place/parts";
Dir::State::lists "$place/lists";
Dir::Cache "$place/cache";
APT::Sandbox::User "root";
END
here=$PWD
cd "$place"
export APT_CONFIG="$place/settings"
apt-get -q -q update
# the newest version that the mirror has: a list may name one whose files have not come there yet
for name in cjson sqlite3 zlib libzstd; do
	for version in $(apt-cache showsrc --only-source "$name" | sed -n 's/^Version: //p' |
		sort -rV); do
		if apt-get -q -q source "$name=$version" >/dev/null 2>"$place/said"; then
			continue 2
		fi
	done
	cat "$place/said" >&2
	exit 1
done
# the one file that SQLite is compiled from
cd "$place"/sqlite3-*/
./configure --quiet --disable-tcl >/dev/null
make -s sqlite3.c >/dev/null
cd "$here"
mkdir -p "$folder"
for name in cjson sqlite3 zlib libzstd; do
	rm -rf "${folder:?}/$name"
	mv "$place/$name"-* "$folder/$name"
done
