/* SPDX-License-Identifier: Apache-2.0 */
/* advice.c: see advice.h. */
#include "mount/daemon/advice.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/params.h"

#include "base/banned.h"

enum { MIB_BITS = 20 };

/* What the control group of the process may use; UINT64_MAX: no limit is known. In a container its
 * own group is the root of what is seen. */
static uint64_t group_memory(void)
{
        CLEANUP(fclosep) FILE *f = fopen("/sys/fs/cgroup/memory.max", "re");
        uint64_t n;

        return f && fscanf(f, "%" SCNu64, &n) == 1 ? n : UINT64_MAX; /* "max" is no number */
}

static void advise_memory(const struct params *p)
{
        uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
        uint64_t group = group_memory(), most = group < machine ? group : machine;

        if (p->memory > most)
                log_warn("memory= is %" PRIu64 " MiB, and this %s has %" PRIu64
                         " MiB: give less, or the daemon may be killed when memory is short",
                         p->memory >> MIB_BITS, group < machine ? "container" : "machine",
                         most >> MIB_BITS);
}

static void advise_spill(const struct params *p)
{
        struct statvfs disk;

        if (p->ro || statvfs(p->spill_dir, &disk))
                return;
        uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
        if (room < p->spill)
                log_info("spill= is %" PRIu64 " MiB, and %s has %" PRIu64
                         " MiB free: writes get ENOSPC from there on; free space or name another "
                         "spill_dir=",
                         p->spill >> MIB_BITS, p->spill_dir, room >> MIB_BITS);
}

static void advise_key(const char *option, const char *file)
{
        struct stat st;

        if (*file && !stat(file, &st) && st.st_mode & S_IROTH)
                log_warn("%s=%s: every user of this machine may read it: chmod 600", option, file);
}

void advise(const struct params *p)
{
        advise_memory(p);
        advise_spill(p);
        advise_key("sse_c_key_file", p->sse_c_key_file);
        advise_key("csek_file", p->csek_file);
        advise_key("credentials", p->credentials);
}
