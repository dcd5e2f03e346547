#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# load.sh: what "load" makes of files: whole ones from disk and store, with the bytes that the store
# counted; damaged and hostile ones in one line.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 23
cd "$tmp" || exit 1
mkdir disk
echo '[]' >faults.json
store_start storesim --log "$tmp/requests" --faults "$tmp/faults.json"
where="path=disk s3.endpoint=$CKPTFS_TEST_ENDPOINT s3.uri=s3://$CKPTFS_TEST_BUCKET"
load() { bench load $where "$@"; }
result() { jq -r ".job_results[-1]$2" "$1"/load/*/run_results.json; }
# flips every bit of the byte at offset $2 of file $1
flip() {
	byte=$(od -An -tu1 -j "$2" -N1 "$1" | tr -d ' ')
	printf "\\$(printf %o $((255 - byte)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

for format in safetensors torch; do
	bench shards $where model=gpt-mini optimizer=on format=$format phase=save suffix=$format \
		storage=disk,s3 out=out >/dev/null 2>&1
	file=$(ls disk/$format)
	: >requests
	check "$format is loaded from disk and store" load storage=disk,s3 suffix=$format file="$file" out=$format
	expect_eq "every timed byte, after the clock" "$(result $format .setup.verified)" "a load is verified"
	expect_eq "$(awk '$2 == "GetObject" { n += $8 } END { print n }' requests)" \
		"$(result $format '.load | .fetched_bytes + .index_bytes')" "the store counted the same bytes"
	store_rules faults.json '[{"op":"GetObject","key":"'"$format/$file"'","do":"corrupt","after_bytes":200000}]'
	load storage=s3 suffix=$format file="$file" out=bad >bad.out 2>&1
	check "a wrong byte on the way is named" \
		grep -qE "$file: wrong byte [0-9]+ of tensor [a-z].* \(byte [0-9]+ of the file\)" bad.out
	store_rules faults.json '[]'
	flip "disk/$format/$file" 1000000
	load storage=disk suffix=$format file="$file" out=bad >bad.out 2>&1
	check "a wrong byte on the disk is named" grep -q "wrong byte .*(byte 1000000 of the file)" bad.out
	cp "disk/$format/$file" disk/$format.flipped
done

if bench_mpi true; then
	: >requests
	check "two ranks load a file that each fetches half of" \
		bench_mpi bench load $where storage=s3 suffix=torch file="$file" mode=shared epochs=2 out=two
	expect_eq "1 $(awk '$2 == "GetObject" { n += $8 } END { print n }' requests)" \
		"$(result two '.load | "\(.fetched_over_unique) \(.fetched_bytes + .index_bytes)"')" "two ranks fetch no byte of a file twice"
else
	skip "two ranks load a file that each fetches half of" "$bench_no_mpi"
	skip "two ranks fetch no byte of a file twice" "$bench_no_mpi"
fi

# refused NAME PATTERN: loading disk/hostile ends with one line
refused() {
	load storage=disk file=hostile out=bad >/dev/null 2>bad.err
	expect_eq "1 1 1" "$? $(wc -l <bad.err) $(grep -c "hostile cannot be loaded: .*$2" bad.err)" "$1"
	diag "$(cat bad.err)"
}
head -c 3000000 "disk/torch/$file" >disk/hostile
refused "an archive that was cut off" "cut off"
head -c 3000000 disk/safetensors.flipped >disk/hostile
refused "tensors that reach beyond the file" "beyond the file"
printf '\377\377\377\377\377\377\377\177{' >disk/hostile
refused "a header of 2^63 bytes" "would have 9223372036854775807 bytes"
printf '\101\0\0\0\0\0\0\0{"t":{"dtype":"F32","shape":[4],"data_offsets":[0,17]}}          %s' "0123456789abcdef" >disk/hostile
refused "a shape that is not its bytes" "do not agree\|that agree"
# zip NAME: an archive of one stored entry x/data.pkl, whose bytes are standard input
zip1() {
	cat >pkl
	n=$(wc -c <pkl)
	size=$(printf '\\%03o\\%03o\\0\\0' $((n % 256)) $((n / 256)))
	{
		printf "PK\3\4-\0\0\0\0\0\0\0\0\0\0\0\0\0$size$size\12\0\0\0x/data.pkl"
		cat pkl
		printf "PK\1\2-\0-\0\0\0\0\0\0\0\0\0\0\0\0\0$size$size\12\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0x/data.pkl"
		at=$(printf '\\%03o\\%03o\\0\\0' $(((n + 40) % 256)) $(((n + 40) / 256)))
		printf "PK\5\6\0\0\0\0\1\0\1\0\70\0\0\0$at\0\0"
	} >disk/hostile
}
printf '\200\2cos\nsystem\n(U\7echo oktR.' | zip1
refused "a pickle that would run a program" "asks for os.system, which no checkpoint needs"
printf '\200\2}(U\1a]h\0u.' | zip1
refused "a pickle that recalls what is not there" "recalls"
{ printf '\200\2]q\0'; for i in 1 2 3 4 5 6 7; do printf 'h\0h\0h\0h\0h\0'; done; printf '(h\0h\0h\0eh\0a.'; } | zip1
refused "a pickle that holds itself" "nested too deeply"
printf 'nothing of the kind' >disk/hostile
refused "another file" "neither safetensors nor"
load storage=disk out=bad 2>bad.err
expect_eq "1 1 1" "$? $(wc -l <bad.err) $(grep -c file= bad.err)" "the file's key is asked for"
load storage=disk file=missing out=bad 2>bad.err
expect_eq "1 1 1" "$? $(wc -l <bad.err) $(grep -c ': disk/missing: No such file' bad.err)" "a file that is not there is one line"
load storage=disk path=disk/ file=missing out=bad 2>bad.err
expect_eq "1 1" "$? $(grep -c ': disk/missing: No such file' bad.err)" "a path that ends in a slash has one slash"
