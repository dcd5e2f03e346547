/* SPDX-License-Identifier: Apache-2.0 */
/* request.h: one request and its reply, between a connection, which moves bytes and keeps time,
 * and a protocol, which knows what they mean.
 *
 * The connection fills `rq` and calls begin(). The protocol says what the request is (for the log
 * and the faults) and where its body goes, or refuses it by setting a status; then the body is read
 * and dropped. When the body is there, finish() does the work and sets the reply. All runs on the
 * connection's thread. */
#ifndef CKPTFS_SIM_REQUEST_H
#define CKPTFS_SIM_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/sign/sign_v4.h"
#include "base/text/uri.h"
#include "bench/sim/http/chunked.h"
#include "bench/sim/store/data.h"
#include "bench/sim/http/fault.h"
#include "bench/sim/http/http.h"
#include "bench/sim/http/related.h"

struct endpoint;
struct identity;
struct issues;
struct object;
struct protocol;
struct server;
struct object_store;
struct object_store_cond;

enum { EXCHANGE_QUERY_MAX = 32, EXCHANGE_TEXT_MAX = 4 << 20 };

/* What is before the name of a user's metadata, as it is kept, and how much there may be. */
#define S3_META "x-amz-meta-"
#define GS_META "x-goog-meta-"
enum { S3_META_MAX = 2048, GS_META_MAX = 8192 };

/* What a session of a directory bucket was begun for; "" for none. */
struct session_terms {
        bool read_only;
        char sse[16], kms_key[256];
};

enum body_to {
        BODY_DROP,   /* read and forgotten */
        BODY_TEXT,   /* to `text`, at most EXCHANGE_TEXT_MAX bytes */
        BODY_INTAKE, /* to `intake` */
};

struct request {
        struct http_request rq;
        char id[17]; /* names the request, in the reply and the log */
        uint64_t begun_ns;
        uint64_t bytes_in, bytes_out; /* of the bodies */

        /* set by begin() */
        const char *op; /* "PutObject", never NULL after begin() */
        char *path;     /* unescaped copy of the request's; bucket and key point into it */
        char *query_text;
        struct uri_pair query[EXCHANGE_QUERY_MAX];
        size_t nquery;
        const char *bucket, *key;             /* "" for none */
        char *named;                          /* owned: a key that came in the body, or NULL */
        const char *other_bucket, *other_key; /* where it is moved or copied to; "" for none */
        const char *upload;                   /* upload id, "" for none */
        unsigned part;                        /* 0: none */
        enum body_to to;
        bool chunked; /* the body comes in the vendor's own chunks, whatever rq.chunked */
        struct chunked chunks;
        bool in_parts; /* the body is a description and the data */
        struct related related;
        bool in_batch; /* a part of another request, which was let in */
        bool by_host;  /* the host says the bucket, not the path */
        bool by_tls;
        bool google; /* headers are named x-goog-, not x-amz- */
        struct buf text;
        struct intake intake;
        struct fault fault;
        const void *priv;                /* the protocol's */
        struct session_terms session;    /* of a directory bucket, which signs this */
        const struct endpoint *endpoint; /* of identity; NULL: it is the store's */
        const struct protocol *store;    /* behind identity, NULL without it */
        uint64_t delay_ns;               /* before the reply begins */

        /* the reply */
        int status;         /* 0: not known yet */
        struct buf headers; /* lines "Name: value\r\n" */
        struct buf body;
        struct object *object; /* or bytes [off, off + len) of this, referenced */
        uint64_t off, len;
        bool head_only; /* the length is said, the bytes are not sent */
        bool close;     /* the connection ends after the reply */
};

struct service; /* what a protocol works on */

struct protocol {
        const char *name;
        void (*begin)(struct service *s, struct request *x);
        void (*finish)(struct service *s, struct request *x);
        /* The reply to a request that is no HTTP, or that a fault answers: an error of that status,
         * code and message (NULL: the usual ones). */
        void (*refuse)(struct request *x, int status, const char *code, const char *message);
        /* An error inside a reply of status 200. */
        void (*error_in_200)(struct request *x, const char *code, const char *message);
};

struct service {
        const struct s3_options *s3;
        const struct gs_options *gs;
        struct issues *sessions;      /* of directory buckets */
        long clock_skew_s;            /* the server's clock is ahead */
        const char *scheme;           /* "http" */
        struct identity *identity;    /* NULL: none */
        const struct protocol *store; /* behind identity */
        struct object_store *objects;
        struct faults *faults;               /* NULL: none */
        const char *region;                  /* NULL: any */
        const char *access_key, *secret_key; /* NULL: anybody */
        const char *denied; /* permissions that nobody has, as "s3:PutObject,s3:DeleteObject", or
                               NULL */
};

