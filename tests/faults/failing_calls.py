# SPDX-License-Identifier: Apache-2.0
"""Lets each call of ckptfs fail once that allocates, opens, reads, writes or begins a thread (tests/lib/failing.c).

usage: failing_calls.py BUILD FOLDER HOW-MANY [ID...]

A first mount finds the places that make such calls while a program writes, reads, renames, lists and removes. Then
there is a mount for each place (HOW-MANY of them, evenly; 0: all; or those named), in which its first call fails.
What must hold: no crash and no hang; a mount that cannot start says why in one line and leaves nothing mounted; a
call that fails has a line in the log; what returned 0 is there afterwards, and no file has other bytes."""
import concurrent.futures, errno, os, re, subprocess, sys, threading, time

build, folder, many, named = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
env = os.environ
endpoint, scheme, bucket = env["CKPTFS_TEST_ENDPOINT"], env["CKPTFS_TEST_SCHEME"], env["CKPTFS_TEST_BUCKET"]
MIB = 1 << 20
HANG = 60  # seconds
noise = os.urandom(24 * MIB)


def bytes_of(seed, size):
    at = seed * 7919
    return noise[at : at + size]


class Program:
    """What is done in the mount, and what must be there then: for each name the contents that may be."""

    def __init__(self, mnt):
        self.mnt, self.may, self.moved, self.errors, self.wrong = mnt, {}, [], [], []

    def do(self, what, call):
        try:
            return call() or True
        except OSError as e:
            self.errors.append(f"{what}: {errno.errorcode.get(e.errno, e.errno)}")
            return None

    def path(self, name):
        return os.path.join(self.mnt, name)

    def write(self, name, data, piece=MIB, order=None, sync=False):
        taken = bytearray()

        def call():
            fd = os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            try:
                offsets = list(range(0, len(data), piece))
                for i in order(offsets) if order else offsets:
                    at, end = i, min(i + piece, len(data))
                    while at < end:
                        n = os.pwrite(fd, data[at:end], at)
                        taken.extend(bytes(max(0, at + n - len(taken))))
                        taken[at : at + n] = data[at : at + n]
                        at += n
                if sync:
                    os.fsync(fd)
            finally:
                os.close(fd)

        well = self.do(f"write {name}", call)
        # A close publishes what the writes before it took, also when one of them failed.
        self.may[name] = {data} if well else {data, bytes(taken)} | self.may.get(name, {None})

    def change(self, name, at, data):
        def call():
            fd = os.open(self.path(name), os.O_WRONLY)
            try:
                os.pwrite(fd, data, at)
            finally:
                os.close(fd)

        def changed(was):
            return None if was is None else was[:at].ljust(at, b"\0") + data + was[at + len(data) :]

        was = self.may[name]
        well = self.do(f"change {name}", call)
        self.may[name] = {changed(w) for w in was if w is not None} | (set() if well else was)

    def truncate(self, name, size):
        was = self.may[name]
        well = self.do(f"truncate {name}", lambda: os.truncate(self.path(name), size))
        self.may[name] = {w[:size] for w in was if w is not None} | (set() if well else was)

    def read(self, name, mnt=None):
        """The bytes, or None where there is no such file."""
        try:
            with open(os.path.join(mnt or self.mnt, name), "rb", buffering=0) as f:
                out = b""
                while more := f.read(MIB):
                    out += more
                return out
        except FileNotFoundError:
            return None

    def check(self, name, mnt=None):
        try:
            got = self.read(name, mnt)
        except OSError as e:
            self.errors.append(f"read {name}: {errno.errorcode.get(e.errno, e.errno)}")
            if mnt:
                self.wrong.append(f"{name} cannot be read afterwards: {e.strerror}")
            return
        # In the mount where a call fails, a lookup may have failed with another errno, but never with ENOENT.
        if got not in self.may[name]:
            what = "is missing" if got is None else f"has {len(got)} other bytes"
            self.wrong.append(f"{name} {what}{' afterwards' if mnt else ''}")

    def rename(self, old, new, names=("",)):
        well = self.do(f"rename {old}", lambda: os.rename(self.path(old), self.path(new)))
        if well:
            self.moved = [[new + x[len(old) :] if x.startswith(old) else x for x in pair] for pair in self.moved]
        for n in names:
            a, b = old + n, new + n
            was = self.may.get(a, {None})
            if not well and None not in was:
                self.moved.append((a, b))
            self.may[b] = was | (set() if well else self.may.get(b, {None}))
            self.may[a] = {None} | (set() if well else was)

    def unlink(self, name):
        was = self.may[name]
        well = self.do(f"unlink {name}", lambda: os.unlink(self.path(name)))
        self.may[name] = {None} | (set() if well else was)

    def run(self):
        p = self.path
        for d in ("d", "d/sub", "empty"):
            self.do(f"mkdir {d}", lambda: os.mkdir(p(d)))
        if not os.path.isdir(p("d/sub")):
            for d in ("d", "d/sub"):
                self.do(f"mkdir {d} again", lambda: os.mkdir(p(d)))
        for i in range(3):
            self.write(f"d/small{i}", bytes_of(i, 1000 + i))
        self.write("d/sub/deep", bytes_of(9, 5000))
        self.write("big", bytes_of(20, 11 * MIB))
        # Holes to the end: nothing can be sent before, and what memory has no room for is spilled.
        self.write("spilled", bytes_of(30, 18 * MIB), 256 << 10, lambda o: [x for x in o if x % MIB] + [x for x in o if not x % MIB])
        self.write("synced", bytes_of(40, 300000), sync=True)
        for name in list(self.may):
            self.check(name)
        self.change("synced", 1000, b"changed")
        self.change("big", 6 * MIB, b"changed too")
        self.truncate("d/small1", 10)
        self.do("list", lambda: os.listdir(p("d")))
        self.do("stat", lambda: os.stat(p("d/small0")))
        self.do("chmod", lambda: os.chmod(p("d/small0"), 0o600))
        self.do("setxattr", lambda: os.setxattr(p("d/small0"), "user.a", b"b"))
        self.do("getxattr", lambda: os.getxattr(p("d/small0"), "user.a"))
        self.do("symlink", lambda: os.symlink("small0", p("d/link")))
        self.do("readlink", lambda: os.readlink(p("d/link")))
        self.do("statfs", lambda: os.statvfs(p("")))
        self.rename("synced", "renamed")
        self.rename("d/small2", "d/small0")
        self.rename("d", "e", ("/small0", "/small1", "/small2", "/sub/deep"))
        self.unlink("spilled")
        self.do("rmdir", lambda: os.rmdir(p("empty")))
        for name in list(self.may):
            self.check(name)

    def afterwards(self, mnt):
        for name in self.may:
            self.check(name, mnt)
        for a, b in self.moved:
            if self.read(a, mnt) is None and self.read(b, mnt) is None:
                self.wrong.append(f"{a} is lost on its way to {b}")


