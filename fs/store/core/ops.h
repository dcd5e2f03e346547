/* SPDX-License-Identifier: Apache-2.0 */
/* ops.h: what a kind of store has to give, and what an operation is between façade and kind.
 *
 * A kind turns an operation into one HTTP exchange (build) and reads its reply (parse). It neither
 * sends nor repeats: the façade (request.c) does, by what parse() answers. An operation that takes
 * several exchanges (pages, a lost reply that is looked into) keeps in `stage` which one is next
 * and answers OP_AGAIN. All of a kind's functions are thread-safe, run on I/O threads and do not
 * block on the network. */
#ifndef CKPTFS_STORE_OPS_H
#define CKPTFS_STORE_OPS_H

#include "base/buf.h"
#include "store.h"
#include "store/http/http.h"
#include "store/http/retry.h"

/* S3 takes 8 KiB of headers: 500 of the shortest metadata. The rest is what else a request bears.
 */
enum { OP_META_HEADERS_MAX = 512, OP_HEADERS_MAX = OP_META_HEADERS_MAX + 32 };

enum op_verb {
#define STORE_OPERATION(name, word) OP_##name,
#include "base/metrics.def"
        OP_VERBS
};

/* What parse() may answer besides 0 (done; the results are in the op) and a negative errno (final).
 * RETRY and SLOW leave in op->fault what is said when the deadline passes. DAMAGED: what arrived is
 * not what its checksum says, and had no effect; it is sent again a few times, then -EBADMSG. */
enum { OP_AGAIN = 1, OP_RETRY = 2, OP_SLOW = 3, OP_DAMAGED = 4 };

/* parse() of OP_COPY answers -EFBIG for a source that one request cannot copy: it is copied in
 * parts. OP_APPEND adds op->body at op->off, the end of version op->if_match, whose metadata has to
 * be op->meta where that is set. OP_RENAME makes op->key of op->src and is asked only of kinds with
 * STORE_CAP_RENAME. OP_SET_META gives op->key, of version op->if_match, the metadata op->meta; it
 * may answer -EFBIG as OP_COPY. */

/* What the server, or else the transport, said of the last try that failed. */
struct op_fault {
        int status;
        char code[64];
        char message[256];
        char request_id[128];
        char permission[48]; /* that the server says is missing, or "" */
        unsigned retry_after_ms;
        const char *remedy; /* of this error alone; NULL: the general one. Static */
};

/* An entry of any listing. Strings are offsets into op->names until the listing is whole. */
struct op_entry {
        size_t key, etag, id;
        uint64_t size;
        int64_t time_ns;
        unsigned partno;
        bool is_prefix;
        bool unsure; /* whether there is anything; the kind's */
        bool told;   /* of a prefix: the object of that name was, or there is none (etag "") */
        size_t meta, nmeta; /* pairs as in struct store_meta, of a kind with STORE_CAP_LIST_META */
        bool partial;       /* not all of them: the object's `missing` */
        uint64_t metageneration; /* the object's */
};

enum { OP_TOKEN_MAX = 33 };

struct op {
        struct http_req rq; /* stays the first field */
        struct store *s;
        enum op_verb verb;
        char region[64];   /* this try was signed for; the kind's */
        int stage;         /* the kind's; 0 at first */
        bool maybe_done;   /* an earlier try may have taken effect unseen */
        bool cleanup_only; /* what was asked is done: what fails now, after a few tries, is the
                              removal of what it leaves behind, and no failure of the op */
        bool waits;        /* for credentials */
        unsigned serial;   /* of the credentials of this try; the kind's */
        bool by_session;   /* they were those of a session; the kind's */
        bool renewed;      /* a part of a batch had them renewed; the kind's */
        int sum;           /* the checksum that this try has beside the body; the kind's */
        unsigned no_sums;  /* those that the server refused of earlier tries; the kind's */
        bool wants_sum;    /* the server asked for one; the kind's */
        bool has_sum64;    /* sum64 is a checksum of `body`; the kind's */
        uint64_t sum64;
        char sum_text[28];        /* the checksum as a header has it; the kind's */
        bool gaps;                /* the parts' numbers have; the kind's */
        bool conflict;            /* an earlier try met another change; the kind's */
        bool foreign;             /* the last try had a header that is not S3's; the kind's */
        bool plain;               /* keys are listed as they are, not encoded; the kind's */
        bool unseen;              /* the reply to a rename was lost; the kind's */
        bool of_source;           /* the condition that failed was on the source; the kind's */
        char token[OP_TOKEN_MAX]; /* of all tries of what is to be done once; the kind's */
        unsigned again_ms;        /* after OP_AGAIN: no sooner than that */
        unsigned wait_ms;         /* before the first try */
        unsigned moves;           /* corrections made since the last success: each kind once */
        unsigned exchanges;
        unsigned tries;
        unsigned damaged; /* tries that arrived otherwise than they were sent */
        bool empty;       /* of a check: no key begins with the prefix */
        bool untrusted;   /* TLS: the server could not prove who it is */
        struct retry retry;
        struct op_fault fault;
        void (*finish)(struct op *op, int err); /* calls the user back */