/* Where the buckets of the first protocol are, and how they behave. */
enum { S3_ACCESS_POINTS_MAX = 8 };
struct s3_options {
        const char *domain;    /* BUCKET.DOMAIN is a bucket's host, too; NULL: "localhost" */
        const char *base_path; /* "/a/b" before all paths; NULL: none */
        struct s3_access_point {
                const char *name, *bucket;
        } access_points[S3_ACCESS_POINTS_MAX];
        unsigned naccess_points;
        bool requester_pays;
        long session_s;   /* how long a session of a directory bucket lasts */
        bool read_only;   /* those sessions may not write */
        bool local_zone;  /* directory buckets are in one */
        bool allow_sse_c; /* objects may be written with a key of the customer's */
        /* What becomes of a condition on the target of a copy. */
        enum s3_if { IF_HONORED, IF_IGNORED, IF_REFUSED } copy_if;
        enum s3_if if_match, if_none_match; /* the same of these in whatever writes an object */
        bool strict_headers;                /* headers that the vendor has not are refused */
        bool key_tokens; /* a page's token is its last name, encoded where names are */
        /* Which checksums of whole objects there are. */
        enum { CHECKSUMS_ALL, CHECKSUMS_CRC64NVME, CHECKSUMS_NONE } checksums;
        bool object_lock; /* what is written must bear a digest */
        bool radosgw;     /* as the gateway of Ceph */
        /* Where objects of INTELLIGENT_TIERING are, unless they are restored; NULL: at hand. */
        const char *archive_tier;
};

/* How the buckets of the second protocol behave. */
struct gs_options {
        bool no_move;           /* as a server that does not know of it */
        bool zonal;             /* buckets are in a zone */
        bool testbench;         /* as the vendor's testbench */
        const char *forbidden;  /* how no new object may be encrypted: "google", "cmek", "csek" */
        uint64_t rewrite_chunk; /* bytes a call of rewriteTo copies; 0: all */
        uint64_t resume_short;  /* bytes of a chunk that are kept; 0: all */
};

extern const struct protocol protocol_s3, protocol_gs, protocol_identity;

/* --- what the protocols share (permission.c) --- */

enum { PERMISSION_MAX = 64 };
/* Whether a request needs a permission that --deny names, which is then written to `out`. */
bool permission_lacks(const struct service *s, const struct request *x, char out[PERMISSION_MAX]);
/* Whether --deny names this one. */
bool permission_denied(const struct service *s, const char *name);

/* --- what the protocols share (request.c) --- */

void request_header(struct request *x, const char *name, const char *value);
/* The value of a request's header, also under its name in x->google; NULL for none. */
const char *request_in(const struct request *x, const char *header);
/* The request as its signature sees it; `headers` holds HTTP_HEADERS_MAX. payload_hash is left to
 * the caller. */
struct sign_request request_signed(const struct request *x, struct uri_pair *headers);
/* Sets off and len to what the Range asks of `o`, and the reply's header. 1, 0 for all of it, or
 * -416 with the header of that. */
int request_range(struct request *x, const struct object *o);

/* The entries that a page of at most `max` has. */
unsigned request_page_max(const struct request *x, unsigned max);
/* A token of a list is a serial number and the last entry of the pages so far, in hexadecimal: no
 * two are the same, and they are safe in XML, JSON and a URL. Reading gives the caller's text, NULL
 * for a token that is none. */
void request_add_token(struct buf *b, const char *p, size_t n);
char *request_read_token(const char *token);
/* Why Google's store has no object of that name, by whatever API; NULL: it may. */
const char *request_google_name(const char *key, bool has_folders);

/* What a request says of its body; each NULL for nothing. The last is hexadecimal, the others are
 * base64. */
struct said {
        const char *crc32c, *crc64nvme, *md5, *sha256;
};
/* What the header x-goog-hash says, into `said`; pointers go into `text`. */
void said_by_hash(struct said *said, const char *hash, char text[80]);
/* Compares the body, in x->text or x->intake, with it. NULL: it is that, or nothing can be said,
 * which null mode does. Else the S3 name of the error, or "" with *err. */
const char *request_differs(struct request *x, const struct said *said, int *err);

/* The decoded value of a query parameter, NULL when it is absent. */
static inline const char *request_query(const struct request *x, const char *name)
{
        for (size_t i = 0; i < x->nquery; i++)
                if (!__builtin_strcmp(x->query[i].name, name))
                        return x->query[i].value;
        return NULL;
}

#endif