class Run:
    """One mount in which the call at `site` fails, or none does; ends with what is wrong in self.wrong."""

    def __init__(self, name, site=None):
        self.dir = os.path.join(folder, name)
        self.mnt, self.log, self.sites = (os.path.join(self.dir, n) for n in ("mnt", "log", "sites"))
        for d in (self.mnt, os.path.join(self.dir, "control"), os.path.join(self.dir, "spill")):
            os.makedirs(d)
        open(self.sites, "w").close()
        self.url, self.site, self.wrong, self.daemon, self.lines = f"{scheme}://{bucket}/{name}", site, [], None, []
        self.errors = None  # of the program; None: the mount was refused

    def mount(self, failing):
        more = dict(env)
        if failing:
            more.update(LD_PRELOAD=os.path.join(build, "tests/lib/failing.so"), FAILING_SITES=self.sites)
            more.update({"FAILING_AT": self.site} if self.site else {})
        options = (
            f"endpoint={endpoint},part_size=5M,memory=64M,spill=1G,spill_dir={self.dir}/spill,attr_ttl=0"
            f",deadline=20s,control_dir={self.dir}/control"
        )
        with open(self.log, "w") as log:
            self.daemon = subprocess.Popen(
                [os.path.join(build, "ckptfs"), "-f", "-o", options, self.url, self.mnt], stderr=log, env=more
            )
        until = time.time() + HANG
        while time.time() < until and self.daemon.poll() is None:
            if " is mounted on " in open(self.log).read():
                return True
            time.sleep(0.01)
        if self.daemon.poll() is None:
            self.wrong.append("the start hangs")
            self.kill()
        return False

    def is_mounted(self):
        with open("/proc/self/mounts") as f:
            return any(line.split()[1] == self.mnt for line in f)

    def kill(self):
        self.daemon.kill()
        self.daemon.wait()

    def unmount(self):
        subprocess.run(["umount", self.mnt], stderr=subprocess.DEVNULL)
        if self.is_mounted():
            subprocess.run(["umount", "-l", self.mnt], stderr=subprocess.DEVNULL)
        try:
            return self.daemon.wait(HANG)
        except subprocess.TimeoutExpired:
            self.wrong.append("the end hangs")
            self.kill()
            return None

    def said(self):
        with open(self.log) as f:
            return [line for line in f if re.search(r"(warning|error): |^ckptfs: ", line)]

    def refused(self):
        if self.daemon.returncode not in (1, 2):
            self.wrong.append(f"the start ends with status {self.daemon.returncode}")
        self.lines = lines = [line for line in open(self.log) if line.strip()]
        if len(lines) != 1 or len(lines[0]) < 16:
            self.wrong.append(f"the start that fails says {len(lines)} lines: {lines}")
        if self.is_mounted():
            self.wrong.append("the start that fails leaves a mount")
            subprocess.run(["umount", "-l", self.mnt])

    def all(self):
        if not self.mount(True):
            if not self.wrong:
                self.refused()
            return self
        program = Program(self.mnt)
        hung = threading.Timer(HANG, lambda: (self.wrong.append("a call hangs"), self.daemon.kill()))
        hung.start()
        program.run()
        hung.cancel()
        if self.daemon.poll() is not None:
            self.wrong.append(f"the mount ends with status {self.daemon.returncode}")
        status = self.unmount()
        if status not in (0, None) and not self.wrong:
            self.wrong.append(f"the end has status {status}")
        self.errors = program.errors
        self.lines = self.said()
        if program.errors and not self.lines:
            self.wrong.append("nothing in the log")
        if not self.mount(False):
            self.wrong.append("the next mount does not start")
        else:
            program.afterwards(self.mnt)
            self.unmount()
        self.wrong += program.wrong
        return self


