# SPDX-License-Identifier: Apache-2.0
# sbom.awk: the bill of materials of a build, as CycloneDX 1.5, from THIRD-PARTY and lines "NAME VERSION" of the
# libraries that configure found. A library that THIRD-PARTY lacks is an error.
function fail(why) {
	print "sbom.awk: " why >"/dev/stderr"
	failed = 1
	exit 1
}
BEGIN { FS = "|" }
FNR == NR {
	if (!/^#/) {
		name[$1] = $2
		licence[$1] = $3
		home[$1] = $4
		used[$1] = $5
	}
	next
}
FNR == 1 {
	print "{\n  \"bomFormat\": \"CycloneDX\",\n  \"specVersion\": \"1.5\",\n  \"version\": 1,"
	print "  \"metadata\": {\n    \"component\": {\n      \"type\": \"application\",\n      \"bom-ref\": \"ckptfs\","
	print "      \"name\": \"ckptfs\",\n      \"version\": \"" version "\",\n      \"licenses\": [{ \"expression\": \"Apache-2.0\" }]"
	print "    }\n  },\n  \"components\": ["
}
{
	split($0, word, " ")
	if (!(word[1] in name))
		fail(word[1] " is not in packaging/THIRD-PARTY: add its line")
	refs = refs (refs ? ", " : "") "\"" word[1] "\""
	print (FNR > 1 ? "    },\n" : "") "    {\n      \"type\": \"library\",\n      \"bom-ref\": \"" word[1] "\","
	print "      \"name\": \"" name[word[1]] "\","
	if (word[2])
		print "      \"version\": \"" word[2] "\","
	print "      \"description\": \"used by " used[word[1]] "\","
	print "      \"licenses\": [{ \"expression\": \"" licence[word[1]] "\" }],"
	print "      \"externalReferences\": [{ \"type\": \"website\", \"url\": \"" home[word[1]] "\" }]"
}
END {
	if (!failed)
		print "    }\n  ],\n  \"dependencies\": [{ \"ref\": \"ckptfs\", \"dependsOn\": [" refs "] }]\n}"
}