        /* What is asked. Keys are whole, with the store's prefix. */
        char *key, *src, *src_match, *if_match;
        bool if_absent;
        uint64_t metageneration; /* of version if_match; 0: any */
        struct store_body body;
        struct store_meta *meta;
        uint64_t off, len;
        struct store_upload *up;
        unsigned partno;
        char *prefix, *delim, *continuation, *start_after, *marker;
        unsigned max, least;
        char *page_token;        /* of the page that is asked for: continuation at first */
        struct store_walk *walk; /* the caller's */
        size_t told;             /* entries of the pages before it, and where their strings end */
        size_t told_names;
        char **keys, **versions; /* of the objects to delete; versions NULL: any, also of one */
        size_t nkeys, maxkeys;
        bool copying;   /* an upload that gets copied parts; all are of src, where that is set */
        char *tags;     /* of src, as a header has them; the kind's */
        int upload_sum; /* the kind's: the checksum that the parts of the upload have, or what is
                           added to */
        const char *id; /* of up */

        /* What came. */
        struct store_object obj;
        struct store_object expect; /* what the op means to make; the kind's */
        unsigned nparts;            /* of expect */
        int verify_err;             /* the answer if the object is another, */
        struct op_fault refused;    /* and why; the kind's */
        int head_status;            /* of a head that was refused without a word; the kind's */
        size_t at;                  /* the kind's: how much of a list is done */
        int64_t since_ms;           /* the kind's: since when it waits in vain, */
        unsigned sends;             /* and how often others had moved by then */
        size_t page;                /* where this page's entries begin; the kind's */
        struct buf text;            /* a body to send that the kind made */
        struct buf in;              /* the reply's body, of all but a get */
        struct op_entry *v;
        size_t n, room;
        struct buf names;
        char *next;
        char *upload_id;

        /* Of a get. */
        struct store_get get;
        uint64_t got;
        uint64_t progress; /* got when tries were last counted from anew */
        uint64_t skip;     /* bytes of this try's reply before the first that was asked for */
        uint64_t try_end;  /* offset in the object at which this try's bytes end */
        uint32_t crc;
        bool seen;    /* obj is filled */
        bool begun;   /* this try's reply was looked at */
        bool ignored; /* the range was, in this try, which ended for that */
        bool enough;  /* this try ended when all bytes were there, and more would have come */

        union {
                store_done_fn *object;
                store_list_fn *list;
                store_upload_fn *upload;
                store_parts_fn *parts;
                store_uploads_fn *uploads;
        } done;
        void *arg;
};

struct store_kind;

typedef int op_build_fn(struct store_kind *k, struct op *op);
typedef int op_parse_fn(struct store_kind *k, struct op *op);
struct store_verb {
        /* Fills op->rq from `method` to `body_len`. 0 or a negative errno; -EAGAIN and -EINPROGRESS
         * are those of cred_chain_get(): it is called again soon, until the deadline with the
         * latter. */
        op_build_fn *build;
        op_parse_fn *parse; /* of a whole reply, whatever its status */
};

/* Where a store is, taken from the URL. */
struct store_place {
        const char *bucket;
        const char *prefix; /* "" or with a '/' at its end */
};

