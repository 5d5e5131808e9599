#!/bin/sh
# cjson-source.sh FOLDER - Debian's source of cJSON, with its patches, as FOLDER/cJSON.c and
# FOLDER/cJSON.h.
#
# Debian has no static cJSON, and a wheel needs one that was compiled for an old
# glibc. The system's own list of sources stays as it is: a copy with sources in it
# is used, in a folder of its own.
set -eu

folder=$1
if [ -e "$folder/cJSON.c" ]; then
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
apt-get -q -q source cjson >/dev/null
cd - >/dev/null
mkdir -p "$folder"
cp "$place"/cjson-*/cJSON.c "$place"/cjson-*/cJSON.h "$folder"
