/* SPDX-License-Identifier: Apache-2.0 */
/* op_publish.c: when the bytes of open files are published: fsync, and the close that leaves the
 * file open nowhere. Which close that is only /proc tells, at the price of a system call for each
 * descriptor of the process. So closes wait while there are other requests to take, and are then
 * looked at together. */
#include "mount/op.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/log.h"
#include "mount/holders.h"
#include "mount/procfd.h"

#include "base/banned.h"

enum { CLOSES_MOST = 16 };

/* A close that is not looked at yet. */
struct op_close {
        struct op_close *next;
        fuse_req_t req;
        struct handle *h;
};

struct publish {
        struct file_commit commit;
        fuse_req_t req;
};

/* The kernel keeps the file open until it has the reply. */
static void published(struct file_commit *c, int err, const struct store_object *obj)
{
        struct publish *p = (struct publish *)c;
        (void)obj;
        fuse_reply_err(p->req, -err);
        free(p);
}

static void publish(fuse_req_t req, struct handle *h)
{
        struct publish *p = malloc(sizeof *p);
        if (!p) {
                fuse_reply_err(req, ENOMEM);
                return;
        }
        *p = (struct publish){.commit.done = published, .req = req};
        file_commit(h->file, &h->user, &p->commit);
}

static void end_close(const struct op_close *c, struct procview *view)
{
        const struct mount *m = op_mount(c->req);
        struct handle *h = c->h;
        pid_t pid = fuse_req_ctx(c->req)->pid;
        enum closing is = holders_close(h->holders, pid, h->node->ino, view);

        if (is != CLOSE_LEAVES && m->params.on_kill == ON_KILL_PUBLISH)
                is = CLOSE_LAST;
        if (is == CLOSE_KILLED || is == CLOSE_BYSTANDER) {
                log_info("process %d %s: what was written is not published", (int)pid,
                         is == CLOSE_KILLED
                                 ? "was ended by a signal"
                                 : "inherited a file whose writer was ended by a signal");
                fuse_reply_err(c->req, EINTR); /* release aborts it, unless others go on writing */
        } else if (is == CLOSE_LEAVES) {
                fuse_reply_err(c->req, 0);
        } else {
                publish(c->req, h);
        }
}

void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
        struct mount *m = op_mount(req);
        struct handle *h = (struct handle *)(uintptr_t)fi->fh;
        struct op_close *c = NULL;
        (void)ino;

        if (!h->file || !file_owes(h->file, &h->user)) {
                fuse_reply_err(req, 0);
                return;
        }
        c = malloc(sizeof *c);
        if (!c) {
                fuse_reply_err(req, ENOMEM);
                return;
        }
        *c = (struct op_close){.req = req, .h = h};
        pthread_mutex_lock(&m->closes.mtx);
        *m->closes.last = c;
        m->closes.last = &c->next;
        bool full = ++m->closes.n >= CLOSES_MOST;
        pthread_mutex_unlock(&m->closes.mtx);
        if (full)
                op_end_closes(m);
}

bool op_has_closes(struct mount *m)
{
        pthread_mutex_lock(&m->closes.mtx);
        bool has = m->closes.list && !m->closes.busy;
        pthread_mutex_unlock(&m->closes.mtx);
        return has;
}

static void end_list(struct mount *m, struct op_close *list)
{
        struct procview view = {.dev = m->dev};

        while (list) {
                struct op_close *c = list;
                list = c->next;
                end_close(c, &view);
                free(c);
        }
        procview_release(&view);
}

/* One thread at a time: a close by a process that was killed comes before that of its heir. */
void op_end_closes(struct mount *m)
{
        pthread_mutex_lock(&m->closes.mtx);
        bool others = m->closes.busy;
        while (!others && m->closes.list) {
                struct op_close *list = m->closes.list;
                m->closes.list = NULL;
                m->closes.last = &m->closes.list;
                m->closes.n = 0;
                m->closes.busy = true;
                pthread_mutex_unlock(&m->closes.mtx);
                end_list(m, list);
                pthread_mutex_lock(&m->closes.mtx);
                m->closes.busy = false;
        }
        pthread_mutex_unlock(&m->closes.mtx);
}

void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
        struct handle *h = (struct handle *)(uintptr_t)fi->fh;
        (void)ino;
        (void)datasync;

        if (h->file && file_owes(h->file, &h->user))
                publish(req, h);
        else
                fuse_reply_err(req, 0);
}
