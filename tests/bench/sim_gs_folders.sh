#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The simulator's hierarchical buckets: folders, and what becomes of the objects in them.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 32

sim_start --data "$tmp/data" --protocol gs --hns
o=/storage/v1/b/bkt/o f=/storage/v1/b/bkt/folders
j() { jq -r "$1" <"$tmp/body"; }
mk() { req POST "$f${2:-}" -H 'Content-Type: application/json' -d "{\"name\":\"$1\"}"; }
put() { req POST "/upload/storage/v1/b/bkt/o?uploadType=media&name=$1" -H 'Content-Type:' -d x; }

req GET /storage/v1/b/bkt/storageLayout >/dev/null
expect_eq true "$(j .hierarchicalNamespace.enabled)" "the layout tells of folders"
expect_eq 200 "$(mk a)" "a folder is made"
expect_eq a/ "$(j .name)" "the name of a folder ends with a slash"
expect_eq 409 "$(mk a/)" "a folder is made only once"
expect_eq 404 "$(mk b/c/d)" "a folder is not made below one that is missing"
expect_eq 200 "$(mk b/c/d '?recursive=true')" "a folder is made with those above it"
expect_eq 200 "$(req GET "$f/b%2Fc%2F")" "folders above a new one are there"
expect_eq 200 "$(put e/f/1)" "an object below missing folders is put"
expect_eq 200 "$(req GET "$f/e%2Ff%2F")" "an object makes the folders above it"

# "Folder name: [...] maximum size of 512 bytes. Base name: [...] maximum size of 512 bytes" (Object name requirements);
# "object names can contain at most 50 slashes" (About folders).
long=$(printf '%0512d' 0)
expect_eq "400 400 400 400" "$(put "0$long") $(put "0$long/x") $(mk "$long") $(put "$(printf 'd/%.0s' $(seq 51))x")" \
	"names that are too long for folders are refused"
expect_eq "200 200" "$(put "${long#0}/$long") $(put "$(printf 'd/%.0s' $(seq 50))x")" "names that folders have are taken"
for k in "${long#0}/$long" "$(printf 'd/%.0s' $(seq 50))x"; do req DELETE "$o/$(printf %s "$k" | sed 's,/,%2F,g')" >/dev/null; done
for n in $(seq 50 -1 1); do req DELETE "$f/$(printf 'd%%2F%.0s' $(seq $n))" >/dev/null; done
req DELETE "$f/${long#0}%2F" >/dev/null

req GET "$o?delimiter=/&includeFoldersAsPrefixes=true" >/dev/null
expect_eq "a/,b/,e/" "$(j '.prefixes|join(",")')" "empty folders are listed where they are asked for"
req GET "$o?delimiter=/" >/dev/null
expect_eq "e/" "$(j '.prefixes|join(",")')" "empty folders are not listed otherwise"
req GET "$o?delimiter=/&prefix=b/&includeFoldersAsPrefixes=true" >/dev/null
expect_eq "b/c/ null" "$(j '"\(.prefixes|join(",")) \(.items[0])"')" "a folder does not list itself"
req GET "$o?delimiter=/&includeFoldersAsPrefixes=true&maxResults=2" >/dev/null
token=$(j .nextPageToken)
req GET "$o?delimiter=/&includeFoldersAsPrefixes=true&maxResults=2&pageToken=$token" >/dev/null
expect_eq "e/ null" "$(j '"\(.prefixes|join(",")) \(.nextPageToken)"')" "folders are listed page by page"
req GET "$f?prefix=b/" >/dev/null
expect_eq "b/,b/c/,b/c/d/" "$(j '[.items[].name]|join(",")')" "folders are listed by themselves"
req GET "$f?delimiter=/" >/dev/null
expect_eq "a/,b/,e/" "$(j '[.items[].name]|join(",")')" "one level of folders is listed"

expect_eq 409 "$(req DELETE "$f/b%2F")" "a folder with a folder in it is not deleted"
expect_eq 409 "$(req DELETE "$f/e%2Ff%2F")" "a folder with an object in it is not deleted"
expect_eq 204 "$(req DELETE "$f/a%2F")" "an empty folder is deleted"
expect_eq 404 "$(req DELETE "$f/a%2F")" "a folder is deleted only once"

expect_eq 409 "$(req POST "$f/e%2F/renameTo/folders/b%2F" -d '')" "a folder is not renamed onto another"
expect_eq 404 "$(req POST "$f/e%2F/renameTo/folders/n%2Fe%2F" -d '')" "a folder is not renamed below one that is missing"
expect_eq 400 "$(req POST "$f/e%2F/renameTo/folders/e%2Fg%2F" -d '')" "a folder is not renamed into itself"
req GET "$o/e%2Ff%2F1" >/dev/null
gen=$(j .generation)
expect_eq 200 "$(req POST "$f/e%2F/renameTo/folders/b%2Fg%2F" -d '')" "a folder is renamed onto a free name"
op=$(j .name)
done_is() { [ "$(req GET "/storage/v1/b/bkt/operations/${op##*/}")" = 200 ] && [ "$(j .done)" = "$1" ]; }
wait_for 10 done_is true
expect_eq 'true b/g/' "$(j '"\(.done) \(.response.name)"')" "a rename of a folder is an operation that ends"
expect_eq 404 "$(req GET "$o/e%2Ff%2F1")" "what was in a renamed folder has gone"
req GET "$o/b%2Fg%2Ff%2F1" >/dev/null
expect_eq "$gen" "$(j .generation)" "what was in a renamed folder is in its new place"
expect_eq 404 "$(req GET "$f/e%2Ff%2F")" "folders in a renamed folder go with it"
sim_stop
sim_start --data "$tmp/data" --protocol gs --hns
expect_eq 200 "$(req GET "$f/b%2Fc%2Fd%2F")" "empty folders outlive the server"
sim_stop
sim_start --data "$tmp/data" --protocol gs
expect_eq 409 "$(mk z)" "a flat bucket has no folders"
req GET "$o" >/dev/null
expect_eq "b/g/f/1" "$(j '[.items[].name]|join(",")')" "a flat bucket lists objects only"
