/* SPDX-License-Identifier: Apache-2.0 */
/* advice.c: see advice.h. */
#include "mount/daemon/advice.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "base/machine/machine.h"
#include "base/params.h"
#include "mount/core/mount.h"
#include "mount/daemon/privileges.h"
#include "store.h"
#include "store/core/open_params.h"

#include "base/banned.h"

enum { MIB_BITS = 20 };

void advise_memory(const struct params *p)
{
        char said[256];
        const char *remedy;

        if (machine_lacks_memory(p, said, sizeof said, &remedy))
                log_warn_of(LOG_ABOUT(.operation = "mount", .remedy = remedy), "%s", said);
}

static void advise_spill(const struct params *p)
{
        uint64_t room = machine_disk_free(p->spill_dir);

        if (!p->ro && room < p->spill)
                log_info("spill= is %" PRIu64 " MiB, and %s has %" PRIu64
                         " MiB free: writes get ENOSPC from there on; free space or name another "
                         "spill_dir=",
                         p->spill >> MIB_BITS, p->spill_dir, room >> MIB_BITS);
}

static void advise_key(const char *option, const char *file)
{
        if (machine_all_may_read(file))
                log_warn_of(LOG_ABOUT(.operation = "mount", .file = file, .remedy = "chmod 600"),
                            "%s=%s: every user of this machine may read it", option, file);
}

static void advise_credentials(struct store *s)
{
        char file[STORE_SECRET_FILE_MAX];

        store_secret_file(s, file);
        if (machine_all_may_read(file))
                log_warn_of(LOG_ABOUT(.operation = "mount", .file = file, .remedy = "chmod 600"),
                            "the credentials are in %s, which every user of this machine may read",
                            file);
}

/* Who begins a run below a new prefix reads this line once; who misspelled it, too. */
static void advise_prefix(const struct store *s, const char *url)
{
        const char *path = strchr(strstr(url, "://") + 3, '/');

        if (path && path[1] && store_was_empty(s))
                log_info("%s has no objects yet: it begins with the first file, or correct the URL",
                         url);
}

static void advise_kills(const struct params *p)
{
        if (!p->ro && p->allow_other && p->on_kill == ON_KILL_ABORT && !privileges_see_all())
                log_info("without CAP_SYS_PTRACE the end of other users' writers is not seen: what "
                         "they wrote is published when they are killed, too");
}

void advise(const struct params *p, struct store *s, const char *url, const char *lacks)
{
        advise_memory(p);
        advise_spill(p);
        advise_key("sse_c_key_file", p->sse_c_key_file);
        advise_key("csek_file", p->csek_file);
        advise_credentials(s);
        advise_prefix(s, url);
        advise_kills(p);
        const char *no_writes = p->ro ? NULL : store_no_writes(s);
        if (no_writes)
                log_warn_of(LOG_ABOUT(.operation = "mount",
                                      .remedy = "mount it with ro, or take another bucket"),
                            "%s: %s", url, no_writes);
        if (lacks)
                log_warn_of(LOG_ABOUT(.operation = "mount", .remedy = "allow it, or mount with ro"),
                            "%s can only be read: the store denies %s", url, lacks);
}
