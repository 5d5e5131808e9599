# fragsim.bash - completion for bash. The program itself knows what to offer:
# fragsim-complete(1).

_fragsim()
{
	local line=${COMP_LINE:0:COMP_POINT} word breaks cut='' candidate about
	local -a words

	COMPREPLY=()
	read -ra words <<<"$line"
	if [[ $line == *[[:blank:]] ]]; then
		words+=('')
	fi
	word=${words[-1]}
	# Where bash parts words at = and :, it replaces only what follows the last one.
	breaks=${COMP_WORDBREAKS//[^=:]/}
	if [[ $breaks ]]; then
		cut=${word%"${word##*[$breaks]}"}
	fi
	while IFS=$'\t' read -r candidate about; do
		case $candidate in
		:files) compopt -o default ;;
		:open) compopt -o nospace ;;
		*) COMPREPLY+=("${candidate#"$cut"}") ;;
		esac
	done < <("${1/#\~\//$HOME/}" complete -- "${words[@]:1}" 2>/dev/null)
}

complete -F _fragsim fragsim
