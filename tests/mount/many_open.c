/* SPDX-License-Identifier: Apache-2.0 */
/* many_open.c: processes that have many files open at once.
 *
 *      many_open DIR PROCESSES EACH
 *
 * Each process opens EACH of the files DIR/f00000000, DIR/f00000001, ... that no other opens, reads
 * a part of each, and writes DIR/wN, which it leaves open. When all have done so, a line says it,
 * and the end of the standard input has all close. 0 when every call was as it should. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"

enum { READ = 4096, WRITTEN = 1000 };

static struct {
        _Atomic unsigned open, failed;
        int end[2]; /* a pipe, whose end has all close */
} * shared;

static int open_at(const char *dir, char kind, unsigned n, int flags)
{
        char path[300];
        int fd;

        snprintf(path, sizeof path, "%s/%c%08u", dir, kind, n);
        fd = open(path, flags | O_CLOEXEC, 0644);
        if (fd < 0)
                fprintf(stderr, "many_open: %s: %s\n", path, strerror(errno));
        return fd;
}

/* Descriptor `fds[each]` is that of the file that is written. */
static int open_all(const char *dir, unsigned process, unsigned each, int *fds)
{
        char bytes[READ] = {1};

        for (unsigned i = 0; i < each; i++) {
                unsigned n = process * each + i;
                fds[i] = open_at(dir, 'f', n, O_RDONLY);
                if (fds[i] < 0 || pread(fds[i], bytes, READ, (off_t)(n % 200) * READ) != READ)
                        return 1;
        }
        fds[each] = open_at(dir, 'w', process, O_WRONLY | O_CREAT);
        return fds[each] < 0 || write(fds[each], bytes, WRITTEN) != WRITTEN;
}

static int one(const char *dir, unsigned process, unsigned each)
{
        int *fds = calloc(each + 1, sizeof *fds), rc = 1;
        char c;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (fds)
                rc = open_all(dir, process, each, fds);
        if (rc)
                shared->failed++;
        shared->open++;
        close(shared->end[1]);
        while (read(shared->end[0], &c, 1) > 0)
                ;
        for (unsigned i = 0; !rc && i <= each; i++)
                if (close(fds[i]))
                        rc = 1;
        free(fds);
        return rc;
}

int main(int argc, char **argv)
{
        unsigned processes = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
        unsigned each = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 0, begun = 0;
        int status, rc = 0;
        char c;

        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                      0);
        if (!processes || shared == MAP_FAILED || pipe(shared->end)) {
                fprintf(stderr, "usage: many_open DIR PROCESSES EACH\n");
                return 2;
        }
        for (; begun < processes; begun++) {
                pid_t pid = fork();
                if (!pid)
                        _exit(one(argv[1], begun, each));
                if (pid < 0) {
                        perror("many_open: fork");
                        rc = 1;
                        break;
                }
        }
        while (shared->open < begun)
                usleep(20000);
        printf("%u processes have their files open, %u do not\n", begun - shared->failed,
               shared->failed);
        fflush(stdout);
        while (read(0, &c, 1) > 0)
                ;
        close(shared->end[1]);
        while (wait(&status) > 0)
                rc = rc || status;
        return rc;
}
