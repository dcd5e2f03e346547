# SPDX-License-Identifier: Apache-2.0
"""trial.py: runs each case of a trainer in a local directory and in the mount, and compares.

A test is a script that ends in `trial.main(case, ...)` and is started with two directories, the local
one first. A case is a function; it works in the current directory, asserts what it can by itself, and
tells with `trial.say()` what a user would see: results, names of errors. It passes when it ends well
in both places, said the same, and left the same tree behind. For each, a line "ok NAME" or "not ok
NAME" goes to standard output; NAME is the first line of its docstring.
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


def main(*cases):
    local, mount = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
    only = sys.argv[3:]
    for case in cases:
        if only and case.__name__ not in only:
            continue
        want, good = outcome(case, local)
        got, works = outcome(case, mount)
        name = case.__doc__.splitlines()[0].rstrip(".")
        if good and works and want == got:
            print("ok", name, flush=True)
            continue
        print("not ok", name)
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


def unsized(case):
    """For a case whose files' sizes differ from run to run."""
    case.sizes = False
    return case
