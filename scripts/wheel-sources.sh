#!/bin/sh
# wheel-sources.sh FOLDER - Debian's sources of what a wheel links, with Debian's patches: cJSON, zlib
# and zstd, as FOLDER/cjson, FOLDER/zlib and FOLDER/libzstd.
#
# A wheel needs them compiled for an old glibc, for musl or for macOS. The system's
# own list of sources stays as it is: a copy with sources in it is used, in a
# folder of its own.
set -eu

folder=$1
if [ -e "$folder/libzstd" ]; then
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
cd "$place"
export APT_CONFIG="$place/settings"
apt-get -q -q update
apt-get -q -q source cjson zlib libzstd >/dev/null
cd - >/dev/null
mkdir -p "$folder"
for name in cjson zlib libzstd; do
	rm -rf "${folder:?}/$name"
	mv "$place/$name"-* "$folder/$name"
done
