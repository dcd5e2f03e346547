/* SPDX-License-Identifier: Apache-2.0 */
/* train_stage.h: memory that a save is copied to before it is written. */
#ifndef CKPTFS_BENCH_SCENARIO_TRAIN_STAGE_H
#define CKPTFS_BENCH_SCENARIO_TRAIN_STAGE_H

#include <stdbool.h>
#include <stddef.h>

struct stage_kind {
        bool pins;   /* it is locked, and registered with a device */
        bool cached; /* it stays for the next save */
        bool shared; /* a process that is given `fd` may map it */
};

struct stage {
        size_t size;
        struct stage_kind kind;
        char *p;    /* NULL: none is held */
        int fd;     /* -1: not shared */
        bool fresh; /* mapped by the last stage_take() */
};

void stage_init(struct stage *s, size_t size, struct stage_kind kind);
/* Memory of that size: fresh, or that of the save before. 0 or a negative errno. */
int stage_take(struct stage *s);
/* It is not needed any more: goes, unless it is kept for the next save. */
void stage_give(struct stage *s);
void stage_release(struct stage *s);

#endif
