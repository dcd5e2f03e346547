/* SPDX-License-Identifier: Apache-2.0 */
/* node.c: what is known of the version that a node is of. See tree.h. */
#include "mount/tree/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

enum { SECOND = 1000000000 };

int64_t tree_time(int64_t ns)
{
        return ns / SECOND * SECOND;
}

bool tree_fresh_locked(const struct node *n) REQUIRES(tree_mutex)
{
        return tree_now_ns() < n->fresh_until;
}

int tree_set_etag_locked(struct node *n, const char *etag) REQUIRES(tree_mutex)
{
        char *copy = strdup(etag);

        if (!copy)
                return -ENOMEM;
        free(n->etag);
        n->etag = copy;
        return 0;
}

bool tree_other_locked(const struct node *n, const struct node_info *info) REQUIRES(tree_mutex)
{
        return !n->dir && *n->etag && *info->etag && strcmp(n->etag, info->etag);
}

static void set_attr_locked(struct node *n, const struct attr *a) REQUIRES(tree_mutex)
{
        struct attr copy = attr_copy(a);
        attr_move(&n->attr, &copy);
        n->attr_known = true;
        if (n->attr_base)
                tree_note_attr_locked(n);
}

/* Without memory all that it has counts as changed here. */
void tree_note_attr_locked(struct node *n) REQUIRES(tree_mutex)
{
        struct attr now = attr_copy(&n->attr);

        if (!n->attr_base)
                n->attr_base = calloc(1, sizeof *n->attr_base);
        if (n->attr_base)
                attr_move(n->attr_base, &now);
        attr_release(&now);
}

void tree_drop_attr_base(struct node *n)
{
        if (n->attr_base)
                attr_release(n->attr_base);
        free(TAKE_PTR(n->attr_base));
}

/* What was changed here and not sent yet stays. A listing that shows another version than the one
 * the attributes are of takes them away, so that the object is asked: but not from a file that is
 * open, which shows them without asking, and whose next commit carries them. */
static void take_attr_locked(struct node *n, const struct node_info *info) REQUIRES(tree_mutex)
{
        if (n->attr_now != n->attr_saved)
                return;
        if (info->attr) {
                set_attr_locked(n, info->attr);
        } else if (!n->dir && !n->file && !n->nreaders &&
                   (!n->etag || strcmp(n->etag, info->etag) ||
                    n->mtime_ns != tree_time(info->mtime_ns))) {
                attr_release(&n->attr);
                n->attr_known = false;
        }
}

void tree_learn_attr_locked(struct node *n, const struct node_info *info) REQUIRES(tree_mutex)
{
        if (!n->attr_known && info->attr)
                set_attr_locked(n, info->attr);
}

int tree_set_info_locked(struct tree *t, struct node *n, const struct node_info *info)
        REQUIRES(tree_mutex)
{
        int64_t now = tree_now_ns(), asked = info->asked_ns ? info->asked_ns : now;
        if (asked < n->known_ns)
                return 0; /* it tells of the past */
        n->known_ns = asked;
        n->stood_ns = info->asked_ns ? asked : n->stood_ns;
        n->fresh_until = (info->done_ns ? info->done_ns : asked) + tree_ttl_ns(t);
        n->published = true;
        take_attr_locked(n, info);
        bool same = n->etag && info->etag[0] && !strcmp(n->etag, info->etag);
        n->mtime_ns = tree_time(info->mtime_ns);
        if (n->dir) {
                n->size = info->size; /* of the marker */
                n->marker = info->attr ? info->marker : n->marker;
                return 0;
        }
        if (same && n->complete && !info->complete)
                return 0; /* a listing knows less of the same version */
        char *etag = strdup(info->etag);
        if (!etag)
                return -1;
        n->turn += !same && *n->etag;
        free(n->etag);
        n->etag = etag;
        n->size = info->size;
        n->complete = info->complete;
        n->has_crc = info->has_crc;
        n->crc32c = info->crc32c;
        return 0;
}
