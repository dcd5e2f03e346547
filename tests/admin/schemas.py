# SPDX-License-Identifier: Apache-2.0
# schemas.py FROM TO: the JSON schema of a kind of object, in one file: from a schema beside its definitions, or from a
# custom resource definition, whose objects then have no properties but those that are named, as the server prunes.
import json
import os
import sys
import yaml


def strict(node):
    if isinstance(node, dict):
        if "properties" in node and "additionalProperties" not in node and not node.get("x-kubernetes-preserve-unknown-fields"):
            node["additionalProperties"] = False
        for value in node.values():
            strict(value)
    elif isinstance(node, list):
        for value in node:
            strict(value)
    return node


def local(path):
    with open(path) as f:
        return json.loads(f.read().replace("/api/_definitions.json#", "#"))


source, target = sys.argv[1:]
if source.endswith(".json"):
    schema = local(source)
    schema["$defs"] = local(os.path.join(os.path.dirname(source), "_definitions.json"))["$defs"]
else:
    with open(source) as f:
        versions = yaml.safe_load(f)["spec"]["versions"]
    schema = strict(next(v for v in versions if v["storage"])["schema"]["openAPIV3Schema"])
with open(target, "w") as f:
    json.dump(schema, f)
