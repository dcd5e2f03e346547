/* SPDX-License-Identifier: Apache-2.0 */
/* async_stage.h: memory that a save is copied to before it is written. */
#ifndef CKPTFS_BENCH_SCENARIO_ASYNC_STAGE_H
#define CKPTFS_BENCH_SCENARIO_ASYNC_STAGE_H

#include <stdbool.h>
#include <stddef.h>

struct stage {
        size_t size;
        unsigned kind; /* STAGING_* of keys.h */
        bool shared;   /* a process that is given `fd` may map it */
        char *p;       /* NULL: none is held */
        int fd;        /* -1: not shared */
        bool fresh;    /* mapped by the last stage_take() */
};

void stage_init(struct stage *s, size_t size, unsigned kind, bool shared);
/* Memory of that size: fresh, or that of the save before. 0 or a negative errno. */
int stage_take(struct stage *s);
/* It is not needed any more: goes, unless it is kept for the next save. */
void stage_give(struct stage *s);
void stage_release(struct stage *s);

#endif