struct store_ops {           /* one const table per kind; no slot is NULL */
        const char *scheme;  /* of the URL, "s3" */
        unsigned caps;       /* STORE_CAP_*: ask these, never the scheme */
        uint64_t object_max; /* bytes of the largest object */
        /* Bytes of what follows "scheme://" that name the bucket; the prefix is behind them. */
        size_t (*bucket_len)(const char *text);
        /* 0 or a negative errno with one line in `why`. */
        int (*open)(const struct store_config *cfg, const struct store_place *place,
                    struct store_kind **out, char *why, size_t nwhy);
        void (*close)(struct store_kind *k);
        const char *(*ca_bundle)(const struct store_kind *k, const char *arg); /* or NULL */
        /* Appends where the bucket is reached, "https://HOST[:PORT]". */
        void (*server)(struct store_kind *k, struct buf *url);
        /* The permission that a verb needs, for who was denied; "" not known. */
        const char *(*permission)(const struct store_kind *k, enum op_verb verb);
        void (*renew)(struct store_kind *k); /* asks for credentials anew */
        void (*credentials)(struct store_kind *k, struct store_credentials *out);
        void (*secret_file)(struct store_kind *k, char *out, size_t n); /* where they are from */
        /* Why the bucket takes no files, a constant; NULL: it does; store_no_reason. */
        const char *(*no_writes)(const struct store_kind *k);
        /* Capabilities that are known only now. */
        unsigned (*more_caps)(const struct store_kind *k);
        /* Whether the server takes the key of a part's source, which has this in it, for another;
         * store_no_misreading. */
        bool (*misreads)(const struct store_kind *k, const char *key);
        /* Whether the server wants the rate of requests to grow as rate_ramp.h says. */
        bool (*ramps)(const struct store_kind *k);
        /* Whether a copy or a change of metadata begins with a question; store_no_question. */
        bool (*asks_first)(const struct store_kind *k, const struct op *op);
        /* Fills `out` from the headers of a reply that carries an object (head, get). */
        void (*object)(struct store_kind *k, const struct http_req *rq, struct store_object *out);
        /* One line on why an op failed with err: cause, then remedy. */
        void (*explain)(struct store_kind *k, const struct op *op, int err, char *why, size_t nwhy);
        struct store_verb verb[OP_VERBS];
};

extern const struct store_ops store_s3, store_gcs;

/* For slots a kind has no use for: -EOPNOTSUPP. */
int store_no_build(struct store_kind *k, struct op *op);
int store_no_parse(struct store_kind *k, struct op *op);
const char *store_no_reason(const struct store_kind *k);
bool store_no_ramp(const struct store_kind *k);
bool store_no_question(const struct store_kind *k, const struct op *op);
bool store_no_misreading(const struct store_kind *k, const char *key);
size_t store_plain_bucket(const char *text); /* up to the first '/' */

/* Says in op->fault that cred_chain_get() gave none: the errno for build(). */
int op_no_credentials(struct op *op, int err, const char *why);
/* Says that the reply to a head has no length; returns -EIO. */
int op_no_length(struct op *op);
/* Whether the server refuses to make the object, */
bool op_is_refused(int err);
/* and whether it may do so since an earlier try has made it, whose reply was lost: then a condition
 * does not hold any more, what is retained would be replaced, or a quota is full. */
bool op_may_be_ours(const struct op *op, int err);
/* A refusal, or a question that came before, is looked into. */
void op_look_into(struct op *op, int err);
/* It was one: the error, with the server's words. */
int op_refusal(struct op *op);
/* Of a get: what the Range header asks for. False: it needs none, since all of the object is
 * wanted.
 */
enum { OP_RANGE_MAX = 64 };
bool op_get_range(const struct op *op, char text[OP_RANGE_MAX]);
/* Adds an entry to op->v; strings may be NULL. 0 or -ENOMEM. */
int op_add_entry(struct op *op, const struct op_entry *e, const char *key, const char *etag,
                 const char *id);
/* Gives an entry another key and ETag. 0 or -ENOMEM. */
int op_rename_entry(struct op *op, struct op_entry *e, const char *key, const char *etag);
/* Forgets what an earlier try read of this page. */
void op_begin_page(struct op *op);
/* Keeps metadata for an entry that is about to be added: sets e->meta, e->nmeta and e->partial. 0
 * or -ENOMEM. */
int op_copy_meta(struct op *op, struct op_entry *e, const struct store_meta *meta);
/* meta.c: store_meta_add() of a pair that a bucket holds as metadata, which names no header. */
int meta_add_user(struct store_meta *m, const char *name, const char *value);
/* What a header's name may be made of, in lower case. */
#define META_TOKEN "abcdefghijklmnopqrstuvwxyz0123456789-_.!#$%&'*+^`|~"
/* Whether a media type is what a store says of an object that was given none: it is not kept. */
bool meta_is_usual_type(const char *type);
/* Whether each pair of `want` is in `have`, too, but for a usual type. */
bool meta_has_all(const struct store_meta *have, const struct store_meta *want);
/* The same but for headers: the storage class is not copied with the metadata, and usual types are
 * not kept. */
bool meta_has_user(const struct store_meta *have, const struct store_meta *want);
/* A string of an entry. */
const char *op_string(const struct op *op, size_t at);

#endif
