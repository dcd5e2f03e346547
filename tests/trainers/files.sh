#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# files.sh: tools that everybody has do in a mount what they do in a local directory.
. "${srcdir:?}/tests/trainers/trainers.sh"
need_fuse
export CCACHE_DISABLE=1 # the compiler itself is to write there
plan_each 7
start_mounts
mkdir "$tmp/fs" "$tmp/from"

# in_place PLACE FUNCTION: what it says and leaves goes to $tmp/out.PLACE; it must end well.
in_place() {
	mkdir "$tmp/$1/$2"
	(
		cd "$tmp/$1/$2" && "$2" && find . -name .git -prune -o ! -type d \
			-printf '%P %y %M %s %l\n' -o -printf '%P %y %M\n' | LC_ALL=C sort
	) >"$tmp/out.$1" 2>"$tmp/err"
	place_rc=$?
	[ $place_rc -eq 0 ] || {
		diag "exit status $place_rc in $1:"
		diag "$(tail -n 15 "$tmp/err" "$tmp/out.$1")"
	}
	return $place_rc
}

# both NAME FUNCTION: in a local directory and in each mount; it must end well, say the same and leave
# the same names, types, modes, sizes, times and links.
both() {
	in_place fs "$2"
	local_rc=$?
	for store in $stores; do
		if in_place "$store" "$2" && [ $local_rc -eq 0 ] && diff "$tmp/out.fs" "$tmp/out.$store" >"$tmp/diff"; then
			ok "$store: $1"
		else
			not_ok "$store: $1"
			[ ! -s "$tmp/diff" ] || diag "$(head -n 30 "$tmp/diff")"
			rm -f "$tmp/diff"
		fi
	done
}
skip_both() { for store in $stores; do skip "$store: $1" "$2"; done; }

# What the tools copy: links, modes, old times, empty and larger files, odd names.
source_tree() {
	mkdir -p "$1/a b/c" "$1/empty" && cd "$1" || return
	for i in 1 2 3 4 5; do head -c $((i * 700000)) /dev/urandom >"a b/file $i"; done
	: >nothing
	echo '#!/bin/sh' >run
	chmod 755 run
	chmod 600 "a b/file 2"
	ln -s "a b/file 1" link
	ln -s /no/where dangling
	ln -s "a b" dirlink
	truncate -s 3M sparse
	touch -d '2001-02-03 04:05:06.5' nothing run "a b/c"
	touch -h -d '2002-03-04 05:06:07' link dangling dirlink
	touch -d '1999-01-01' empty
}
(source_tree "$tmp/from")
file_times() { (cd "$1" && find . ! -type d -printf '%P %TY-%Tm-%Td %TT\n' | LC_ALL=C sort); }
same_times() { file_times "$1" >"$tmp/t1"; file_times "$2" >"$tmp/t2"; diff "$tmp/t1" "$tmp/t2"; }

copied() { cp -a "$tmp/from/." . && diff -r --no-dereference "$tmp/from" . && same_times "$tmp/from" .; }
both "cp -a" copied

synced() {
	rsync -a "$tmp/from/" . && diff -r --no-dereference "$tmp/from" . && same_times "$tmp/from" . &&
		rsync -ai "$tmp/from/" . && echo change >>nothing && head -c 10 /dev/zero >"a b/file 1" &&
		touch -d 2003-04-05 nothing "a b/file 1" && rsync -ai --delete "$tmp/from/" . && rsync -ai --inplace --checksum "$tmp/from/" .
}
if command -v rsync >/dev/null; then both "rsync -a, and again after changes" synced; else
	skip_both "rsync -a, and again after changes" "rsync is not installed"
fi

tar -C "$tmp/from" --format=posix -cf "$tmp/from.tar" .
unpacked() {
	tar xpf "$tmp/from.tar" && tar df "$tmp/from.tar" && same_times "$tmp/from" . &&
		tar cf - . | tar tf - | LC_ALL=C sort && tar czf some.tgz "a b" && gzip -t some.tgz &&
		rm some.tgz && echo more >more && tar cf append.tar run && tar rf append.tar more &&
		tar tf append.tar
}
both "tar x, tar d, tar r" unpacked

edited() {
	cp "$tmp/from/a b/file 3" x && sed -i '1d' x && printf 'a\nb\nc\n' >text && sed -i 's/b/B/' text &&
		cat text && cp text text2 && echo d >>text2 && ! diff text text2 && sort -o text2 -r text2 &&
		cat text2 && dd if=/dev/zero of=x bs=1000 seek=100 count=3 conv=notrunc status=none &&
		truncate -s 150000 x && split -b 40000 x part. && cat part.* | cmp - x && rm part.* &&
		install -m 750 text there && mv there here && ln -sf here now && gzip -k x && gunzip -f x.gz &&
		(umask 077 && echo s >secret) && mkdir -m 2775 shared && echo y >shared/y
	rm -f x
}
both "sed -i, dd conv=notrunc, truncate, split, install, gzip" edited

git_config() {
	export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0
	export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a
	export GIT_COMMITTER_EMAIL=a@example.com
}
origin() {
	git_config
	git init -q -b main "$tmp/origin" && cd "$tmp/origin" || return
	for i in 1 2 3 4 5; do
		mkdir -p "dir$i"
		for j in 1 2 3 4 5 6 7 8; do seq "$i" "$((i * j * 40))" >"dir$i/file$j"; done
		git add . && git commit -q -m "change $i" || return
	done
}
cloned() {
	git_config
	git clone -q --no-hardlinks "$tmp/origin" clone && cd clone && git fsck --full --strict 2>&1 &&
		git status --porcelain && echo more >>dir1/file1 && git rm -q dir2/file2 && git add -A &&
		git commit -q -m more && git checkout -q -b side HEAD~2 && echo side >side && git add side &&
		git commit -q -m side && git rebase -q main && git gc -q && git fsck --full 2>&1 &&
		git status --porcelain && git log --format=%s && git stash list && git diff --stat HEAD~1
}
if command -v git >/dev/null && (origin) >"$tmp/err" 2>&1; then
	both "git clone, commit, rebase, gc, fsck" cloned
else
	skip_both "git clone, commit, rebase, gc, fsck" "no git here"
fi

built() {
	for i in 1 2 3 4 5 6; do
		printf 'int f%d(int x);\nint f%d(int x) { return x + %d; }\n' $i $i $i >f$i.c
	done
	cat >main.c <<-'EOF'
	#include <stdio.h>
	int f1(int), f2(int), f3(int), f4(int), f5(int), f6(int);
	int main(void) { printf("%d\n", f1(f2(f3(f4(f5(f6(0))))))); return 0; }
	EOF
	printf '%s\n' 'objects = main.o f1.o f2.o f3.o f4.o f5.o' 'prog: $(objects) libf.a' \
		'	$(CC) -g -o $@ $(objects) libf.a' 'libf.a: f6.o ; ar crD libf.a f6.o' >Makefile
	make -s --no-print-directory -j2 CC="${CC:-cc}" && ./prog && echo 'int f1(int x) { return x + 100; }' >f1.c &&
		touch -d '+2 seconds' f1.c && make -s --no-print-directory CC="${CC:-cc}" && ./prog && make -q main.o && ar t libf.a
	made=$?
	rm -f prog *.o
	return $made
}
if command -v "${CC:-cc}" >/dev/null; then both "make with a library, the program runs" built; else
	skip_both "make with a library, the program runs" "no C compiler"
fi

end_mounts
