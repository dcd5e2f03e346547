/* SPDX-License-Identifier: Apache-2.0 */
/* ceiling_fuse.c: see ceiling_fuse.h. */
#include "bench/scenario/ceiling/ceiling_fuse.h"

#define FUSE_USE_VERSION 314
#include <errno.h>
#include <fuse3/fuse_lowlevel.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

enum { BLOCK = 1 << 20, ROOT = FUSE_ROOT_ID, MAX_BACKGROUND = 64 };

static char hot[BLOCK];
static fuse_ino_t next_ino = 16; /* odd: bypasses the page cache */

static void on_init(void *arg, struct fuse_conn_info *conn)
{
        (void)arg;
        /* plain copies are faster than splice either way */
        conn->want &= ~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
                                  FUSE_CAP_SPLICE_MOVE | FUSE_CAP_AUTO_INVAL_DATA);
        conn->max_background = MAX_BACKGROUND;
}

static struct stat attr_of(fuse_ino_t ino)
{
        if (ino == ROOT)
                return (struct stat){.st_ino = ino, .st_mode = S_IFDIR | 0755, .st_nlink = 2};
        return (struct stat){
                .st_ino = ino, .st_mode = S_IFREG | 0666, .st_nlink = 1, .st_size = NULL_FUSE_SIZE};
}

/* A name looked up again is another, cold, file: entries are not kept. Only fuse_session_loop()
 * runs here, one thread. */
static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
        struct fuse_entry_param e = {.ino = next_ino + (*name == 'd'), .attr_timeout = 60};
        if (parent != ROOT || *name == '.') {
                fuse_reply_err(req, ENOENT);
                return;
        }
        next_ino += 2;
        e.attr = attr_of(e.ino);
        fuse_reply_entry(req, &e);
}

static void on_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
        (void)ino;
        (void)n;
        fuse_reply_none(req);
}

static void on_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
        (void)fi;
        struct stat st = attr_of(ino);
        fuse_reply_attr(req, &st, 60);
}

static void on_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int set,
                       struct fuse_file_info *fi)
{
        (void)st;
        (void)set;
        on_getattr(req, ino, fi);
}

static void on_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
        fi->direct_io = ino & 1;
        fuse_reply_open(req, fi);
}

static void on_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                    struct fuse_file_info *fi)
{
        (void)ino;
        (void)off;
        (void)fi;
        fuse_reply_buf(req, hot, size < sizeof hot ? size : sizeof hot);
}

static void on_write_buf(fuse_req_t req, fuse_ino_t ino, struct fuse_bufvec *in, off_t off,
                         struct fuse_file_info *fi)
{
        (void)ino;
        (void)off;
        (void)fi;
        fuse_reply_write(req, fuse_buf_size(in));
}

static void on_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
        (void)ino;
        (void)fi;
        fuse_reply_err(req, 0);
}

static const struct fuse_lowlevel_ops ops = {
        .init = on_init,
        .lookup = on_lookup,
        .forget = on_forget,
        .getattr = on_getattr,
        .setattr = on_setattr,
        .open = on_open,
        .read = on_read,
        .write_buf = on_write_buf,
        .flush = on_flush,
        .release = on_flush,
};

int null_fuse_main(const char *dir)
{
        char *argv[] = {(char *)"ckptbench", (char *)"-ofsname=ckptbench,subtype=null", NULL};
        struct fuse_args args = FUSE_ARGS_INIT(2, argv);
        struct fuse_session *se = fuse_session_new(&args, &ops, sizeof ops, NULL);
        int status = 1;

        memset(hot, 'x', sizeof hot);
        if (!se)
                return 1;
        if (!fuse_set_signal_handlers(se)) {
                if (!fuse_session_mount(se, dir)) {
                        puts("mounted");
                        fflush(stdout);
                        status = fuse_session_loop(se) < 0;
                        fuse_session_unmount(se);
                }
                fuse_remove_signal_handlers(se);
        }
        fuse_session_destroy(se);
        return status;
}
