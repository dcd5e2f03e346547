# SPDX-License-Identifier: Apache-2.0
# common.bash: what the completions of ckptfs, ckptctl and ckptbench share; each of them begins with it.

# _ckptfs_typed: sets the array `typed` to the words up to the cursor, and `word` to the last, as they were typed:
# readline makes several of one that has '=', ':' or '@'.
_ckptfs_typed() {
	local line=${COMP_LINE:0:COMP_POINT}
	read -ra typed <<<"$line"
	[[ $line != *[[:blank:]] ]] || typed+=('')
	word=${typed[-1]}
}

# _ckptfs_offer LEAD WORDS...: those that go on from what was typed, with LEAD before each. readline keeps what is
# before the last '=', ':' or '@'. No blank follows a word that ends in '=', '/' or ':'.
_ckptfs_offer() {
	local lead=$1 breaks='' cut='' c
	shift
	for c in = : @; do
		[[ $COMP_WORDBREAKS != *"$c"* ]] || breaks+=$c
	done
	[[ ! $breaks || $word != *[$breaks]* ]] || cut=${word%"${word##*[$breaks]}"}
	for c; do
		[[ $lead$c == "$word"* ]] || continue
		c=$lead$c
		COMPREPLY+=("${c#"$cut"}")
		[[ $c != *[=/:] ]] || compopt -o nospace 2>/dev/null
	done
}

# _ckptfs_paths KIND LEAD: files (-f) or directories (-d)
_ckptfs_paths() {
	local paths
	mapfile -t paths < <(compgen "$1" -- "${word#"$2"}")
	compopt -o filenames 2>/dev/null
	_ckptfs_offer "$2" "${paths[@]}"
}

# _ckptfs_values LEAD TYPE: what a value can be, whose option has TYPE in its table
_ckptfs_values() {
	local words
	case $2 in
	TEXT) _ckptfs_paths -f "$1" ;;
	USER) mapfile -t words < <(compgen -u) && _ckptfs_offer "$1" own "${words[@]}" ;;
	GROUP) mapfile -t words < <(compgen -g) && _ckptfs_offer "$1" own "${words[@]}" ;;
	'auto|N') _ckptfs_offer "$1" auto ;;
	*'|'*) IFS='|' read -ra words <<<"$2" && _ckptfs_offer "$1" "${words[@]}" ;;
	esac
}

# _ckptfs_list LEAD: a list as -o takes it, behind LEAD
_ckptfs_list() {
	local list=${word#"$1"} lead=$1 item name type names=()
	[[ $list != *,* ]] || lead=$1${list%,*},
	item=${list##*,}
	while IFS='=' read -r name type; do
		[[ ! $name ]] || names+=("$name=")
		[[ ! $name || $item != "$name="* ]] || _ckptfs_values "$lead$name=" "$type"
	done <<<"$_ckptfs_options"
	[[ $item == *=* ]] || _ckptfs_offer "$lead" "${names[@]}"
}

# _ckptfs_common: what all commands that take options of ckptfs have alike; false: not that
_ckptfs_common() {
	case ${typed[-2]} in
	-o) _ckptfs_list '' ;;
	-c) _ckptfs_paths -f '' ;;
	*)
		[[ $word == -o?* ]] || return
		_ckptfs_list -o
		;;
	esac
	return 0
}

