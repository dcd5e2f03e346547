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

static const char own_mounts[] = "/proc/self/mountinfo";

/* The daemon's own namespace. */
struct own {
        int fd;     /* of mountinfo; poll() tells that this has changed since the last one. -1: it
                       cannot be had */
        bool known; /* the list is as the kernel said last */
        size_t n, max;
        struct entry {
                unsigned long id;
                bool matches;
        } * v;
};

struct mount_list {
        dev_t dev;
        struct own *own; /* NULL while a thread uses it, which the kernel may hold up: others read
                            the list of the process instead */
};

struct mount_list *mount_list_new(dev_t dev)
{
        struct mount_list *l = calloc(1, sizeof *l);
        if (!l)
                return NULL;
        l->dev = dev;
        l->own = calloc(1, sizeof *l->own);
        if (l->own)
                l->own->fd = open(own_mounts, O_RDONLY | O_CLOEXEC);
        else
                freep(&l);
        return l;
}

void mount_list_free(struct mount_list *l)
{
        if (!l)
                return;
        closep(&l->own->fd);
        free(l->own->v);
        free(l->own);
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
static void refresh(struct own *own, dev_t dev)
{
        if (!has_changed(own->fd) && own->known)
                return;
        CLEANUP(fclosep) FILE *f = fopen(own_mounts, "re");
        CLEANUP(freep) char *line = NULL;
        size_t room = 0;
        struct entry e;
        dev_t its;

        own->n = 0;
        own->known = f;
        while (own->known && next_mount(f, &line, &room, &e.id, &its)) {
                e.matches = its == dev;
                own->known = !GROW(own->v, own->n, own->max, 64);
                if (own->known)
                        own->v[own->n++] = e;
        }
        own->known = own->known && !ferror(f);
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

bool mount_list_has(struct mount_list *l, pid_t pid, unsigned long id)
{
        struct own *own = __atomic_exchange_n(&l->own, NULL, __ATOMIC_ACQ_REL);
        bool known = false, matches = false;

        if (own) {
                refresh(own, l->dev);
                for (size_t i = 0; i < own->n && !known; i++) {
                        known = own->v[i].id == id;
                        matches = own->v[i].matches;
                }
                __atomic_store_n(&l->own, own, __ATOMIC_RELEASE);
        }
        return known ? matches : has_read(pid, id, l->dev);
}
