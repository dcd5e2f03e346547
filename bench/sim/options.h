/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: the options of storesim's command line, between main.c and options_s3.c. */
#ifndef CKPTFS_SIM_OPTIONS_H
#define CKPTFS_SIM_OPTIONS_H

#include "bench/sim/http/request.h"

enum {
        OPT_LISTEN = 256,
        OPT_BUCKET,
        OPT_DATA,
        OPT_NULL,
        OPT_FILL,
        OPT_THREADS,
        OPT_CONNECTIONS,
        OPT_RATE,
        OPT_TOTAL_RATE,
        OPT_REQUEST_RATE,
        OPT_TTFB,
        OPT_CERT,
        OPT_KEY,
        OPT_ACCESS,
        OPT_SECRET,
        OPT_REGION,
        OPT_DENY,
        OPT_PROTOCOL,
        OPT_CLOCK_SKEW,
        OPT_QUOTA,
        OPT_REQUESTER_PAYS,
        OPT_SESSION_LIFE,
        OPT_READ_ONLY_SESSIONS,
        OPT_LOCAL_ZONE,
        OPT_ALLOW_SSE_C,
        OPT_COPY_IF,
        OPT_IF_MATCH,
        OPT_IF_NONE_MATCH,
        OPT_STRICT_HEADERS,
        OPT_KEY_TOKENS,
        OPT_DOMAIN,
        OPT_BASE_PATH,
        OPT_ACCESS_POINT,
        OPT_CHECKSUMS,
        OPT_OBJECT_LOCK,
        OPT_RADOSGW,
        OPT_ARCHIVE_TIER,
        OPT_CONTENT_ETAGS,
        OPT_HNS,
        OPT_ZONAL,
        OPT_VERSIONING,
        OPT_NO_MOVE,
        OPT_TESTBENCH,
        OPT_FORBID_ENCRYPTION,
        OPT_NAME_PAUSE,
        OPT_RETENTION,
        OPT_REWRITE_CHUNK,
        OPT_RESUME_SHORT,
        OPT_FAULTS,
        OPT_IDENTITY,
        OPT_LOG,
        OPT_HELP
};

/* Say it; -EINVAL. */
int option_complain(const char *why);
int option_bad(const char *option, const char *value, const char *remedy);
/* A time in whole seconds; 0 or -EINVAL, said. */
int option_seconds(const char *option, const char *text, long *out);

/* One of those of S3; value stays the caller's and must stay. 0 or -EINVAL, said. */
int option_s3(struct s3_options *o, int opt, char *value);

#endif
