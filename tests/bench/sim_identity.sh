#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The servers that give credentials, as the simulator plays them, and a store that takes nothing else.
. "${srcdir:?}/tests/lib/tap.sh"
. "$srcdir/tests/lib/sim.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
command -v openssl >/dev/null || skip_all "openssl is not installed"
curl --help all | grep -q aws-sigv4 || skip_all "curl cannot sign"
plan 61

j() { jq -r "$1" <"$tmp/body"; }
openssl genrsa -out "$tmp/key.pem" 2048 2>/dev/null
openssl genrsa -out "$tmp/other.pem" 2048 2>/dev/null
openssl rsa -in "$tmp/key.pem" -pubout -out "$tmp/pub.pem" 2>/dev/null
cat >"$tmp/identity" <<END
{"issue": {"only": true, "expires_in": 600}, "keys": {"AKBASE": "basesecret"},
 "imds.credentials": {"role": "node"},
 "ecs.credentials": {"authorization": "task-token"},
 "sts.AssumeRole": {"role_arn": "arn:aws:iam::1:role/r", "external_id": "ext"},
 "sts.AssumeRoleWithWebIdentity": {"token": "web-token"},
 "sso.credentials": {"token": "sso-token", "role_name": "admin"},
 "oauth2.token": {"public_key": "$tmp/pub.pem", "email": "a@b", "client_id": "id", "client_secret": "cs",
  "refresh_token": "rt"},
 "gsts.token": {"subject_token": "subject", "audience": "//aud"},
 "iam.generateAccessToken": {"email": "t@b"},
 "subject": {"token": "subject"}}
END
sim_start --null --identity "$tmp/identity"
any='x-amz-content-sha256: UNSIGNED-PAYLOAD'
# signed ACCESS SECRET SESSION METHOD PATH...: a request to the store
signed() {
	who=$1:$2 session=$3
	shift 3
	req "$@" --user "$who" --aws-sigv4 aws:amz:us-east-1:s3 -H "$any" -H "x-amz-security-token: $session"
}
opens() { signed "$1" "$2" "$3" GET '/bkt?list-type=2'; }

# --- the instance's metadata ---
md=/latest/meta-data/iam/security-credentials
expect_eq 401 "$(req GET $md/)" "the instance's server tells nothing without a token"
expect_eq 400 "$(req PUT /latest/api/token -d '')" "a token needs a time to live"
ttl='X-aws-ec2-metadata-token-ttl-seconds: 60'
expect_eq 403 "$(req PUT /latest/api/token -d '' -H "$ttl" -H 'X-Forwarded-For: 1.2.3.4')" "a token of the instance goes no hop more"
expect_eq 200 "$(req PUT /latest/api/token -d '' -H "$ttl")" "a token is given for its time to live"
token="X-aws-ec2-metadata-token: $(cat "$tmp/body")"
expect_eq 401 "$(req GET $md/ -H 'X-aws-ec2-metadata-token: other')" "another token is refused"
expect_eq "200 node" "$(req GET $md/ -H "$token") $(cat "$tmp/body")" "the role is told with a token"
expect_eq 404 "$(req GET $md/other -H "$token")" "another role is not found"
expect_eq "200 Success" "$(req GET $md/node -H "$token") $(j .Code)" "the keys of a role are told"
access=$(j .AccessKeyId) secret=$(j .SecretAccessKey) session=$(j .Token)
expect_eq "200 us-east-1" "$(req GET /latest/meta-data/placement/region -H "$token") $(cat "$tmp/body")" "the region is told with a token"
expect_eq 200 "$(opens "$access" "$secret" "$session")" "the keys open the store"
expect_eq "400 InvalidToken" "$(opens "$access" "$secret" x) $(element Code)" "the store refuses another session token"
expect_eq "403 SignatureDoesNotMatch" "$(opens "$access" x "$session") $(element Code)" "the store refuses another secret"
expect_eq "403 InvalidAccessKeyId" "$(opens ASIASIM00000099 x x) $(element Code)" "the store refuses keys that were not issued"
expect_eq 403 "$(req GET '/bkt?list-type=2')" "the store refuses requests without keys"

