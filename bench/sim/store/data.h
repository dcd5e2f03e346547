/* SPDX-License-Identifier: Apache-2.0 */
/* data.h: where bytes are: files below one directory, or nowhere (null mode).
 *
 *      DIR/BUCKET/data/HH/ID        a blob: the bytes of one PUT; ID is unique for good, 16 digits
 *      DIR/BUCKET/index/HH/SHA      the record of the object whose key has that SHA-256 (record.h)
 *      DIR/.uploads/ID/meta         the record of an upload, DIR/.uploads/ID/NUMBER of a part
 *      DIR/.tmp/ID                  a record that is being written
 *
 * HH are the last two digits of the name. A blob is written first and seen by nobody until a record
 * that refers to it is renamed into place, so a crash leaves a blob too much at the worst; the next
 * start removes it. Completing an upload and copying write a record and move no bytes. Nothing is
 * fsync'ed: objects survive the end of the process, however it ends, not that of the machine.
 *
 * Thread-safe except for one intake, which belongs to one connection. Calls block on the disk. */
#ifndef CKPTFS_SIM_DATA_H
#define CKPTFS_SIM_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct data;
struct blob;
struct object;

/* `dir` NULL: null mode. The directory is made when it is missing. 0 or a negative errno with one
 * line in `why`: cause, then remedy (-EBUSY: another server has it). */
int data_open(const char *dir, struct data **out, char *why, size_t nwhy);
/* From here on, what is put is refused with -EDQUOT where it would make more than so many bytes.
 * What was there before does not count; null mode keeps none. */
void data_set_quota(struct data *d, uint64_t quota);
/* Blobs stay on disk from here on, whoever lets go of them; all must be let go before. */
void data_leave_files(struct data *d);
void data_close(struct data *d);
bool data_is_null(const struct data *d);
/* A number that no call before gave, in this run or another. */
uint64_t data_next_id(struct data *d);
/* The first of n of them, one after the other. */
uint64_t data_next_ids(struct data *d, uint64_t n);
int data_add_bucket(struct data *d, const char *bucket);
int data_remove_bucket(struct data *d, const char *bucket);

/* Makes the blob of that id, which is on disk already; one reference. NULL: no memory. */
struct blob *blob_new(struct data *d, const char *bucket, uint64_t id);
/* NULL stays NULL. The last reference removes the file. */
struct blob *blob_ref(struct blob *b);
void blob_unref(struct blob *b);
/* A descriptor to read from, the caller's, or a negative errno. */
int blob_open(const struct blob *b);
uint64_t blob_id(const struct blob *b);
const char *blob_bucket(const struct blob *b);
/* The CRC32C of a range, read from the file. */
int blob_crc(const struct blob *b, uint64_t off, uint64_t len, uint32_t *crc);

/* The bytes of one PUT or part on their way in. */
struct intake {
        struct data *data;
        struct blob *blob;
        int fd;
        uint64_t len;
        uint32_t crc; /* data mode */
};
int intake_begin(struct data *d, const char *bucket, struct intake *in);
/* p is not looked at in null mode. */
int intake_write(struct intake *in, const void *p, size_t n);
/* What has been written, for digests over the whole; mapped until intake_cancel() or _finish(). */
int intake_map(const struct intake *in, const void **p);
void intake_unmap(const struct intake *in, const void *p);
/* Ends it: an object without key that holds these bytes. */
int intake_finish(struct intake *in, struct object **out);
/* Forgets the bytes. An intake that has ended, or is all zero, is fine. */
void intake_cancel(struct intake *in);

/* A record that appears or is replaced as a whole. data_stage() writes it aside and names it in
 * `tmp`; data_publish() renames it to `path` (relative to the directory), data_discard() drops it.
 * Null mode: all three do nothing. */
enum { DATA_TMP_MAX = 32, DATA_PATH_MAX = 160 };
int data_stage(struct data *d, const struct buf *text, char tmp[DATA_TMP_MAX]);
int data_publish(struct data *d, const char *tmp, const char *path);
void data_discard(struct data *d, const char *tmp);
int data_mkdir(struct data *d, const char *path);
/* Removes a file, or a directory with the files in it. Absence is fine. */
void data_remove(struct data *d, const char *path);
/* DIR/BUCKET/index/HH/SHA for a key. */
void data_index_path(const char *bucket, const char *key, char path[DATA_PATH_MAX]);

/* Walks the files of a directory, in no order; -ENOENT when there is none. `read` loads the text of
 * each. `fn` may remove the file; it returns 0 to go on. */
typedef int data_walk_fn(void *arg, const char *path, const char *name, struct buf *text);
int data_walk(struct data *d, const char *path, bool read, data_walk_fn *fn, void *arg);
/* The same of the names of directories, except those that begin with a dot. */
int data_walk_dirs(struct data *d, const char *path, data_walk_fn *fn, void *arg);

#endif
