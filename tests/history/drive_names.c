/* SPDX-License-Identifier: Apache-2.0 */
/* drive_names.c: calls on names, writers that are killed, and what a process does next; see
 * drive.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "drive_call.h"

#include "base/banned.h"

enum { RENAME_NEW = 1, DURABLE_MS = 20000 };

/* --- names --- */

static int set_attribute(struct who *w, const char *path)
{
        unsigned value = chance(w, 64);

        return setxattr(path, "user.history", &value, sizeof value, 0);
}

static void do_name(struct who *w, enum call_kind kind, const char *name)
{
        struct call c;
        char path[PATH_ROOM];
        struct making m = call_begin(w, &c, kind, name, NULL, false);

        path_of(w, name, path);
        call_one_step(&c, kind == CALL_MKDIR   ? mkdir(path, 0755)
                          : kind == CALL_RMDIR ? rmdir(path)
                          : kind == CALL_CHMOD ? chmod(path, 0600 + chance(w, 64))
                          : kind == CALL_XATTR ? set_attribute(w, path)
                                               : unlink(path));
        call_end(&m);
}

static void do_move(struct who *w, enum call_kind kind, const char *name, const char *to)
{
        struct call c;
        char from[PATH_ROOM], path[PATH_ROOM];
        bool alone = kind == CALL_MOVE_DIR || world->setting.seed % 2 == 0;
        struct making m = call_begin(w, &c, kind, name, to, alone);

        path_of(w, name, from);
        path_of(w, to, path);
        call_one_step(&c, (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, path,
                                       kind == CALL_MOVE_NEW ? RENAME_NEW : 0));
        if (kind == CALL_MOVE_DIR && !c.err)
                world->turned[w->host]++;
        call_end(&m);
}

/* Makes the directory of this host have the one name or the other, whatever a daemon that was
 * killed has left. */
static void find_dir(struct who *w)
{
        char x[PATH_ROOM], y[PATH_ROOM], name[NAME_MOST];
        unsigned *turned = &world->turned[w->host];

        host_enter(w->host);
        snprintf(name, sizeof name, "t%dx", w->host);
        path_of(w, name, x);
        snprintf(name, sizeof name, "t%dy", w->host);
        path_of(w, name, y);
        if (access(*turned % 2 ? y : x, F_OK) && !access(*turned % 2 ? x : y, F_OK))
                ++*turned;
        else
                mkdir(*turned % 2 ? y : x, 0755);
        host_leave(w->host);
}

/* The directory of this host changes its name. What others have put below the other name is removed
 * when it is in the way. */
static void do_move_dir(struct who *w)
{
        char from[NAME_MOST], to[NAME_MOST], name[NAME_MOST], path[PATH_ROOM];

        find_dir(w);
        bool turned = world->turned[w->host] % 2;
        snprintf(from, sizeof from, "t%d%c", w->host, turned ? 'y' : 'x');
        snprintf(to, sizeof to, "t%d%c", w->host, turned ? 'x' : 'y');
        path_of(w, to, path);
        if (!access(path, F_OK)) {
                for (unsigned i = 0; i < BELOW; i++) {
                        snprintf(name, sizeof name, "%.8s/g%u", to, i);
                        do_name(w, CALL_REMOVE, name);
                }
                host_enter(w->host);
                rmdir(path);
                host_leave(w->host);
        }
        do_move(w, CALL_MOVE_DIR, from, to);
}

/* --- a writer that is killed --- */

/* Until its daemon has seen the end of the process, the mount itself shows what it wrote. */
static void await_durable(struct making *m)
{
        char path[PATH_ROOM], state[20];

        path_of(m->w, m->c->name, path);
        for (int ms = 0; ms < DURABLE_MS; ms += 2) {
                ssize_t n = getxattr(path, "user.ckptfs.state", state, sizeof state);
                if (n < 0 || !strncmp(state, "durable", 7))
                        return;
                usleep(2000);
        }
        snprintf(m->c->seen, sizeof m->c->seen,
                 "!its writer was killed, and the file is still being written");
}

