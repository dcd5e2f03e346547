/* SPDX-License-Identifier: Apache-2.0 */
/* daemon.h: a mount that a program of the tests begins and ends, as often as it likes. */
#ifndef CKPTFS_TESTS_LIB_DAEMON_H
#define CKPTFS_TESTS_LIB_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

/* It dies with the program that began it, and its log is MOUNT.log. */
struct daemon {
        pid_t pid; /* 0: there is none */
        char mount[300];
};

/* COMMAND... DIR in the foreground. False, with a line: it does not mount. */
bool daemon_start(struct daemon *d, char *const *command, const char *dir);
/* By SIGKILL: who has it open keeps the dead mount. */
void daemon_kill(struct daemon *d);
/* By SIGTERM. False, with a line, when it does not end with 0. */
bool daemon_end(struct daemon *d);

#endif
