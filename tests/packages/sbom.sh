#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sbom.sh: the bill of materials holds to its standard and names what the programs are linked with.
. "${srcdir:?}/tests/lib/tap.sh"
plan 3
sbom=$builddir/packaging/ckptfs.cdx.json

# What the linker put into the programs, by the beginning of its name, and the name in packaging/THIRD-PARTY.
cat >"$tmp/names" <<'END'
libfuse3 libfuse
libcurl curl
libcrypto OpenSSL
libssl OpenSSL
libisal ISA-L
libcjson cJSON
libyaml libyaml
libexpat Expat
libmicrohttpd GNU libmicrohttpd
libmpi Open MPI
libjpeg libjpeg-turbo
libarchive libarchive
libs3 libs3
libc -
libm -
libdl -
libpthread -
ld-linux -
libstdc++ -
libgcc_s -
librt -
END
for program in ckptfs ckptctl ckptbench storesim; do
	readelf -d "$builddir/$program" | sed -n 's/.*(NEEDED).*\[\([^].]*\)\..*/\1/p; s/.*(NEEDED).*\[\(ld-linux\).*/\1/p'
done | sed 's/-[x0-9].*//' | sort -u >"$tmp/linked"
check "the programs are linked with libraries" grep -q '^libcurl$' "$tmp/linked"
# Each of them by its name in the bill; a name that this test does not know shows as it is.
awk 'NR == FNR { key = $1; sub(/^[^ ]* /, ""); name[key] = $0; next }
	!($1 in name) { print; next } name[$1] != "-" { print name[$1] }' "$tmp/names" "$tmp/linked" | sort -u >"$tmp/want"
python3 -c 'import json, sys; print("\n".join(c["name"] for c in json.load(open(sys.argv[1]))["components"]))' "$sbom" |
	sort -u >"$tmp/have"
expect_eq "" "$(comm -23 "$tmp/want" "$tmp/have")" "each library that is linked is in the bill of materials"

name="the bill of materials is CycloneDX 1.5"
if python3 -m venv "$tmp/venv" >"$tmp/pip.log" 2>&1 &&
	"$tmp/venv/bin/pip" install -q 'cyclonedx-python-lib[json-validation]' >>"$tmp/pip.log" 2>&1; then
	cat >"$tmp/validate.py" <<'END'
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
sys.exit(str(JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1]).read()) or "") or 0)
END
	check "$name" "$tmp/venv/bin/python" "$tmp/validate.py" "$sbom"
else
	diag "$(tail -n 3 "$tmp/pip.log")"
	skip "$name" "the validator of PyPI is not installed"
fi
