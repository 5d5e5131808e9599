#!/bin/sh
# install-packages.sh [-n] PACKAGE... - install the Debian packages that are
# missing. With -n only print their names. Where nothing is missing, neither the
# package manager nor the network is touched.
set -eu

only_list=false
if [ "${1-}" = -n ]; then
	only_list=true
	shift
fi

say()
{
	echo "install-packages: $*" >&2
}

if ! command -v dpkg-query >/dev/null 2>&1; then
	if ! $only_list; then
		say "not a Debian system; taken to be installed: $*"
	fi
	exit 0
fi

# A package that dpkg has never heard of is absent from the answer.
installed=" $(dpkg-query -W -f='${Package}=${db:Status-Status} ' "$@" 2>/dev/null || :) "
missing=
for package in "$@"; do
	case $installed in
	*" $package=installed "*) ;;
	*) missing="$missing $package" ;;
	esac
done
missing=${missing# }

if $only_list; then
	echo "$missing"
	exit 0
fi
if [ -z "$missing" ]; then
	exit 0
fi

if [ "$(id -u)" -eq 0 ]; then
	as_root=
elif command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
	as_root=sudo
else
	say "neither root nor sudo; have these packages installed: $missing"
	exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# apt ARGUMENT...: apt-get that asks nothing, and is quiet unless it fails.
apt()
{
	$as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q \
		-o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
		-o Dpkg::Options::=--force-confold "$@" >"$log" 2>&1 </dev/null
}

say "updating the lists of Debian packages"
if ! apt update; then
	say "that failed; going on with the lists that are here"
fi
say "installing $missing"
# The list is split into words on purpose.
# shellcheck disable=SC2086
if ! apt install --no-install-recommends $missing; then
	cat "$log" >&2
	say "could not install $missing"
	exit 1
fi