def place(addresses):
    out = subprocess.run(["addr2line", "-f", "-s", "-e", os.path.join(build, "ckptfs")] + addresses, stdout=subprocess.PIPE, text=True)
    lines = out.stdout.split("\n")
    return " < ".join(f"{f}() {at.split(' ')[0]}" for f, at in zip(lines[0::2], lines[1::2]))


def main():
    first = Run("first").all()
    if first.wrong or first.errors:
        print("a mount where nothing fails:", first.wrong, first.errors)
        return 1
    sites = [line.split() for line in open(first.sites) if line.startswith("site")]
    chosen = [s for s in sites if s[1] in named] if named else sites
    if many:
        chosen = [chosen[i * len(chosen) // many] for i in range(min(many, len(chosen)))]
    bad = met = refused = with_errno = 0
    with concurrent.futures.ThreadPoolExecutor(int(env.get("CKPTFS_AT_ONCE", "3"))) as threads:
        for site, run in zip(chosen, threads.map(lambda s: Run(s[1], s[1]).all(), chosen)):
            met += "failed " in open(run.sites).read()
            errors = run.errors
            refused += errors is None
            with_errno += bool(errors)
            if run.wrong or named or env.get("CKPTFS_VERBOSE"):
                print(f"{site[1]} {site[2]} {place(site[3:])}")
                print(f"    {run.wrong} errnos: {errors}", *(line.rstrip() for line in run.lines[:6]), sep="\n    ")
                bad += bool(run.wrong)
            if not run.wrong:
                subprocess.run(["rm", "-rf", "--one-file-system", run.dir])
    print(f"{len(sites)} places, {len(chosen)} tried: {met} failed, {refused} mounts refused, {with_errno} with an errno, {bad} wrong")
    return bad > 0 or not met


sys.exit(main())
