/* SPDX-License-Identifier: Apache-2.0 */
/* run_name.c: see run_name.h. */
#include "bench/data/run_name.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

#include "base/banned.h"

int run_name(struct coll *c, char out[FRESH_NAME_MAX])
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        int err = 0;

        if (c->rank == 0) {
                unsigned char r[4] = {0};
                time_t now = time(NULL);
                struct tm tm;
                if (getrandom(r, sizeof r, 0) != sizeof r)
                        err = -EIO;
                localtime_r(&now, &tm);
                size_t n = strftime(out, FRESH_NAME_MAX, "%Y-%m-%d-%H-%M-", &tm);
                for (size_t i = 0; i < sizeof r; i++)
                        out[n++] = letters[r[i] % (sizeof letters - 1)];
                out[n] = 0;
        }
        err = coll_agree(c, err);
        return err ? err : c->ops->bcast(c, out, FRESH_NAME_MAX);
}
