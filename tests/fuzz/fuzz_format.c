/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_format.c: any bytes as a file of safetensors or torch, a zip, a pickle and a .metadata. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/format/dcp.h"
#include "bench/format/read.h"
#include "bench/format/unpickle.h"
#include "bench/format/unzip.h"
#include "tests/fuzz/fuzz.h"
#include "base/banned.h"

static char why[512];

struct memory {
        struct source s;
        const uint8_t *p;
};

/* Readers ask for nothing beyond the file. */
static int read_ranges(void *arg, const struct io_range *v, size_t n, void *dst)
{
        const struct memory *m = arg;
        char *to = dst;

        for (size_t i = 0; i < n; i++) {
                if (v[i].from > m->s.size || v[i].len > m->s.size - v[i].from)
                        abort();
                if (v[i].len)
                        memcpy(to, m->p + v[i].from, v[i].len);
                to += v[i].len;
        }
        return 0;
}

/* What is found lies in the file. */
static void file(const struct source *s)
{
        struct found f = {.at = NULL};

        if (!any_read(s, &f, why, sizeof why))
                for (size_t i = 0; i < f.shard.n; i++)
                        if (f.at[i].len > s->size || f.at[i].from > s->size - f.at[i].len)
                                abort();
        found_release(&f);
}

static void zip(const struct source *s)
{
        struct unzip z = {0};
        const char *root;
        size_t n;

        if (!unzip_read(s, &z, why, sizeof why))
                unzip_root(&z, &root, &n);
        unzip_release(&z);
}

static void pickle(const char *p, size_t n)
{
        CLEANUP(unpickled_freep) struct unpickled *all = NULL;
        CLEANUP(freep) struct dcp_item *items = NULL;
        const struct value *root;
        size_t nitems;

        unpickle(p, n, &all, &root, why, sizeof why);
        if (!dcp_read(p, n, &items, &nitems, why, sizeof why))
                for (size_t i = 0; i < nitems; i++)
                        if (!memchr(items[i].name, 0, sizeof items[i].name) ||
                            !memchr(items[i].file, 0, sizeof items[i].file))
                                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        struct memory m = {.s = {.size = n, .read = read_ranges}, .p = p};

        m.s.arg = &m;
        file(&m.s);
        zip(&m.s);
        pickle((const char *)p, n);
        return 0;
}
