# bash completion for zarrfs; options and their words come from zarrfs --help
# shellcheck shell=bash

_zarrfs_options()
{
	"$1" --help 2>/dev/null | sed -n '/^Options after -o:/,/^$/s/^  \([a-z_]*=\{0,1\}\)\([^ ]*\).*/\1 \2/p'
}

_zarrfs()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options last lead
	# readline splits words at '=': put the option list together again
	local line=${COMP_LINE:0:COMP_POINT}
	local current=${line##*[[:space:]]}
	local list=${current#-o}
	COMPREPLY=()
	if [[ $before == -- ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$word")
	elif [[ " ${COMP_WORDS[*]:0:COMP_CWORD} " == *' -- '* ]]; then # what a command is given
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	elif [[ $current == -o?* || $line =~ [[:space:]]-o[[:space:]]+[^[:space:]]*$ ]]; then
		options=$(_zarrfs_options "${COMP_WORDS[0]}")
		last=${list##*,}
		if [[ $last == *=* ]]; then
			local words
			words=$(sed -n "s/^${last%%=*}= //p" <<<"$options" | tr '|' '\n')
			if [[ $words =~ ^(FILE|DIR)$ ]]; then
				compopt -o filenames
				mapfile -t COMPREPLY < <(compgen -f -- "${last#*=}")
			else
				mapfile -t COMPREPLY < <(compgen -W "$(grep -v '^[A-Z]*$' <<<"$words")" -- "${last##*[=:]}")
			fi
		else
			lead=${word%"$last"}
			mapfile -t COMPREPLY < <(compgen -P "$lead" -W "$(cut -d' ' -f1 <<<"$options")" -- "$last")
			[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
		fi
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "-f -d -o -h -V --help --version --ls --cat --create --" -- "$word")
	else
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -d -- "$word"; compgen -f -X '!*.zip' -- "$word")
	fi
}
complete -F _zarrfs zarrfs