# --- the container ---
expect_eq 401 "$(req GET /ecs/credentials)" "the container's keys need the task's token"
expect_eq 200 "$(req GET /ecs/credentials -H 'Authorization: task-token')" "the container's keys are given with the task's token"
expect_eq 200 "$(opens "$(j .AccessKeyId)" "$(j .SecretAccessKey)" "$(j .Token)")" "the container's keys open the store"

# --- STS ---
sts() {
	who=$1
	shift
	req POST / --user "$who" --aws-sigv4 aws:amz:us-east-1:sts -d "Version=2011-06-15&$1"
}
role='Action=AssumeRole&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&RoleSessionName=s&ExternalId=ext&DurationSeconds=900'
expect_eq 403 "$(req POST / -d "$role")" "a role is not assumed unsigned"
expect_eq MissingAuthenticationToken "$(element Code)" "an unsigned request says that its signature is missing"
expect_eq "403 SignatureDoesNotMatch" "$(sts AKBASE:other "$role") $(element Code)" "a role is not assumed with a wrong signature"
expect_eq "403 InvalidClientTokenId" "$(sts AKNONE:x "$role") $(element Code)" "a role is not assumed by an unknown key"
expect_eq "403 AccessDenied" "$(sts AKBASE:basesecret "${role%ext*}no") $(element Code)" "a role is not assumed with another external id"
expect_eq 200 "$(sts AKBASE:basesecret "$role")" "a role is assumed with a right signature"
expect_eq 200 "$(opens "$(element AccessKeyId)" "$(element SecretAccessKey)" "$(element SessionToken)")" "an assumed role's keys open the store"
web='Action=AssumeRoleWithWebIdentity&RoleArn=x&RoleSessionName=s&WebIdentityToken='
expect_eq "400 InvalidIdentityToken" "$(req POST / -d "${web}no") $(element Code)" "a wrong web identity is refused"
expect_eq 200 "$(req POST / -d "${web}web-token")" "the right one gives keys"
expect_eq 1 "$(element Expiration | grep -c '^20..-..-..T..:..:..Z$')" "keys of a web identity tell when they end"
expect_eq 200 "$(sts AKBASE:basesecret Action=GetCallerIdentity)" "who signed is told"

# --- the portal ---
portal='/federation/credentials?account_id=1&role_name='
expect_eq 401 "$(req GET "${portal}admin" -H 'x-amz-sso_bearer_token: no')" "the portal needs its token"
expect_eq 403 "$(req GET "${portal}other" -H 'x-amz-sso_bearer_token: sso-token')" "the portal needs a role that is given"
expect_eq 200 "$(req GET "${portal}admin" -H 'x-amz-sso_bearer_token: sso-token')" "the portal gives keys for token and role"
expect_eq 13 "$(j .roleCredentials.expiration | tr -d '\n' | wc -c)" "the portal's keys end in milliseconds"
sim_stop

# --- the second vendor ---
sim_start --null --protocol gs --identity "$tmp/identity"
reads() { req GET "/storage/v1/b/bkt/o" -H "Authorization: Bearer $1"; }
expect_eq 401 "$(req GET /storage/v1/b/bkt/o)" "the store asks for a token"
expect_eq 401 "$(reads ya29.sim00000001)" "the store wants a token that was issued"
gce=/computeMetadata/v1
flavor='Metadata-Flavor: Google'
expect_eq 403 "$(req GET $gce/instance/service-accounts/default/token)" "the machine's server wants its header"
expect_eq 200 "$(req GET $gce/instance/service-accounts/default/token -H "$flavor")" "a token is given with the machine's header"
expect_eq Google "$(field metadata-flavor)" "the machine's header is given back"
expect_eq 200 "$(reads "$(j .access_token)")" "the token opens the store"
expect_eq "200 sim-project" "$(req GET $gce/project/project-id -H "$flavor") $(cat "$tmp/body")" "the project is told"
expect_eq 200 "$(req GET / -H "$flavor")" "the server says that it is there"

