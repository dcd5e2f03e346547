# SPDX-License-Identifier: Apache-2.0
# schema.py SCHEMAS RESULT...: each result is as the schema of its name says: "ok RESULT", or a line for each
# thing that is not. With --wrong, results that were damaged must not be.
import copy
import functools
import json
import pathlib
import sys

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

wrong = sys.argv[1] == "--wrong"
folder = pathlib.Path(sys.argv[2 if wrong else 1])
schemas = {p.name: json.loads(p.read_text()) for p in folder.glob("*.json")}
registry = Registry().with_resources([(n, Resource.from_contents(s)) for n, s in schemas.items()])


@functools.cache
def validator(name):
    Draft202012Validator.check_schema(schemas[name])
    return Draft202012Validator(schemas[name], registry=registry)


def errors(name, value):
    found = validator(name).iter_errors(value)
    return [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:300]}" for e in found]


def damage(run):
    """Each yields a run that differs in one thing."""
    for field in ("format", "versions", "ec2_metadata", "job_results"):
        one = copy.deepcopy(run)
        del one[field]
        yield "no " + field, one
    one = copy.deepcopy(run)
    one["job_results"][0]["metrics"]["save"]["epochs"][0][0]["total_s"] = "1"
    yield "a text for a number", one
    one = copy.deepcopy(run)
    del one["job_results"][0]["metrics"]["save"]["seconds_stats"]["p90"]
    yield "no p90", one
    one = copy.deepcopy(run)
    del one["job_results"][0]["metrics"]
    yield "neither metrics nor error", one


bad = 0
for path in map(pathlib.Path, sys.argv[3 if wrong else 2:]):
    value = json.loads(path.read_text())
    if not wrong:
        lines = errors(path.name, value)
        print(*[f"{path}: {line}" for line in lines] or [f"ok {path}"], sep="\n")
        bad += len(lines)
        continue
    for what, one in damage(value):
        if not errors(path.name, one):
            print(f"{path}: {what} is taken for right")
            bad += 1
sys.exit(bad != 0)
