/* SPDX-License-Identifier: Apache-2.0 */
/* syscall_filter.c: see syscall_filter.h; seccomp(2). What is taken away is listed, not what is
 * left: programs that fetch credentials are anybody's, and run under the same filter. */
#include "mount/daemon/syscall_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/banned.h"

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#ifdef MACHINE

enum { FIRST_OF_X32 = 0x40000000 }; /* the same calls by other numbers, on x86-64 */

/* Most of them want a capability that is kept, or are ways into other processes and the kernel. */
static const unsigned denied[] = {
        /* other file systems and namespaces; umount2 stays */
        SYS_mount, SYS_pivot_root, SYS_chroot, SYS_move_mount, SYS_open_tree, SYS_fsopen,
        SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_setns, SYS_unshare,
        SYS_swapon, SYS_swapoff, SYS_quotactl, SYS_open_by_handle_at, SYS_fanotify_init,
        /* other processes; process_vm_readv, by which an open is understood, and kcmp, by which
         * copies of one open are told from two, stay */
        SYS_process_vm_writev, SYS_pidfd_getfd, SYS_process_madvise, SYS_perf_event_open,
#ifndef LOCK_CHECKS /* LeakSanitizer looks for leaks by it */
        SYS_ptrace,
#endif
        /* the kernel */
        SYS_bpf, SYS_userfaultfd, SYS_init_module, SYS_finit_module, SYS_delete_module,
        SYS_kexec_load, SYS_reboot, SYS_syslog, SYS_acct, SYS_personality, SYS_vhangup,
        SYS_sethostname, SYS_setdomainname, SYS_io_uring_setup, SYS_io_uring_enter,
        SYS_io_uring_register,
#ifdef SYS_kexec_file_load
        SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
        SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_uselib, SYS_sysfs,
#endif
        /* the clock */
        SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime};

enum { NDENIED = sizeof denied / sizeof *denied, ROOM = 2 * NDENIED + 16 };

struct program {
        struct sock_filter step[ROOM];
        unsigned short n;
};

static void add(struct program *p, struct sock_filter step)
{
        p->step[p->n++] = step;
}

static void load(struct program *p, size_t offset)
{
        add(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

static void refuse(struct program *p, int err)
{
        add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)err));
}

/* Where what is loaded compares so with `k`, the call is refused. */
static void refuse_where(struct program *p, unsigned compare, unsigned k, int err)
{
        add(p, (struct sock_filter)BPF_JUMP((unsigned short)(BPF_JMP | compare | BPF_K), k, 0, 1));
        refuse(p, err);
}

/* A new process is one in the namespaces of this. clone3() takes its flags from memory, which no
 * filter sees: without it the C library takes clone(). */
static void refuse_namespaces(struct program *p)
{
        const unsigned flags = CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS |
                               CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWUTS;

        refuse_where(p, BPF_JEQ, SYS_clone3, ENOSYS);
        add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
        load(p, offsetof(struct seccomp_data, args[0]));
        refuse_where(p, BPF_JSET, flags, EPERM);
        add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

static void write_program(struct program *p, bool rings)
{
        load(p, offsetof(struct seccomp_data, arch));
        add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0));
        refuse(p, EPERM);
        load(p, offsetof(struct seccomp_data, nr));
        refuse_where(p, BPF_JGE, FIRST_OF_X32, EPERM);
        for (size_t i = 0; i < NDENIED; i++)
                if (!rings || denied[i] != SYS_io_uring_enter)
                        refuse_where(p, BPF_JEQ, denied[i], EPERM);
        refuse_namespaces(p);
        add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

/* For all threads; and without what old kernels did to every process that has a filter, which made
 * it slower against a danger that is another's. */
int syscall_filter(bool rings)
{
        struct program p = {.n = 0};

        write_program(&p, rings);
        const struct sock_fprog prog = {.len = p.n, .filter = p.step};
        long rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                          SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &prog);
        return !rc ? 0 : rc > 0 ? -EBUSY : -errno;
}

#else

int syscall_filter(bool rings)
{
        (void)rings;
        return -EOPNOTSUPP;
}

#endif
