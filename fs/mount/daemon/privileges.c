/* SPDX-License-Identifier: Apache-2.0 */
/* privileges.c: see privileges.h; capabilities(7), prctl(2). */
#include "mount/daemon/privileges.h"

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mount/daemon/syscall_filter.h"

#include "base/banned.h"

void privileges_hide(void)
{
        const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};

        setrlimit(RLIMIT_CORE, &none);
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* To mount and unmount; to see in /proc who has a file open; to open the log, the spill file and
 * the files of credentials in directories of others, also when that is long after the mount began;
 * and to serve metrics at a port below 1024. */
static bool is_needed(int cap)
{
        return cap == CAP_SYS_ADMIN || cap == CAP_SYS_PTRACE || cap == CAP_DAC_OVERRIDE ||
               cap == CAP_DAC_READ_SEARCH || cap == CAP_NET_BIND_SERVICE;
}

static bool has(const struct __user_cap_data_struct *caps, int cap)
{
        return caps[cap / 32].permitted & 1U << cap % 32;
}

/* Without CAP_SYS_PTRACE, which containers mostly lack, the kernel lets a process see the signals
 * and descriptors of another only if that has no capability which it lacks itself (ptrace(2),
 * "Ptrace access mode checking"): then all are kept. */
static void drop_other_capabilities(void)
{
        struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {{0}};
        uint32_t needed[_LINUX_CAPABILITY_U32S_3] = {0};

        /* First what programs could get that are run from here: that needs CAP_SETPCAP. */
        for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
                if (is_needed(cap))
                        needed[cap / 32] |= 1U << cap % 32;
                else
                        prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
        }
        if (syscall(SYS_capget, &head, caps))
                return;
        bool sees = has(caps, CAP_SYS_PTRACE);
        for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
                caps[i].effective &= sees ? needed[i] : UINT32_MAX;
                caps[i].permitted &= sees ? needed[i] : UINT32_MAX;
                caps[i].inheritable = 0; /* and what is ambient with it */
        }
        syscall(SYS_capset, &head, caps);
}

/* fusermount3 has to become root, to unmount for a user. */
void privileges_drop(bool unmounts)
{
        if (geteuid() && unmounts)
                return;
        drop_other_capabilities();
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

bool privileges_see_all(void)
{
        struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {{0}};

        return !syscall(SYS_capget, &head, caps) && has(caps, CAP_SYS_PTRACE);
}

int privileges_filter(bool rings)
{
        if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
                return 0;
        return syscall_filter(rings);
}
