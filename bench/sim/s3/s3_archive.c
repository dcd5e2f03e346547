/* SPDX-License-Identifier: Apache-2.0 */
/* s3_archive.c: objects in an archive, which cannot be read until they are restored.
 *
 * "If the object you are retrieving is stored in the S3 Glacier Flexible Retrieval storage class,
 * the S3 Glacier Deep Archive storage class, the S3 Intelligent-Tiering Archive Access tier, or the
 * S3 Intelligent-Tiering Deep Archive Access tier, before you can retrieve the object you must
 * first restore a copy using RestoreObject. Otherwise, this operation returns an InvalidObjectState
 * error" (API reference, GetObject). Here a restore is done when it is asked for. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text/xml.h"
#include "bench/sim/s3/s3.h"
#include "base/banned.h"

/* When the copy that can be read ends, as a header has it. */
#define RESTORED ":restored"

static bool is_tiered(const char *class)
{
        return !strcmp(class, "INTELLIGENT_TIERING");
}

/* The archive that the object is in, whether it is restored or not; NULL for none. */
static const char *archive_of(const struct service *s, const struct object *o)
{
        const char *class = object_meta(o, S3_CLASS);

        if (!class)
                return NULL;
        if (is_tiered(class))
                return s->s3->archive_tier;
        return !strcmp(class, "GLACIER") || !strcmp(class, "DEEP_ARCHIVE") ? class : NULL;
}

/* The words are those of the vendor's replies. */
bool s3_is_archived(const struct service *s, struct request *x, const struct object *o,
                    bool of_source)
{
        const char *archive = x->google ? NULL : archive_of(s, o),
                   *class = object_meta(o, S3_CLASS);
        char message[128];

        if (!archive || object_meta(o, RESTORED))
                return false;
        snprintf(message, sizeof message, "The operation is not valid for the %s %s",
                 of_source ? "source object's" : "object's",
                 is_tiered(class) ? "access tier" : "storage class");
        s3_refuse(x, 403, "InvalidObjectState", message);
        s3_error_add(x, "StorageClass", class);
        if (is_tiered(class))
                s3_error_add(x, "AccessTier", archive);
        return true;
}

void s3_archive_headers(const struct service *s, struct request *x, const struct object *o)
{
        const char *archive = x->google ? NULL : archive_of(s, o);
        const char *until = object_meta(o, RESTORED);
        char text[96];

        if (!archive)
                return;
        if (is_tiered(object_meta(o, S3_CLASS))) {
                if (!until)
                        s3_header(x, "x-amz-archive-status", archive);
        } else if (until) {
                snprintf(text, sizeof text, "ongoing-request=\"false\", expiry-date=\"%s\"", until);
                s3_header(x, "x-amz-restore", text);
        }
}

static int read_days(void *arg, const char *path, const char *text)
{
        if (!strcmp(path, "RestoreRequest/Days"))
                *(long *)arg = strtol(text, NULL, 10);
        return 0;
}

/* What leaves a tier stays outside, so that such a request names no days; of the classes it is a
 * copy that lasts for the days that have to be named. */
void s3_restore(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *o = NULL, *next = NULL;
        long days = 0;
        struct xml_reader reader = {read_days, NULL, &days};
        char until[32];

        int err = object_store_get(s->objects, x->bucket, x->key, &o);
        if (err) {
                s3_fail(x, err);
                return;
        }
        const char *archive = archive_of(s, o);
        if (!archive) {
                s3_refuse(x, 403, "InvalidObjectState",
                          "Restore is not allowed for the object's current storage class");
                return;
        }
        bool tiered = is_tiered(object_meta(o, S3_CLASS));
        if (xml_read(x->text.p, x->text.len, &reader) || days < 0 || (days > 0) == tiered) {
                s3_error(x, "MalformedXML");
                return;
        }
        bool again = object_meta(o, RESTORED);
        const struct object_store_cond same = {.present = o};
        http_date(time(NULL) + days * 24 * 3600, until);
        next = object_clone(o, o->key);
        err = !next || s3_copy_sums(o, next) || object_meta_add(next, RESTORED, until) ? -ENOMEM
                                                                                       : 0;
        if (!err)
                err = object_store_update(s->objects, x->bucket, next, &same, false);
        if (err)
                s3_fail(x, err);
        else
                s3_reply(x, again ? 200 : 202);
}
