/* SPDX-License-Identifier: Apache-2.0 */
/* s3_version.c: buckets that keep versions. A version is named by its generation; what was deleted
 * without naming one is kept, too, and a delete marker has a name but no object here. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/sim/s3/s3.h"
#include "bench/sim/store/data.h"
#include "base/banned.h"

/* "S3 Versioning isn't supported" in directory buckets (user guide, "Differences"). */
bool s3_keeps_versions(const struct service *s, const struct request *x)
{
        return object_store_has_versions(s->objects) && !x->google && !s3_is_express(x);
}

static void s3_version_id(char text[S3_VERSION_MAX], int64_t generation)
{
        snprintf(text, S3_VERSION_MAX, "v%" PRId64, generation);
}

void s3_marker_id(const struct service *s, char text[S3_VERSION_MAX])
{
        s3_version_id(text, (int64_t)data_next_id(object_store_data(s->objects)));
}

void s3_version_header(const struct service *s, struct request *x, const struct object *o)
{
        char id[S3_VERSION_MAX];

        if (!s3_keeps_versions(s, x))
                return;
        s3_version_id(id, o->generation);
        s3_header(x, "x-amz-version-id", id);
}

/* The version that the query names; -1: none. */
static int64_t named(const struct service *s, const struct request *x)
{
        const char *id = s3_keeps_versions(s, x) ? request_query(x, "versionId") : NULL;

        return id ? *id == 'v' ? strtoll(id + 1, NULL, 10) : 0 : -1;
}

int s3_get_version(struct service *s, const struct request *x, struct object **out)
{
        int64_t version = named(s, x);

        return version < 0 ? object_store_get(s->objects, x->bucket, x->key, out)
                           : object_store_get_version(s->objects, x->bucket, x->key, version, out);
}

bool s3_delete_version(struct service *s, struct request *x)
{
        int64_t version = named(s, x);

        if (version < 0)
                return false;
        int err = object_store_delete_version(s->objects, x->bucket, x->key, version);
        if (err) {
                s3_fail(x, err);
                return true;
        }
        s3_header(x, "x-amz-version-id", request_query(x, "versionId"));
        s3_reply(x, 204);
        return true;
}
