#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# log_lines.sh: whatever the store refuses, each line of the log has time, level, operation, file and remedy, and those
# that tell what the store said have its request id, with either protocol.
. "${srcdir:?}/tests/lib/mount.sh"
need_fuse
plan 10
cd "$tmp" || exit 1

# Each file is refused one thing, each in another way.
cat >refusals.json <<'END_JSON'
[{"op": "PutObject", "key": "put", "do": "status", "status": 403, "code": "AccessDenied"},
{"op": "PutObject", "key": "quota", "do": "status", "status": 507},
{"op": "UploadPart", "key": "*part", "do": "status", "status": 403, "code": "AccessDenied"},
{"op": "CompleteMultipartUpload", "key": "*complete", "do": "status", "status": 400, "code": "InvalidRequest"},
{"op": "GetObject", "key": "get", "do": "status", "status": 500, "code": "InternalError"},
{"op": "DeleteObject", "key": "delete", "do": "status", "status": 403, "code": "AccessDenied"},
{"op": "MoveObject", "key": "rename*", "do": "status", "status": 403, "code": "AccessDenied"},
{"op": "SetMeta", "key": "mode", "do": "status", "status": 403, "code": "AccessDenied"}]
END_JSON
echo '[{"op": "ListObjectsV2", "do": "status", "status": 403, "code": "AccessDenied"}]' >list.json
cat >lines.py <<'END_PY'
import json, sys
operations = set()
for text in open(sys.argv[1]):
    l = json.loads(text)
    if l["level"] not in ("warning", "error"):
        continue
    asked = l["message"].startswith("store: ")
    lacks = [n for n in ("time", "operation", "file", "remedy") if not l.get(n)]
    if asked and (not l.get("request") or l["request"] not in l["message"]):
        lacks.append("request")
    if lacks:
        print("lacks", *lacks, "in:", l["message"])
    elif asked:
        operations.add(l["operation"] + ":" + l["file"])
print(*sorted(operations))
END_PY

# Whatever the mount and its store client can say, not only here.
cat >places.py <<'END_PY'
import pathlib, re, sys
of = re.compile(r"\blog_(?:warn|error)(_of)?\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")
places = 0
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.c")):
    text = path.read_text()
    for call in of.finditer(text):
        places += 1
        about = call[2]
        if call[1] and not about.lstrip().startswith("LOG_ABOUT("):  # a variable: what it was made of, before
            about = text[:call.start()].rsplit("log_about", 1)[-1]
        if not call[1] or ".remedy" not in about:
            print(f"{path.name}:{text.count(chr(10), 0, call.start()) + 1}")
print("places enough" if places > 40 else "too few places")
END_PY
expect_eq "places enough" "$(python3 places.py "$srcdir/fs")" "each warning and each error in the sources has a remedy of its own"

# A place in the code writes ten lines in ten seconds: each mount has half of them.
begin() {
	start_store
	for file in get delete rename mode d/in; do echo bytes | store_put $file; done
	set -- log_format=json part_size=5M deadline=1s attr_ttl=0s
	mount_ckptfs "$@"
	set_faults "$tmp/refusals.json"
	fdo open wct "$mnt/put" write 100 close open wct "$mnt/quota" write 100 close open wct "$mnt/part" write 6000000 close \
		open wct "$mnt/complete" write 6000000 close >fdo.out
	umount_ckptfs
	mount_ckptfs "$@"
	cat "$mnt/get"
	rm "$mnt/delete"
	mv "$mnt/rename" "$mnt/renamed"
	chmod 600 "$mnt/mode"
	set_faults "$tmp/list.json"
	ls "$mnt/d"
	set_faults
} 2>tools.err
said() {
	cat "$mount_log.old" "$mount_log" >both.log
	expect_eq "$1" "$(python3 lines.py both.log | sed 's|:.ckptfs/tmp/m-[0-9a-f]*-|:|g')" "each line has all that it is to have, on $CKPTFS_TEST_SCHEME"
}
begin
said "copy:renamed delete:delete get:get list:d/ put:put put:quota set-metadata:mode upload-complete:complete upload-part:part"
umount_ckptfs
use_mount google
CKPTFS_TEST_SCHEME=gs
begin
said "delete:delete get:get list:d/ put:put put:quota rename:renamed set-metadata:mode upload-complete:complete upload-part:part"
umount_ckptfs
use_mount keys
CKPTFS_TEST_KEYS=yes CLOUDSDK_STORAGE_GS_XML_ACCESS_KEY_ID=$AWS_ACCESS_KEY_ID CLOUDSDK_STORAGE_GS_XML_SECRET_ACCESS_KEY=$AWS_SECRET_ACCESS_KEY
export CLOUDSDK_STORAGE_GS_XML_ACCESS_KEY_ID CLOUDSDK_STORAGE_GS_XML_SECRET_ACCESS_KEY
begin
said "copy:renamed delete:delete get:get list:d/ put:put put:quota set-metadata:mode upload-complete:complete upload-part:part"
umount_ckptfs
