#!/bin/sh
# build-deb.sh [FOLDER] - make Debian packages of the last commit, in FOLDER (default
# build/deb), and have lintian judge them. It needs debhelper and lintian;
# DEB_BUILD_OPTIONS=nocheck leaves the tests out.
set -eu

cd "$(dirname "$0")/.."
out=${1:-build/deb}
version=$(sed -n 's/^.define FRAG_VERSION "\(.*\)".*/\1/p' include/fragsim/version.h)
source=$out/fragsim-$version

rm -rf "$source"
mkdir -p "$out"
scripts/make-dist.sh "fragsim-$version" "$out"
mv "$out/fragsim-$version.tar.gz" "$out/fragsim_$version.orig.tar.gz"
tar -x -f "$out/fragsim_$version.orig.tar.gz" -C "$out"
# A release has no debian/: it comes from the commit itself.
git archive --format=tar HEAD:debian --prefix=debian/ --worktree-attributes | tar -x -f - -C "$source"
(cd "$source" && dpkg-buildpackage -us -uc)
# The maintainers have no mail address.
lintian --allow-root --fail-on error,warning --suppress-tags malformed-contact,bogus-mail-host-in-debian-changelog "$out"/fragsim_"$version"-*.changes
