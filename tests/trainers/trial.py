# SPDX-License-Identifier: Apache-2.0
"""trial.py: runs each case of a trainer in a local directory and in mounts, and compares.

A test is a script that ends in `trial.main(case, ...)` and is started with a local directory and those
in mounts, ':' between them. A case is a function; it works in the current directory, asserts what it
can by itself, and tells with `trial.say()` what a user would see: results, names of errors. It passes
in a mount when it ends well there and in the local directory, said the same, and left the same tree
behind. For each, a line "ok NUMBER NAME" or "not ok NUMBER NAME" goes to standard output: the number
of the mount, from 1 on, and the first line of the case's docstring.
"""
import contextlib
import errno
import os
import pathlib
import stat
import sys
import traceback

said = []


def say(*words):
    said.append(" ".join(map(str, words)))


def size():
    """Bytes of a case's data: CKPTFS_TRAINERS_SIZE, as 2G."""
    text = os.environ.get("CKPTFS_TRAINERS_SIZE", "48M")
    return int(text[:-1]) << {"K": 10, "M": 20, "G": 30}[text[-1]]


@contextlib.contextmanager
def refused(what):
    """Says by which error a call is refused, or that it is not."""
    try:
        yield
        say(what, "works")
    except OSError as e:
        say(what, errno.errorcode.get(e.errno, e))


def forget(path="."):
    """The kernel's pages of the files below go, so that a load asks the mount."""
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError), open(os.path.join(folder, name), "rb") as f:
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def tree(keep_sizes=True):
    """Names, types, modes, sizes and targets of all that lies in the current directory."""
    rows = []
    for folder, folders, names in os.walk("."):
        for name in folders + names:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            row = [path, stat.filemode(st.st_mode)]
            if stat.S_ISLNK(st.st_mode):
                row.append("-> " + os.readlink(path))
            elif stat.S_ISREG(st.st_mode) and keep_sizes:
                row.append(st.st_size)
            rows.append(" ".join(map(str, row)))
    return sorted(rows)


def outcome(case, place):
    """What the case says and leaves in a directory of its own in place; whether it ended well."""
    folder = place / case.__name__
    folder.mkdir()
    os.chdir(folder)
    said.clear()
    try:
        case()
        return said + tree(getattr(case, "sizes", True)), True
    except BaseException as e:  # that of DCP is no Exception
        if isinstance(e, KeyboardInterrupt):
            raise
        return said + traceback.format_exc().splitlines(), False
    finally:
        os.chdir(place)


def judge(label, local, mount):
    """Prints what became of a case, from both its outcomes."""
    (want, good), (got, works) = local, mount
    if good and works and want == got:
        print("ok", label, flush=True)
        return
    print("not ok", label)
    if not good:
        print("#   the local directory fails:", *want[-25:], sep="\n#   ")
    elif not works:
        print("#   the mount fails:", *got[-25:], sep="\n#   ")
    else:
        for line in [line for line in want if line not in got][:20]:
            print("#   only locally:", line)
        for line in [line for line in got if line not in want][:20]:
            print("#   only in the mount:", line)
    sys.stdout.flush()


def main(*cases):
    local, *mounts = (pathlib.Path(arg).resolve() for arg in [sys.argv[1], *sys.argv[2].split(os.pathsep)])
    only = sys.argv[3:]
    for case in cases:
        if only and case.__name__ not in only:
            continue
        want = outcome(case, local)
        for number, mount in enumerate(mounts, 1):
            judge(f"{number} {case.__doc__.splitlines()[0].rstrip('.')}", want, outcome(case, mount))


def unsized(case):
    """For a case whose files' sizes differ from run to run."""
    case.sizes = False
    return case
