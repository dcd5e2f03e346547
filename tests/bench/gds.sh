#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gds.sh: files that GPUDirect Storage moves to and from a device, by a stand-in for cuFile that keeps
# to its rules, tells what it was asked for, and can lack a direct way, or fail.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 21
cd "$tmp" || exit 1
mkdir disk lib

cat >cufile.c <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct err { int err, cuda; };
struct descr { int type; union { int fd; void *p; } handle; const void *ops; };
struct props { unsigned major, minor; size_t poll, most; unsigned status, control, more[6]; };
static int is(const char *what) { const char *v = getenv("FAKE_CUFILE"); return v && strstr(v, what); }
static int strict(void) { const char *v = getenv("CUFILE_ALLOW_COMPAT_MODE"); return (v && !strcmp(v, "false")) || is("direct"); }
static void say(const char *what, long n)
{
	FILE *f = fopen(getenv("FAKE_CUFILE_LOG"), "a");
	if (f) { fprintf(f, "%s %ld\n", what, n); fclose(f); }
}
static struct err no(int e) { return (struct err){e, 0}; }
struct err cuFileDriverOpen(void)
{
	say("open", strict());
	return no(is("broken") ? 5001 : is("nodriver") && strict() ? 5007 : 0);
}
struct err cuFileDriverClose(void) { say("close", 0); return no(0); }
struct err cuFileDriverGetProperties(struct props *p)
{
	p->major = 2;
	p->minor = 17;
	p->status = is("nodriver") ? 0 : 1 << 4;
	p->control = strict() && !is("stubborn") ? 0 : 2;
	return no(0);
}
struct err cuFileHandleRegister(void **h, struct descr *d)
{
	int flags = fcntl(d->handle.fd, F_GETFL);
	say("file", (flags & O_DIRECT) != 0);
	if (is("nofile") || d->type != 1)
		return no(5008);
	fcntl(d->handle.fd, F_SETFL, flags & ~O_DIRECT); /* the library aligns by itself */
	*h = (void *)(long)(d->handle.fd + 1);
	return no(0);
}
void cuFileHandleDeregister(void *h) { say("unfile", h != 0); }
struct err cuFileBufRegister(const void *p, size_t n, int flags) { (void)p; (void)flags; say("pin", n); return no(is("nopin") ? 5013 : 0); }
struct err cuFileBufDeregister(const void *p) { say("unpin", p != 0); return no(0); }
static size_t some(size_t n) { return is("short") && n > 1000003 ? 1000003 : n; }
ssize_t cuFileRead(void *h, void *p, size_t n, off_t from, off_t off)
{
	ssize_t got = is("readerror") ? -5012 : pread((int)(long)h - 1, (char *)p + off, some(n), from);
	say("read", got);
	return got;
}
ssize_t cuFileWrite(void *h, const void *p, size_t n, off_t from, off_t off)
{
	if (is("full")) { errno = ENOSPC; return -1; }
	ssize_t put = pwrite((int)(long)h - 1, (const char *)p + off, some(n), from);
	say("write", put);
	return put;
}
END
cc -shared -fPIC -o lib/libcufile.so.0 cufile.c 2>cc.err || skip_all "cc does not make a library"

