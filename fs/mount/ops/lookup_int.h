/* SPDX-License-Identifier: Apache-2.0 */
/* lookup_int.h: a name that the store is asked for, between op_lookup.c and stat_prefetch.c. */
#ifndef CKPTFS_MOUNT_LOOKUP_INT_H
#define CKPTFS_MOUNT_LOOKUP_INT_H

#include "mount/caller/open_intent.h"
#include "mount/ops/op.h"

struct lookup {
        fuse_req_t req; /* NULL: it is asked for ahead */
        struct request *request;
        struct mount *m;
        struct node *parent; /* of one ahead, pinned */
        char *name;
        char *key;      /* of the object; with '/' behind it, of the directory */
        uint64_t place; /* of `parent`, when the key was made */
        bool asked_head, asked_list, asked_marker;
        bool doubted;     /* that there is anything: to be asked first */
        bool missing;     /* it was not there within attr_ttl */
        bool may_create;  /* the caller makes it if it is not there, */
        bool creates;     /* or whether it is or not */
        struct call call; /* in which, if it may */
        bool was_dir;     /* when it was seen last */
        bool marker;      /* there is one, or may be */
        bool listed;      /* something lies below it */
        int64_t begun;    /* when the store was asked first */
        bool again;
        bool sent_back;    /* who looks the name up was, see heir.h: the store is asked, */
        int64_t since;     /* after this, */
        unsigned tries;    /* so often, */
        struct node *node; /* and when nothing changes this any more; pinned, or NULL */
        struct waiter idle;
        struct name_lock lock;
        struct waiter passed; /* what was found may be on its way to another name */
        struct lookup *next;  /* of those that wait for one ahead, or of those that begin */
        struct lookup *waits; /* of one ahead: who has asked for the same since */
        struct lookup *flying_next;
};

/* A lookup of the name that nobody has asked for yet; NULL: no memory. */
struct lookup *lookup_new(struct mount *m, struct node *parent, const char *name);
void lookup_free(struct lookup *l);
/* The key of the name as it is now: 0 or a negative errno of mount_key(). */
int lookup_make_key(struct lookup *l);

/* Ends it with this error. */
void lookup_fail(struct lookup *l, int err);
/* Asks what has not been asked yet. */
void lookup_ask(struct lookup *l);
/* Replies what is known by now, waits for one ahead that is under way, or asks. */
void lookup_begin(struct lookup *l);

#endif
