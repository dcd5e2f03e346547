/* SPDX-License-Identifier: Apache-2.0 */
/* io.c: the table of storages. */
#include "bench/io.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#include "base/banned.h"

const struct io_storage io_storages[] = {
        {"mount", &io_posix, "files below mount.path, through a mounted bucket"},
        {"s3", &io_s3, "objects below s3.uri, straight through libstore"},
        {"gcs", &io_s3, "objects below gcs.uri, straight through libstore"},
        {"disk", &io_posix, "files below path"},
        {"null", &io_null, "nowhere, with null.delay_us: what measuring itself costs"},
};
const size_t io_nstorages = sizeof io_storages / sizeof io_storages[0];

const struct io_storage *io_find(const char *name, char *why, size_t nwhy)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        for (size_t i = 0; i < io_nstorages; i++) {
                if (!strcmp(io_storages[i].name, name))
                        return &io_storages[i];
                buf_addf(&b, "%s%s", i ? ", " : "", io_storages[i].name);
        }
        snprintf(why, nwhy, "storage '%s' is unknown: give one of %s", name, b.p);
        return NULL;
}

int io_fail(struct io *io, int err, const char *subject)
{
        snprintf(io->why, sizeof io->why, "%s: %s", subject, strerror(-err));
        return err;
}
