/* SPDX-License-Identifier: Apache-2.0 */
/* mount_list.c: see mount_list.h. */
#include "mount/caller/mount_list.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"

#include "base/banned.h"

/* Namespaces whose lists are kept: the daemon's own; and the machine's, where the programs are if
 * the daemon has one of its own, as a service of systemd may. */
enum { LISTS = 2 };
static const char *const paths[LISTS] = {"/proc/self/mountinfo", "/proc/1/mountinfo"};

struct list {
        const char *path;
        int fd;     /* of it; poll() tells that it has changed since the last one. -1: it cannot be
                       had */
        bool known; /* the list is as the kernel said last */
        size_t n, max;
        struct entry {
                unsigned long id;
                bool matches;
        } * v;
};

struct lists {
        struct list v[LISTS];
};

struct mount_list {
        dev_t dev;
        struct lists *lists; /* NULL while a thread uses them, which the kernel may hold up: others
                               read the list of the process instead */
};

struct mount_list *mount_list_new(dev_t dev)
{
        struct mount_list *l = calloc(1, sizeof *l);
        if (!l)
                return NULL;
        l->dev = dev;
        l->lists = calloc(1, sizeof *l->lists);
        if (!l->lists) {
                free(l);
                return NULL;
        }
        for (int i = 0; i < LISTS; i++)
                l->lists->v[i] =
                        (struct list){.path = paths[i], .fd = open(paths[i], O_RDONLY | O_CLOEXEC)};
        return l;
}

void mount_list_free(struct mount_list *l)
{
        if (!l)
                return;
        for (int i = 0; i < LISTS; i++) {
                closep(&l->lists->v[i].fd);
                free(l->lists->v[i].v);
        }
        free(l->lists);
        free(l);
}

/* The next mount of the file: false at its end. */
static bool next_mount(FILE *f, char **line, size_t *room, unsigned long *id, dev_t *dev)
{
        while (getline(line, room, f) > 0) {
                unsigned parent, maj, min;
                if (sscanf(*line, "%lu %u %u:%u ", id, &parent, &maj, &min) == 4) {
                        *dev = makedev(maj, min);
                        return true;
                }
        }
        return false;
}

static bool has_changed(int fd)
{
        struct pollfd p = {.fd = fd, .events = POLLPRI};
        return fd < 0 || poll(&p, 1, 0) < 0 || p.revents & (POLLPRI | POLLERR);
}

/* Reads the list again if it changed. What cannot be read is not in it. */
static void refresh(struct list *list, dev_t dev)
{
        if (!has_changed(list->fd) && list->known)
                return;
        CLEANUP(fclosep) FILE *f = fopen(list->path, "re");
        CLEANUP(freep) char *line = NULL;
        size_t room = 0;
        struct entry e;
        dev_t its;

        list->n = 0;
        list->known = f;
        while (list->known && next_mount(f, &line, &room, &e.id, &its)) {
                e.matches = its == dev;
                list->known = !GROW(list->v, list->n, list->max, 64);
                if (list->known)
                        list->v[list->n++] = e;
        }
        list->known = list->known && !ferror(f);
}

static bool has_read(pid_t pid, unsigned long id, dev_t dev)
{
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)pid);
        CLEANUP(fclosep) FILE *f = fopen(path, "re");
        CLEANUP(freep) char *line = NULL;
        size_t room = 0;
        unsigned long its;
        dev_t of;

        while (f && next_mount(f, &line, &room, &its, &of))
                if (its == id)
                        return of == dev;
        return true;
}

/* Whether the mount is in the list, and then whether it matches. */
static bool look_up(const struct list *list, unsigned long id, bool *matches)
{
        for (size_t i = 0; i < list->n; i++)
                if (list->v[i].id == id) {
                        *matches = list->v[i].matches;
                        return true;
                }
        return false;
}

bool mount_list_has(struct mount_list *l, pid_t pid, unsigned long id)
{
        struct lists *lists = __atomic_exchange_n(&l->lists, NULL, __ATOMIC_ACQ_REL);
        bool known = false, matches = false;

        for (int i = 0; lists && i < LISTS && !known; i++) {
                refresh(&lists->v[i], l->dev);
                known = look_up(&lists->v[i], id, &matches);
        }
        if (lists)
                __atomic_store_n(&l->lists, lists, __ATOMIC_RELEASE);
        return known ? matches : has_read(pid, id, l->dev);
}