export FAKE_CUFILE_LOG="$tmp/log"
# gds FAKE key=value...: ckptbench with the stand-in, of which FAKE says how it is
gds() {
	:>log
	fake=$1; shift
	FAKE_CUFILE=$fake LD_LIBRARY_PATH="$tmp/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" bench "$@"
}
shards="shards size=12M storage=disk path=disk device=emulated warmup=0"
of() { jq -r "$2" "$1"/*/*/run_results.json; }
count() { awk -v what="$1" '$1 == what { n++ } END { print n + 0 }' log; }
sum() { awk -v what="$1" '$1 == what { n += $2 } END { print n + 0 }' log; }
# refused TEXT FAKE key=value...: one line with that, and nothing is left
refused() {
	pattern=$1; shift
	gds "$@" out=refused >out 2>err
	[ $? -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "$pattern" err && [ -z "$(ls disk)" ] || { cat err; return 1; }
}

bench $shards disk.gds=on out=none >out 2>err
expect_eq "1 1 1" "$? $(wc -l <err) $(grep -c 'disk.gds=on: libcufile.so.0 is not found: install' err)" \
	"without the library disk.gds=on is refused in one line"
check "disk.gds=on is refused in one line for shards in the host's memory" refused 'disk.gds=on: needs shards on a device: give device=cuda' "" \
	$shards disk.gds=on device=host
check "disk.gds=on is refused in one line for another storage" refused 'disk.gds=on: for files of storage=disk, and not of null' "" $shards disk.gds=on storage=null
check "disk.gds=on is refused in one line where saves come from staging memory" refused 'disk.gds: async saves from staging memory' "" \
	async storage=disk path=disk device=emulated disk.gds=on
check "disk.gds=on is refused where only the compatibility mode is left" refused 'disk.gds=on: .*error 5007.*or give disk.gds=auto' nodriver \
	$shards disk.gds=on
check "disk.gds=on is refused where the compatibility mode may be taken" refused 'disk.gds=on: cuFile may take its compatibility mode' stubborn $shards disk.gds=on

gds "" $shards disk.gds=on epochs=2 out=on >on.out 2>&1
expect_eq 0 $? "a shard goes to a file and comes back byte for byte"
diag "$(cat on.out)"
bytes=$(of on '.job_results[0].metrics.save.bytes')
expect_eq "$bytes $bytes" "$(sum write) $(sum read)" "the library moves all bytes"
expect_eq "4 4 4" "$(count file) $(sum file) $(count unfile)" "the library moves bytes by files with O_DIRECT, and lets go of each"
expect_eq "1 1 1 1" "$(count pin) $(count unpin) $(count open) $(count close)" "transfers use memory that was pinned once"
check "no byte is copied by the ranks" jq -e '.job_results[0].metrics | .save, .load | .copied | add == 0' on/*/*/run_results.json
expect_eq "direct: cuFile, nvidia-fs 2.17" "$(of on '.job_results[0].gds | .mode + ": " + .says')" "the results say how bytes went"

gds short $shards disk.gds=on seed=5 phase=save suffix=short out=short >out 2>&1
bench $shards seed=5 phase=load suffix=short out=short >>out 2>&1
expect_eq 0 $? "what the library moves in pieces is read back by another way"
diag "$(cat out)"
printf x | dd of="$(echo disk/short/*)" bs=1 seek=5000001 conv=notrunc 2>/dev/null
gds "" $shards disk.gds=on seed=5 phase=load suffix=short out=wrong >out 2>&1
check "a wrong byte is found, and named" grep -q 'wrong byte [0-9]* of tensor .* (byte 5000001 of' out
rm -r disk/short

modes() {
	for fake in direct nodriver "" broken; do
		gds "$fake" $shards disk.gds=auto out="auto$fake" >out 2>&1 || return
		of "auto$fake" .job_results[0].gds.mode
	done | paste -sd ' '
}
expect_eq "direct compatible either off" "$(modes)" "disk.gds=auto takes what there is, and says what"
check "disk.gds=auto says that the file system decides" jq -e '.job_results[0].gds.says | test("file system decides")' auto/*/*/run_results.json
check "disk.gds=auto says why there is no direct way, and copies over pinned memory" jq -e '.job_results[0]
	| (.gds.says | test("error 5001")) and .metrics.save.copied.pinned_bytes == .metrics.save.bytes' autobroken/*/*/run_results.json
check "a file that the library does not take is said" refused 'cuFile does not take the file (error 5008)' nofile $shards disk.gds=on
check "a full disk is said" refused 'save: .*No space left on device' full $shards disk.gds=on
check "an error of the library's own is told" refused 'load: .*cuFile error 5012' readerror $shards disk.gds=on
check "the library moves ranges of DCP's files, also with memory that it cannot pin" gds nopin dcp model=gpt-mini \
	storage=disk path=disk device=emulated disk.gds=on out=dcp
