# SPDX-License-Identifier: Apache-2.0
"""cuda_stubs.py DIR: lets torch's wheel load where its CUDA libraries are not installed.

For each library that those in DIR (torch/lib) need and nobody has, an empty one with the same
symbols is made in DIR. A CPU calls none of them; who does, aborts.
"""
import collections
import pathlib
import re
import subprocess
import sys


def readelf(*args):
    return subprocess.run(
        ["readelf", "-W", *map(str, args)], check=True, capture_output=True, text=True
    ).stdout.splitlines()


def symbols(lib):
    """Yields (name, version, defined) of each dynamic symbol."""
    for line in readelf("--dyn-syms", lib):
        row = line.split()
        if len(row) > 7 and row[4] in ("GLOBAL", "WEAK"):
            name, _, version = row[7].partition("@")
            yield name, version.lstrip("@"), row[6] != "UND" or row[4] == "WEAK"


def needs(lib):
    """The libraries that it names, and the versions of symbols that it asks each of them for."""
    for line in readelf("-d", lib):
        if found := re.search(r"\(NEEDED\).*\[(.*)\]", line):
            yield found[1], None
    library = None
    for line in readelf("-V", lib):
        if found := re.search(r"Version: 1  File: (\S+)", line):
            library = found[1]
        elif library and (found := re.search(r"Name: (\S+)  Flags", line)):
            yield library, found[1]


def make(path, soname, versions):
    """A shared library in which each symbol of {version: names} is a function that aborts."""
    names = sorted(name for of in versions.values() for name in of)
    source = "void abort(void);\n" + "".join(f"void {n}(void) {{ abort(); }}\n" for n in names)
    script = "".join(
        (version or "") + "{ global: " + " ".join(f"{n};" for n in sorted(of)) + " local: *; };\n"
        for version, of in versions.items()
        if version or len(versions) == 1
    )
    path.with_suffix(".map").write_text(script.replace("global:  local", "local"))
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-w", "-fno-builtin", "-x", "c", "-", "-o", path,
         f"-Wl,-soname,{soname}", f"-Wl,--version-script,{path.with_suffix('.map')}"],
        check=True, input=source, text=True,
    )
    path.with_suffix(".map").unlink()


def main(folder):
    libs = sorted(folder.glob("lib*.so*"))
    real = [*libs, *folder.glob("../../nvidia/*/lib/*.so*")]
    there = {lib.name for lib in real}
    wanted = collections.defaultdict(lambda: collections.defaultdict(set))
    owner = {}
    for lib in libs:
        for library, version in needs(lib):
            if re.match(r"lib(cu|nv|nccl)", library) and library not in there | {"libcuda.so.1"}:
                wanted[library]
                if version:
                    owner[version] = library
    defined = {name for lib in real for name, _, there in symbols(lib) if there}
    # What has no version in the wheel may stand anywhere: in the library that comes first.
    anywhere = min(set(wanted) - set(owner.values()))
    for lib in libs:
        for name, version, is_defined in symbols(lib):
            if version in owner:
                wanted[owner[version]][version].add(name)
            elif not version and not is_defined and name not in defined:
                wanted[anywhere][""].add(name)
    for library, versions in wanted.items():
        make(folder / library, library, versions or {"": set()})


main(pathlib.Path(sys.argv[1]))
