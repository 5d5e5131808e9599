#!/bin/sh
# make-dist.sh NAME FOLDER - write FOLDER/NAME.tar.gz, the files of the last commit
# below NAME/. The same commit gives the same bytes: the times are the commit's,
# and gzip is told no name and no time. What .gitattributes keeps out is not in it.
set -eu

archive=$2/$1.tar.gz
if ! top=$(git rev-parse --show-toplevel 2>/dev/null) || [ "$top" != "$(pwd -P)" ]; then
	echo "make-dist: this is not the top of a git repository, so there is no commit to pack" >&2
	exit 1
fi
if ! git diff --quiet HEAD --; then
	echo "make-dist: what is not committed is left out" >&2
fi
mkdir -p "$2"
git archive --format=tar --prefix="$1/" HEAD >"$archive.tar"
gzip -9n <"$archive.tar" >"$archive.part"
rm -f "$archive.tar"
mv "$archive.part" "$archive"
echo "$archive"
