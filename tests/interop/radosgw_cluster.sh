#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# radosgw_cluster.sh PORT MONITOR-PORT FOLDER: the gateway of Ceph on 127.0.0.1:PORT, in front of the smallest cluster
# that serves it: one monitor, and one OSD that keeps everything in memory. The user of AWS_ACCESS_KEY_ID and
# AWS_SECRET_ACCESS_KEY may make buckets. SIGTERM ends it all, at once.
set -eu
port=$1 monitor=$2 folder=$3
conf=$folder/ceph.conf pids=''
fsid=$(cat /proc/sys/kernel/random/uuid)
trap 'exit 143' TERM INT HUP
trap '[ -z "$pids" ] || kill -s KILL $pids 2>/dev/null' EXIT

mkdir -p "$folder/mon" "$folder/osd" "$folder/rgw"
# Without keys (cephx) the gateway must not insist on a cipher to the monitor. What the monitor decides it else
# decides once a second, and a pool is made in two steps.
cat >"$conf" <<CONF
[global]
fsid = $fsid
mon host = [v2:127.0.0.1:$monitor/0]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
keyring = /dev/null
admin socket =
run dir = $folder
log file = $folder/\$name.log
mon cluster log file = $folder/cluster.log
mon allow pool size one = true
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd numa auto affinity = false
[mon]
mon data = $folder/mon
mon data avail crit = 0
paxos propose interval = 0.05
paxos min wait = 0.01
[osd]
osd data = $folder/osd
osd objectstore = memstore
memstore device bytes = 4G
[client]
ms mon client mode = crc secure
rgw frontends = beast endpoint=127.0.0.1:$port
rgw data = $folder/rgw
rgw rados pool pg num min = 1
rgw override bucket index max shards = 1
CONF

monmaptool --create --fsid "$fsid" --addv a "[v2:127.0.0.1:$monitor/0]" "$folder/monmap"
ceph-mon -c "$conf" -i a --mkfs --monmap "$folder/monmap"
ceph-mon -c "$conf" -i a -f &
pids="$pids $!"
ceph -c "$conf" --connect-timeout 60 osd new "$fsid"
ceph-osd -c "$conf" -i 0 --mkfs --osd-uuid "$fsid"
ceph-osd -c "$conf" -i 0 -f &
pids="$pids $!"
radosgw-admin -c "$conf" -n client.rgw user create --uid=test --display-name=test \
	--access-key="$AWS_ACCESS_KEY_ID" --secret-key="$AWS_SECRET_ACCESS_KEY"
radosgw -c "$conf" -n client.rgw -f &
pids="$pids $!"
wait
