/* SPDX-License-Identifier: Apache-2.0 */
/* test_unzip.c: archives as torch.save() writes them, cut off, damaged, and made to do harm. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/format/unzip.h"
#include "bench/format/zip.h"
#include "tests/lib/memsource.h"

#include "base/banned.h"

static const char *const names[] = {"a/data.pkl", "a/data/0", "a/version"};
static const char *const bytes[] = {"N.", "0123456789", "3\n"};
enum { MEMBERS = 3, END_SIZE = 22, CENTRAL_SIZE = 46 };

static void make_archive(struct buf *out)
{
        CLEANUP(layout_release) struct layout l = LAYOUT_INIT;
        struct zip z;

        zip_begin(&z, &l);
        for (unsigned i = 0; i < MEMBERS; i++)
                zip_entry_text(&z, names[i], bytes[i], strlen(bytes[i]));
        zip_end(&z);
        ck_assert(!l.failed);
        ck_assert_int_eq(buf_add(out, l.text.p, l.text.len), 0);
}

/* Directory and places; what comes out of it lies in the file. */
static int read_all(struct memsource *m, struct unzip *z, char *why, size_t nwhy)
{
        struct zip_member *v[MEMBERS] = {NULL};

        *z = (struct unzip){0};
        int err = unzip_read(&m->s, z, why, nwhy);
        if (err)
                return err;
        size_t n = z->n < MEMBERS ? z->n : MEMBERS;
        for (size_t i = 0; i < n; i++)
                v[i] = &z->v[i];
        err = unzip_locate(&m->s, v, n, why, nwhy);
        for (size_t i = 0; i < n && !err; i++) {
                ck_assert_uint_le(v[i]->data, m->s.size);
                ck_assert_uint_le(v[i]->size, m->s.size - v[i]->data);
        }
        return err;
}

static int try_archive(const char *p, size_t n, char why[200])
{
        struct memsource m;
        struct unzip z;

        *why = 0;
        memsource_init(&m, p, n);
        int err = read_all(&m, &z, why, 200);
        unzip_release(&z);
        free(m.p);
        return err;
}

START_TEST(members_of_an_archive_are_found)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        struct memsource m;
        struct unzip z;
        char why[200];
        const char *root;
        size_t nroot;

        make_archive(&b);
        memsource_init(&m, b.p, b.len);
        ck_assert_int_eq(read_all(&m, &z, why, sizeof why), 0);
        ck_assert_uint_eq(z.n, MEMBERS);
        for (unsigned i = 0; i < MEMBERS; i++) {
                const struct zip_member *e = unzip_find(&z, names[i], strlen(names[i]));
                ck_assert_ptr_nonnull(e);
                ck_assert_uint_eq(e->size, strlen(bytes[i]));
                ck_assert_mem_eq(m.p + e->data, bytes[i], e->size);
        }
        ck_assert_ptr_null(unzip_find(&z, "a/data", 6));
        ck_assert_ptr_null(unzip_find(&z, "", 0));
        ck_assert_int_eq(unzip_root(&z, &root, &nroot), 0);
        ck_assert_uint_eq(nroot, 2);
        ck_assert_mem_eq(root, "a/", 2);
        unzip_release(&z);
        free(m.p);
}
END_TEST

START_TEST(a_damaged_archive_is_survived)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        char why[200];

        make_archive(&b);
        for (size_t n = 0; n < b.len; n++)
                ck_assert_int_eq(try_archive(b.p, n, why), -EBADMSG);
        for (size_t bit = 0; bit < 8 * b.len; bit++) {
                b.p[bit / 8] ^= (char)(1 << bit % 8);
                int err = try_archive(b.p, b.len, why);
                ck_assert(!err || err == -EBADMSG);
                b.p[bit / 8] ^= (char)(1 << bit % 8);
        }
}
END_TEST

START_TEST(errors_of_reading_are_passed_on)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        char why[200];
        unsigned reads = 0;
        int err = -EIO;

        make_archive(&b);
        for (; err; reads++) {
                struct memsource m;
                struct unzip z;
                memsource_init(&m, b.p, b.len);
                m.reads = reads;
                err = read_all(&m, &z, why, sizeof why);
                ck_assert(!err || err == -EIO);
                unzip_release(&z);
                free(m.p);
        }
        ck_assert_uint_eq(reads, 4); /* tail, directory, headers; then all succeed */
}
END_TEST

static void put(char *p, uint64_t v, unsigned n)
{
        for (unsigned i = 0; i < n; i++)
                p[i] = (char)(v >> (8 * i));
}

/* Fields of the end, or of the first entry of the directory, that say something else. */
enum where { END, ENTRY };
static const struct {
        enum where where;
        unsigned at, n;
        uint64_t v;
        const char *why;
} lies[] = {
        {END, 10, 2, 0xffff, "cannot be that large"},
        {END, 10, 2, 4, "cannot be that large"},
        {END, 12, 4, 0xffffffff, "cannot be that large"},
        {END, 12, 4, 0xfffff, "cannot be that large"},
        {END, 16, 4, 0xffffffff, "cannot be that large"},
        {END, 16, 4, 1, "entry 0"},
        {END, 20, 2, 1, "no end of a zip archive"},
        {ENTRY, 8, 2, 1, "entry 0"},  /* encrypted */
        {ENTRY, 10, 2, 8, "entry 0"}, /* deflated */
        {ENTRY, 20, 4, 3, "entry 0"}, /* packed otherwise than its size */
        {ENTRY, 28, 2, 0xffff, "entry 0"},
        {ENTRY, 30, 2, 0xffff, "entry 0"},
        {ENTRY, 32, 2, 0xffff, "entry 0"},
        {ENTRY, 42, 4, 0xfffffff0, "entry 0"},
        {ENTRY, 42, 4, 0xffffffff, "entry 0"},
        {ENTRY, 42, 4, 1, "not where its directory says"},
};
START_TEST(a_directory_that_lies_is_refused)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        char why[200];

        make_archive(&b);
        char *end = b.p + b.len - END_SIZE;
        size_t central = (unsigned char)end[16] | (size_t)(unsigned char)end[17] << 8;
        put((lies[_i].where == END ? end : b.p + central) + lies[_i].at, lies[_i].v, lies[_i].n);
        ck_assert_int_eq(try_archive(b.p, b.len, why), -EBADMSG);
        ck_assert_msg(strstr(why, lies[_i].why), "case %d: %s", _i, why);
}
END_TEST

