/* SPDX-License-Identifier: Apache-2.0 */
/* options_s3.c: what storesim's command line says of S3. See options.h. */
#include "bench/sim/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/sim/http/fault.h"
#include "bench/sim/store/object_store.h"
#include "base/banned.h"

int option_complain(const char *why)
{
        fprintf(stderr, "storesim: %s\n", why);
        return -EINVAL;
}

int option_bad(const char *option, const char *value, const char *remedy)
{
        fprintf(stderr, "storesim: --%s %s cannot be used: %s\n", option, value, remedy);
        return -EINVAL;
}

int option_seconds(const char *option, const char *text, long *out)
{
        uint64_t ns;

        if (fault_parse_duration(text, &ns))
                return option_bad(option, text, "give a time, as 1h");
        *out = (long)(ns / 1000000000);
        return 0;
}

/* The index of the word that `value` is, or -1. */
static int word_of(const char *const *words, size_t n, const char *value)
{
        for (size_t i = 0; i < n; i++)
                if (!strcmp(words[i], value))
                        return (int)i;
        return -1;
}

static int set_if(const char *option, enum s3_if *out, const char *value)
{
        static const char *const words[] = {
                [IF_HONORED] = "honor", [IF_IGNORED] = "ignore", [IF_REFUSED] = "refuse"};
        int i = word_of(words, sizeof words / sizeof *words, value);

        if (i < 0)
                return option_bad(option, value, "give honor, ignore or refuse");
        *out = (enum s3_if)i;
        return 0;
}

static int set_checksums(struct s3_options *o, const char *value)
{
        static const char *const words[] = {[CHECKSUMS_ALL] = "all",
                                            [CHECKSUMS_CRC64NVME] = "crc64nvme",
                                            [CHECKSUMS_NONE] = "none"};
        int i = word_of(words, sizeof words / sizeof *words, value);

        if (i < 0)
                return option_bad("checksums", value, "give all, crc64nvme or none");
        o->checksums = (unsigned)i;
        return 0;
}

static int set_archive_tier(struct s3_options *o, const char *value)
{
        if (strcmp(value, "ARCHIVE_ACCESS") && strcmp(value, "DEEP_ARCHIVE_ACCESS"))
                return option_bad("archive-tier", value,
                                  "give ARCHIVE_ACCESS or DEEP_ARCHIVE_ACCESS");
        o->archive_tier = value;
        return 0;
}

static int set_base_path(struct s3_options *o, const char *value)
{
        size_t n = strlen(value);

        if (*value != '/' || n < 2 || value[n - 1] == '/' || value[strcspn(value, "%?# ")])
                return option_bad("base-path", value, "give a path as /a/b");
        o->base_path = value;
        return 0;
}

static int add_access_point(struct s3_options *o, char *value)
{
        char *bucket = strchr(value, '=');

        if (!bucket || bucket == value || !object_store_bucket_name_ok(bucket + 1))
                return option_bad("access-point", value, "give NAME=BUCKET");
        if (o->naccess_points == S3_ACCESS_POINTS_MAX)
                return option_complain("too many --access-point: give at most 8");
        *bucket++ = 0;
        o->access_points[o->naccess_points++] = (struct s3_access_point){value, bucket};
        return 0;
}

int option_s3(struct s3_options *o, int opt, char *value)
{
        switch (opt) {
        case OPT_DOMAIN:
                o->domain = value;
                return 0;
        case OPT_BASE_PATH:
                return set_base_path(o, value);
        case OPT_ACCESS_POINT:
                return add_access_point(o, value);
        case OPT_REQUESTER_PAYS:
                o->requester_pays = true;
                return 0;
        case OPT_SESSION_LIFE:
                return option_seconds("session-life", value, &o->session_s);
        case OPT_READ_ONLY_SESSIONS:
                o->read_only = true;
                return 0;
        case OPT_LOCAL_ZONE:
                o->local_zone = true;
                return 0;
        case OPT_ALLOW_SSE_C:
                o->allow_sse_c = true;
                return 0;
        case OPT_COPY_IF:
                return set_if("copy-if", &o->copy_if, value);
        case OPT_IF_MATCH:
                return set_if("if-match", &o->if_match, value);
        case OPT_IF_NONE_MATCH:
                return set_if("if-none-match", &o->if_none_match, value);
        case OPT_STRICT_HEADERS:
                o->strict_headers = true;
                return 0;
        case OPT_KEY_TOKENS:
                o->key_tokens = true;
                return 0;
        case OPT_CHECKSUMS:
                return set_checksums(o, value);
        case OPT_OBJECT_LOCK:
                o->object_lock = true;
                return 0;
        case OPT_RADOSGW:
                o->radosgw = true;
                return 0;
        case OPT_ARCHIVE_TIER:
                return set_archive_tier(o, value);
        default: /* the caller has no other */
                return -EINVAL;
        }
}
