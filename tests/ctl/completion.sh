#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# completion.sh: bash completes commands, options, keys and values, as the tables of the programs have them.
. "${srcdir:?}/tests/lib/mount.sh"
command -v bash >/dev/null || skip_all "bash is not installed"
need_fuse
plan 30
files=$builddir/conf/completions

# completes LINE: what bash offers behind it, one a line, as a user's bash has it that sources the file.
completes() {
	bash --norc -c '
		source "$1/$2" || exit
		COMP_LINE=$3 COMP_POINT=${#3}
		function=$(complete -p "$4") || exit
		function=${function#*-F }
		"${function%% *}" "$4" 2>/dev/null
		[ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\n" "${COMPREPLY[@]}"' \
		bash "$files" "$(echo "${1%% *}" | sed 's/^mount\.//')" "$1" "${1%% *}"
}
# offers LINE WORDS... "name": these and no others, in any order
offers() {
	line=$1 want=$(echo "$2" | tr ' ' '\n' | sort)
	expect_eq "$want" "$(completes "$line" | sort)" "$3"
}

offers "ckptfs -" "-f -o -c --mount-only -V --version -h --help" "ckptfs completes its options"
"$builddir/ckptfs" -h | grep -oE '(^  |, )-(-[a-z-]+|[^-])' | grep -oE -- '-.*' | sort >"$tmp/have"
completes "ckptfs -" | grep -v -e --help -e --version >"$tmp/offered"
completes "ckptfs -" | grep -e --help -e --version >>"$tmp/offered"
check "ckptfs completes the options that its help has" sh -c 'sort "$0" | diff "$1" -' "$tmp/offered" "$tmp/have"
"$builddir/fs/base/gen_docs" names | sed 's/$/=/' | sort >"$tmp/have"
completes "ckptfs s3://b /mnt -o " | sort >"$tmp/offered"
check "ckptfs -o completes each option of the table and no other" diff "$tmp/have" "$tmp/offered"
offers "ckptfs -o part_size=8M,log_" "8M,log_level= 8M,log_format=" "ckptfs -o completes behind a comma"
offers "ckptfs -o attr_ttl=1s,log_level=" "error warning info debug" "ckptfs -o completes the words that a value can be"
offers "ckptfs -oanonymous=" "on off" "ckptfs -o completes a list that is no word of its own"
offers "ckptfs -o sse=aws:kms" "kms kms:dsse" "ckptfs -o completes a value behind its last colon, where readline begins"
offers "ckptfs -o uid=roo" "root" "ckptfs -o completes the users of this machine"
mkdir "$tmp/dir" && : >"$tmp/dir/file.yaml"
offers "ckptfs s3://b $tmp/di" "$tmp/dir" "ckptfs completes the mountpoint"
offers "ckptfs -c $tmp/dir/f" "$tmp/dir/file.yaml" "ckptfs -c completes files"
offers "ckptfs s" "s3://" "ckptfs completes the kind of a URL"
offers "mount.ckptfs -o consist" "consistency=" "mount.ckptfs completes the same options"

"$builddir/ckptctl" -h | sed -n '/^MOUNT/q; s/^.*ckptctl \([a-z]*\).*/\1/p' | sort -u >"$tmp/have"
echo credentials >>"$tmp/have"
completes "ckptctl " | sort >"$tmp/offered"
check "ckptctl completes each command of its help and no other" sh -c 'sort -u "$0" | diff - "$1"' "$tmp/have" "$tmp/offered"
"$builddir/ckptctl" nonsense 2>&1 | sed 's/.*: give //; s/ or /, /; s/, /\n/g' | sed 's/ .*//' | sort -u >"$tmp/named"
check "what is no command is answered with each one that is" sh -c 'sort -u "$0" | diff - "$1"' "$tmp/have" "$tmp/named"
offers "ckptctl uploads " "list abort" "ckptctl completes the second word of a command"
offers "ckptctl uploads abort s3://b --" "--key= --older= --yes --version --help" "ckptctl completes the options of a command"
offers "ckptctl stats --j" "--json" "ckptctl completes no option of another command"
offers "ckptctl loglevel " "error warning info debug" "ckptctl completes levels"
offers "ckptctl set consist" "consistency=" "ckptctl completes options that a mount is to have"
offers "ckptctl recover " "s3:// gs://" "ckptctl completes the kind of a URL"
offers "ckptctl drain --timeout " "" "ckptctl offers nothing for a time"
start_store
mount_ckptfs "control_dir=$tmp/control"
expect_eq "$mnt" "$(completes "ckptctl -o control_dir=$tmp/control status $tmp/" | grep -F "$tmp")" "ckptctl completes the mounts of this machine"
umount_ckptfs

"$builddir/ckptbench" help scenarios | sed -n 's/^  \([a-z_]*\)$/\1/p' >"$tmp/have"
printf '%s\n' help report compare prepare-nvme --help --version >>"$tmp/have"
completes "ckptbench " | sort >"$tmp/offered"
check "ckptbench completes each scenario and other command" sh -c 'sort "$0" | diff - "$1"' "$tmp/have" "$tmp/offered"
offers "ckptbench dataset dataloader.pre" "dataloader.prefetch_factor=" "ckptbench completes keys"
offers "ckptbench shards dataloader.pre" "" "ckptbench completes no key that the scenario does not read"
offers "ckptbench shards format=raw,s" "raw,safetensors" "ckptbench completes values behind a comma"
offers "ckptbench shards +storage=mou" "mount" "ckptbench completes names of storages"
offers "ckptbench dcp -cd $tmp/dir -cn f" "file" "ckptbench completes the files of the directory that -cd gave"

# The whole way, by a terminal.
cat >"$tmp/terminal.py" <<'END'
import os, pty, select, sys
pid, fd = pty.fork()
if not pid:
    os.environ.update(PS1="", TERM="dumb")
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
def type_it(text, until):
    os.write(fd, text.encode())
    seen = ""
    while until not in seen:
        if not select.select([fd], [], [], 60)[0]:
            sys.exit("nothing more than " + repr(seen))
        seen += os.read(fd, 4096).decode()
type_it("source %s; bind 'set enable-bracketed-paste off'; echo rea''dy\n" % sys.argv[1], "ready")
type_it("ckptfs -o log_format=json,sse=aws:kms:\t", "sse=aws:kms:dsse")
type_it("\x15echo en''d\n", "end")
END
check "a user who presses the tabulator has the rest of the word" python3 "$tmp/terminal.py" "$files/ckptfs"