START_TEST(entries_that_overlap_are_refused)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        char why[200];

        make_archive(&b);
        char *end = b.p + b.len - END_SIZE;
        size_t at = (unsigned char)end[16] | (size_t)(unsigned char)end[17] << 8;
        for (unsigned i = 0; i < MEMBERS; i++) { /* each is the whole file */
                put(b.p + at + 20, b.len, 4);
                put(b.p + at + 24, b.len, 4);
                at += CENTRAL_SIZE + strlen(names[i]);
        }
        ck_assert_int_eq(try_archive(b.p, b.len, why), -EBADMSG);
        ck_assert_msg(strstr(why, "overlap"), "%s", why);
}
END_TEST

/* --- zip64 --- */

static void add(struct buf *b, uint64_t v, unsigned n)
{
        char p[8];
        put(p, v, n);
        ck_assert_int_eq(buf_add(b, p, n), 0);
}

/* One entry, "x", all of whose numbers stand where zip64 has them; `fields` of its three are there.
 */
static void make_zip64(struct buf *b, unsigned fields)
{
        const uint64_t values[] = {4, 4, 0};

        buf_add(b, "PK\x03\x04", 4);
        for (unsigned i = 0; i < 22; i++)
                buf_addc(b, 0);
        add(b, 1, 2);
        add(b, 0, 2);
        buf_adds(b, "xdata");
        size_t central = b->len;
        buf_add(b, "PK\x01\x02", 4);
        for (unsigned i = 0; i < 16; i++)
                buf_addc(b, 0);
        add(b, 0xffffffff, 4);
        add(b, 0xffffffff, 4);
        add(b, 1, 2);
        add(b, 4 + 8 * fields, 2);
        for (unsigned i = 0; i < 10; i++)
                buf_addc(b, 0);
        add(b, 0xffffffff, 4);
        buf_addc(b, 'x');
        add(b, 1, 2);
        add(b, 8 * fields, 2);
        for (unsigned i = 0; i < fields; i++)
                add(b, values[i], 8);
        size_t end64 = b->len;
        buf_add(b, "PK\x06\x06", 4);
        add(b, 44, 8);
        for (unsigned i = 0; i < 12; i++)
                buf_addc(b, 0);
        add(b, 1, 8);
        add(b, 1, 8);
        add(b, end64 - central, 8);
        add(b, central, 8);
        buf_add(b, "PK\x06\x07", 4);
        add(b, 0, 4);
        add(b, end64, 8);
        add(b, 1, 4);
        buf_add(b, "PK\x05\x06", 4);
        add(b, 0, 4);
        add(b, 0xffff, 2);
        add(b, 0xffff, 2);
        add(b, 0xffffffff, 4);
        add(b, 0xffffffff, 4);
        add(b, 0, 2);
}

START_TEST(numbers_of_zip64_count)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        struct memsource m;
        struct unzip z;
        char why[200] = "";

        make_zip64(&b, 3);
        memsource_init(&m, b.p, b.len);
        ck_assert_msg(read_all(&m, &z, why, sizeof why) == 0, "%s", why);
        ck_assert_uint_eq(z.v[0].size, 4);
        ck_assert_mem_eq(m.p + z.v[0].data, "data", 4);
        unzip_release(&z);
        free(m.p);
        for (unsigned fields = 0; fields < 3; fields++) {
                buf_reset(&b);
                make_zip64(&b, fields);
                ck_assert_int_eq(try_archive(b.p, b.len, why), -EBADMSG);
        }
        buf_reset(&b);
        make_zip64(&b, 3);
        put(b.p + b.len - END_SIZE - 12, UINT64_MAX - 10, 8); /* where the locator points */
        ck_assert_int_eq(try_archive(b.p, b.len, why), -EBADMSG);
        ck_assert_msg(strstr(why, "zip64 end"), "%s", why);
        for (size_t bit = 0; bit < 8 * b.len; bit++) {
                b.p[bit / 8] ^= (char)(1 << bit % 8);
                ck_assert_int_ne(try_archive(b.p, b.len, why), -ENOMEM);
                b.p[bit / 8] ^= (char)(1 << bit % 8);
        }
}
END_TEST

int main(void)
{
        Suite *s = suite_create("unzip");
        TCase *t = tcase_create("unzip");
        tcase_add_test(t, members_of_an_archive_are_found);
        tcase_add_test(t, a_damaged_archive_is_survived);
        tcase_add_test(t, errors_of_reading_are_passed_on);
        tcase_add_loop_test(t, a_directory_that_lies_is_refused, 0, sizeof lies / sizeof lies[0]);
        tcase_add_test(t, entries_that_overlap_are_refused);
        tcase_add_test(t, numbers_of_zip64_count);
        suite_add_tcase(s, t);
        return unit_main(s);
}