b64() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }
# jwt KEY ISSUER SECONDS
jwt() {
	now=$(date +%s)
	claims="{\"iss\":\"$2\",\"scope\":\"s\",\"aud\":\"a\",\"iat\":$now,\"exp\":$((now + $3))}"
	part=$(printf '{"alg":"RS256","typ":"JWT"}' | b64).$(printf '%s' "$claims" | b64)
	printf '%s.%s' "$part" "$(printf '%s' "$part" | openssl dgst -sha256 -sign "$1" -binary | b64)"
}
grant() { req POST /oauth2/token --data-urlencode "grant_type=$1" --data-urlencode "$2" ${3:+--data-urlencode "$3"}; }
bearer=urn:ietf:params:oauth:grant-type:jwt-bearer
expect_eq 200 "$(grant $bearer "assertion=$(jwt "$tmp/key.pem" a@b 3600)")" "a signed assertion is taken"
expect_eq 200 "$(reads "$(j .access_token)")" "a signed assertion is answered with a token"
expect_eq "400 Invalid JWT Signature." "$(grant $bearer "assertion=$(jwt "$tmp/other.pem" a@b 3600)") $(j .error_description)" \
	"an assertion signed by another key is refused"
expect_eq 400 "$(grant $bearer "assertion=$(jwt "$tmp/key.pem" c@d 3600)")" "an assertion of another account is refused"
expect_eq 400 "$(grant $bearer "assertion=$(jwt "$tmp/key.pem" a@b 3700)")" "an assertion that lasts too long is refused"
expect_eq 401 "$(grant refresh_token 'client_id=id')" "a refresh needs the client's secret too"
expect_eq 200 "$(req POST /oauth2/token -d 'grant_type=refresh_token&client_id=id&client_secret=cs&refresh_token=rt')" \
	"a refresh is done with the client's secret"
exchange='grant_type=urn:ietf:params:oauth:grant-type:token-exchange&subject_token_type=urn:ietf:params:oauth:token-type:jwt'
expect_eq "200 subject" "$(req GET /subject) $(cat "$tmp/body")" "a subject token is read"
expect_eq 400 "$(req POST /google-sts/v1/token -d "$exchange&audience=//aud&subject_token=no")" "another subject token is not exchanged"
expect_eq 400 "$(req POST /google-sts/v1/token -d "$exchange&audience=//x&subject_token=subject")" "a subject token for another audience is not exchanged"
expect_eq 200 "$(req POST /google-sts/v1/token -d "$exchange&audience=//aud&subject_token=subject")" "the right subject token is exchanged"
federated=$(j .access_token)
generate() { req POST "/v1/projects/-/serviceAccounts/$1:generateAccessToken" -H "Authorization: Bearer $2" -d '{}'; }
expect_eq 401 "$(generate t@b no)" "an account is not impersonated without a token"
expect_eq 404 "$(generate u@b "$federated")" "an account that is not there is not impersonated"
expect_eq 200 "$(generate t@b "$federated")" "an account is impersonated with a token"
expect_eq 200 "$(reads "$(j .accessToken)")" "an impersonated account's token opens the store"
sim_stop

# --- wrong answers ---
cat >"$tmp/identity" <<END
{"issue": {"only": true},
 "gce.token": {"answer": "expired", "times": 1},
 "oauth2.*": {"answer": "refuse", "status": 503, "body": "later"},
 "ecs.credentials": {"answer": "garbage"},
 "subject": {"delay": "300ms"},
 "imds.credentials": {"v1": true}}
END
sim_start --null --protocol gs --identity "$tmp/identity"
req GET $gce/instance/service-accounts/default/token -H "$flavor" >/dev/null
expect_eq 401 "$(reads "$(j .access_token)")" "a token that has expired does not open the store"
req GET $gce/instance/service-accounts/default/token -H "$flavor" >/dev/null
expect_eq 200 "$(reads "$(j .access_token)")" "the next token opens the store"
expect_eq "503 later" "$(req POST /oauth2/token -d x) $(cat "$tmp/body")" "a refusal is as the file has it"
expect_eq "200 1" "$(req GET /ecs/credentials) $(grep -c '<html>' "$tmp/body")" "garbage is a page"
expect_eq "200 sim-role" "$(req GET $md) $(cat "$tmp/body")" "the first version is answered where it is allowed"
expect_eq "4 3" "$(served gce.token) $(served ecs.credentials)" "the log has services by name"
