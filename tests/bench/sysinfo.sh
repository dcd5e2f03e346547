#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sysinfo.sh: what a run says of the instance it ran on, and its item in a table of DynamoDB.
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/store.sh"
. "$srcdir/tests/lib/bench.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
plan 13
cd "$tmp" || exit 1
export AWS_EC2_METADATA_DISABLED=false

echo '{"imds.document": {"instanceType": "p5.48xlarge", "region": "eu-north-1"}}' >identity
store_start storesim --identity "$tmp/identity" --log "$tmp/requests"
run() { bench shards size=1M storage=null warmup=0 "$@"; }
ec2() { jq -c .ec2_metadata "$1"/*/*/run_results.json; }

AWS_EC2_METADATA_SERVICE_ENDPOINT=$CKPTFS_TEST_ENDPOINT run out=ec2 >ec2.out 2>&1
expect_eq '{"architecture":"x86_64","image_id":"ami-00000000000000000","instance_type":"p5.48xlarge","region":"eu-north-1"}' \
	"$(ec2 ec2)" "an instance tells what it is"
expect_eq "imds.token imds.document" \
	"$(sort requests | awk '/imds/ { printf "%s%s", n++ ? " " : "", $2 }')" "an instance is asked by version 2 of its service"
AWS_EC2_METADATA_DISABLED=true AWS_EC2_METADATA_SERVICE_ENDPOINT=$CKPTFS_TEST_ENDPOINT run out=off >off.out 2>&1
expect_eq "0 null 2" "$? $(ec2 off) $(grep -c imds requests)" "an instance is not asked where that is disabled"
AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:9 run out=gone >gone.out 2>&1
expect_eq "0 null" "$? $(ec2 gone)" "a service that is not there is no error"
store_stop
echo '{"imds.token": {"delay": "900s"}}' >identity
store_start storesim --identity "$tmp/identity"
# the fault is the delay itself: the run must end without it
AWS_METADATA_SERVICE_TIMEOUT=60 AWS_EC2_METADATA_SERVICE_ENDPOINT=$CKPTFS_TEST_ENDPOINT \
	timeout 55 "$builddir/ckptbench" shards size=1M storage=null warmup=0 out=slow >slow.out 2>&1
expect_eq "0 null" "$? $(ec2 slow)" "a service that is slow is not waited for"
store_stop

python=$CKPTFS_PEERS/clients/bin/python
sh "$srcdir/tests/interop/venv_setup.sh" clients >setup.log 2>&1
if ! "$python" -c 'import moto.server' 2>>setup.log; then
	! required interop || lacks interop "moto is not installed: $(tail -n 1 setup.log)"
	for n in 1 2 3 4 5 6 7 8; do skip "a run becomes an item of a table" "moto is not installed: $(tail -n 1 setup.log)"; done
	exit 0
fi
unset AWS_EC2_METADATA_DISABLED
port=$(free_port)
url=http://127.0.0.1:$port
spawn "$python" -m moto.server -H 127.0.0.1 -p "$port" >moto.log 2>&1
wait_for 60 curl -s -o out "$url/moto-api/data.json" || diag "$(tail -n 5 moto.log)"
table() { timeout 600 "$python" "$srcdir/tests/bench/dynamodb.py" "$url" "$@"; }
check "a table with the suite's keys is made" table make results
put="dynamodb.table=results dynamodb.endpoint=$url dynamodb.region=eu-west-1 disambiguator=word"
run epochs=3 $put out=item >item.out 2>&1
expect_eq 0 $? "a run puts an item into the table"
check "the item in the table is the run" table same results item/*/*/run_results.json
mkdir -p conf/aws
cp "$srcdir/conf/aws/dynamodb.yaml" conf/aws
printf 'defaults:\n  - aws/dynamodb\n  - _self_\nepochs: 1\nstorage: "null"\nsize: 1M\n' >conf/run.yaml
bench shards -cd conf -cn run out=unset 2>err
expect_eq "1 1" "$? $(grep -c 'dynamodb\.[a-z]* has no value yet' err)" "conf/aws/dynamodb.yaml asks for its values"
check "conf/aws/dynamodb.yaml is enough with its values" bench shards -cd conf -cn run $put out=yaml
run $put dynamodb.table=other out=none >none.out 2>err
expect_eq "1 1" "$? $(grep -c 'dynamodb.table=other: DynamoDB at .*ResourceNotFoundException' err)" \
	"a table that is not there is said in one line"
check "results are on disk though the table is not there" test -s none/shards/*/run_results.json
AWS_SECRET_ACCESS_KEY='' AWS_ACCESS_KEY_ID='' AWS_EC2_METADATA_DISABLED=true run $put out=nobody >nobody.out 2>err
expect_eq "1 1" "$? $(grep -c 'dynamodb.table=results: ' err)" "a run without credentials is refused in one line"
