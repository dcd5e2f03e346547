/* SPDX-License-Identifier: Apache-2.0 */
/* train_stage.c: see train_stage.h. */
#include "bench/scenario/train/train_stage.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/core/dev.h"

#include "base/banned.h"

void stage_init(struct stage *s, size_t size, struct stage_kind kind)
{
        *s = (struct stage){.size = size, .kind = kind, .fd = -1};
}

static void unmap(struct stage *s)
{
        munmap(s->p, s->size);
        if (s->fd >= 0)
                close(s->fd);
        s->p = NULL;
        s->fd = -1;
}

static int map(struct stage *s)
{
        int flags = s->kind.shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;

        if (s->kind.shared) {
                s->fd = memfd_create("ckptbench", MFD_CLOEXEC);
                if (s->fd < 0 || ftruncate(s->fd, (off_t)s->size)) {
                        int err = -errno;
                        if (s->fd >= 0)
                                close(s->fd);
                        s->fd = -1;
                        return err;
                }
        }
        void *p = mmap(NULL, s->size, PROT_READ | PROT_WRITE, flags, s->fd, 0);
        if (p == MAP_FAILED) {
                int err = -errno;
                if (s->fd >= 0)
                        close(s->fd);
                s->fd = -1;
                return err;
        }
        s->p = p;
        return 0;
}

int stage_take(struct stage *s)
{
        s->fresh = !s->p;
        if (s->p)
                return 0;
        int err = map(s);
        if (!err && s->kind.pins) {
                err = dev_pin(s->p, s->size);
                if (err)
                        unmap(s);
        }
        return err;
}

void stage_give(struct stage *s)
{
        if (!s->kind.cached)
                stage_release(s);
}

void stage_release(struct stage *s)
{
        if (!s->p)
                return;
        if (s->kind.pins)
                dev_unpin(s->p, s->size);
        unmap(s);
}
