#!/bin/sh
# install.sh install|uninstall SOURCE:DESTINATION... - put files in their places, or
# take away exactly these. DESTDIR stands before each place.
#
# A source NAME.in is filled in: @VARIABLE@ stands for a variable of the
# environment. A source =NAME is a link to NAME. Programs stay programs, all else
# is only read. With its last file goes a folder that is ours alone, that is, one
# called fragsim or below such a one; below DESTDIR, which is a stage, any folder.
set -eu

what=$1
shift
: "${DESTDIR=}"

# fill FILE: FILE with its variables filled in.
fill()
{
	awk '{
		while (match($0, /@[A-Za-z_]+@/))
			$0 = substr($0, 1, RSTART - 1) ENVIRON[substr($0, RSTART + 1, RLENGTH - 2)] \
				substr($0, RSTART + RLENGTH)
		print
	}' "$1"
}

# put SOURCE PLACE
put()
{
	mkdir -p "${2%/*}"
	case $1 in
	=*) ln -sf "${1#=}" "$2" ;;
	*.in)
		fill "$1" >"$2"
		chmod 644 "$2"
		;;
	*.so | *.so.*) install -m 644 "$1" "$2" ;;
	*)
		mode=644
		if [ -x "$1" ]; then
			mode=755
		fi
		install -m $mode "$1" "$2"
		;;
	esac
}

# take PLACE: the file goes, what Python compiled of it, and folders of ours that it leaves empty.
take()
{
	rm -f "$DESTDIR$1"
	folder=${1%/*}
	case $1 in
	*.py)
		name=${1##*/}
		rm -f "$DESTDIR$folder/__pycache__/${name%.py}".*.pyc
		rmdir "$DESTDIR$folder/__pycache__" 2>/dev/null || :
		;;
	esac
	while :; do
		case $folder in
		'') break ;;
		*/fragsim | */fragsim/*) ;;
		*) [ -n "$DESTDIR" ] || break ;;
		esac
		rmdir "$DESTDIR$folder" 2>/dev/null || break
		folder=${folder%/*}
	done
}

for word in "$@"; do
	case $what in
	install) put "${word%%:*}" "$DESTDIR${word#*:}" ;;
	uninstall) take "${word#*:}" ;;
	*) exit 2 ;;
	esac
done