static void do_killed(struct who *w, enum call_kind kind, const char *name)
{
        struct call *c = &world->cut[w->proc];
        struct making m = call_begin(w, c, kind, name, NULL, true);
        unsigned us = chance(w, 3) ? chance(w, 6000) : chance(w, 30000);

        call_bytes(w, c);
        pid_t pid = fork();
        if (pid < 0)
                abort();
        if (!pid) {
                call_write(&m);
                _exit(0);
        }
        usleep(us);
        kill(pid, SIGKILL);
        int status = 0;
        if (waitpid(pid, &status, 0) != pid)
                abort();
        if (WIFSIGNALED(status) && !c->t[3]) {
                c->fate = c->t[2] ? FATE_CUT : FATE_KILLED;
                c->err = EINTR;
                await_durable(&m);
                c->t[3] = now_ns();
        }
        call_end(&m);
}

/* --- what is done next --- */

static void random_file(struct who *w, char *name)
{
        unsigned n = chance(w, 10);

        if (n < 8) {
                snprintf(name, NAME_MOST, "d%u/f%u", chance(w, 2), chance(w, SHARED / 2));
                return;
        }
        int host = n == 8 ? w->host : (int)chance(w, HOSTS);
        char side = world->turned[host] % 2 ? 'y' : 'x';
        if (!chance(w, 6))
                side = side == 'x' ? 'y' : 'x';
        snprintf(name, NAME_MOST, "t%d%c/g%u", host, side, chance(w, BELOW));
}

static void drive_names(struct who *w, unsigned what, const char *name)
{
        char other[NAME_MOST];

        snprintf(other, sizeof other, "d%u/f%u", chance(w, 2), chance(w, SHARED / 2));
        if (what < 12 && name[0] == 'd' && strcmp(name, other) != 0) {
                do_move(w, what < 7 ? CALL_MOVE : CALL_MOVE_NEW, name, other);
        } else if (what < 16) {
                if (w->proc < HOSTS) /* one process of each host */
                        do_move_dir(w);
        } else {
                snprintf(other, sizeof other, "m%u", chance(w, DIRS));
                if (what < 18)
                        do_name(w, CALL_MKDIR, other);
                else if (what < 20)
                        do_name(w, CALL_RMDIR, chance(w, 3) ? other : "d0");
                else
                        do_stat(w, other);
        }
}

void drive_one(struct who *w)
{
        char name[NAME_MOST];
        unsigned what = chance(w, 120);

        random_file(w, name);
        if (world->attributes && !chance(w, 16))
                do_name(w, chance(w, 2) ? CALL_CHMOD : CALL_XATTR, name);
        else if (what < 36)
                do_read(w, name);
        else if (what < 46)
                do_write(w, CALL_PUT, name);
        else if (what < 54)
                do_replace(w, name);
        else if (what < 62)
                do_write(w, CALL_CREATE, name);
        else if (what < 69)
                do_write(w, CALL_APPEND, name);
        else if (what < 72)
                do_append_twice(w, name);
        else if (what < 77)
                do_change(w, name);
        else if (what < 83)
                do_name(w, CALL_REMOVE, name);
        else if (what < 89)
                do_stat(w, name);
        else if (what < 93)
                do_list(w);
        else if (what < 98)
                do_killed(w, chance(w, 2) ? CALL_PUT : CALL_APPEND, name);
        else
                drive_names(w, what - 98, name);
}

void drive_last(struct who *w)
{
        char name[NAME_MOST];

        for (unsigned i = 0; i < SHARED; i++) {
                snprintf(name, sizeof name, "d%u/f%u", i % 2, i / 2);
                do_read(w, name);
        }
        for (unsigned i = 0; i < HOSTS * 2 * BELOW; i++) {
                snprintf(name, sizeof name, "t%u%c/g%u", i % HOSTS, i / HOSTS % 2 ? 'y' : 'x',
                         i / HOSTS / 2);
                do_read(w, name);
        }
}
