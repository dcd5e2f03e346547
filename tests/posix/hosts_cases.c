/* SPDX-License-Identifier: Apache-2.0 */
/* hosts_cases.c: a call of one host, with one of its requests late, or the reply to it lost, and a
 * change of the same file by another host meanwhile. Each case has a file of its own, so that one
 * set of rules for the store serves all. See hosts.h. */
#include "hosts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"

enum { REQUESTS = 5, AT_ONCE = 12, BEGINS_US = 60000 };

static const char *const calls[] = {"look", "write", "large", "append", "tail", "mode", "remove"};
static const char *const others[] = {"write", "append", "remove"};
static const char *const faults[] = {"delay", "reset_after"};
enum {
        CALLS = sizeof calls / sizeof *calls,
        OTHERS = sizeof others / sizeof *others,
        FAULTS = sizeof faults / sizeof *faults,
        CASES = CALLS * OTHERS * FAULTS * REQUESTS
};

struct one {
        const char *call, *other, *fault;
        unsigned request;
};

static struct one one_of(unsigned n)
{
        struct one o = {.call = calls[n % CALLS]};
        n /= CALLS;
        o.other = others[n % OTHERS];
        n /= OTHERS;
        o.fault = faults[n % FAULTS];
        o.request = n / FAULTS;
        return o;
}

static void name_of(unsigned n, char *name)
{
        struct one o = one_of(n);
        snprintf(name, NAME_MOST, "%s-%s-%s-%u", o.call, o.other, o.fault, o.request + 1);
}

int cases_rules(void)
{
        char name[NAME_MOST];

        for (unsigned n = 0; n < CASES; n++) {
                struct one o = one_of(n);
                name_of(n, name);
                printf("%s{\"key\": \"%s\", \"skip\": %u, \"times\": 1, \"do\": \"%s\"%s}",
                       n ? ",\n" : "[", name, o.request, o.fault,
                       strcmp(o.fault, "delay") ? "" : ", \"stall\": \"250ms\"");
        }
        printf("]\n");
        return 0;
}

static void make_call(const char *call, int host, unsigned file)
{
        if (!strcmp(call, "look"))
                look(host, file);
        else if (!strcmp(call, "write"))
                do_write(host, file, 5000);
        else if (!strcmp(call, "large"))
                do_write(host, file, 11U << 20);
        else if (!strcmp(call, "append"))
                do_append(host, file, 3000, false);
        else if (!strcmp(call, "tail"))
                do_append(host, file, 6U << 20, false);
        else if (!strcmp(call, "mode"))
                do_mode(host, file);
        else
                do_remove(host, file);
}

/* The files are there, and two hosts have looked at them, before the rules hold. */
static void make_files(void)
{
        for (unsigned n = 0; n < CASES; n++) {
                name_of(n, world->files[n].name);
                do_write(2, n, 4000 + chance(4000));
                look(0, n);
                look(1, n);
        }
}

static void run_case(unsigned n)
{
        struct one o = one_of(n);
        pid_t first = fork();

        if (!first) {
                make_call(o.call, 0, n);
                _exit(0);
        }
        usleep(BEGINS_US);
        make_call(o.other, 1, n);
        if (first < 0 || waitpid(first, NULL, 0) != first)
                wrong(n, "no process");
        for (int host = 0; host < MOUNTS; host++)
                look(host, n);
}

/* Says that the files are made, and waits for the rules. */
static void wait_for_rules(const char *path)
{
        char made[500];
        snprintf(made, sizeof made, "%s.made", path);
        int fd = open(made, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd >= 0)
                close(fd);
        while (access(path, F_OK))
                usleep(10000);
}

int cases_run(const char *go)
{
        int failed = 0, status;

        chance_seed(1);
        make_files();
        wait_for_rules(go);
        fflush(stdout);
        for (unsigned i = 0; i < AT_ONCE; i++) {
                pid_t pid = fork();
                if (!pid) {
                        for (unsigned n = i; n < CASES; n += AT_ONCE)
                                run_case(n);
                        _exit(0);
                }
                failed |= pid < 0;
        }
        while (wait(&status) > 0)
                failed |= status != 0;
        return failed;
}
