/* SPDX-License-Identifier: Apache-2.0 */
/* test_unpickle.c: pickles as checkpoints have them, cut off, damaged, and made to do harm. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/format/pickle.h"
#include "bench/format/unpickle.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

/* A pickle, read from a copy of just its size. */
struct reading {
        char *p;
        struct unpickled *all;
        const struct value *root;
        char why[200];
};

static int read_pickle(struct reading *r, const char *p, size_t n)
{
        *r = (struct reading){.p = malloc(n ? n : 1)};
        ck_assert_ptr_nonnull(r->p);
        memcpy(r->p, p, n);
        return unpickle(r->p, n, &r->all, &r->root, r->why, sizeof r->why);
}

static void reading_release(struct reading *r)
{
        unpickled_free(r->all);
        free(r->p);
}

#define BYTES(text) text, sizeof(text) - 1

static const struct {
        const char *p;
        size_t n;
        const char *why;
} refused[] = {
        {BYTES(""), "ends early"},
        {BYTES("N"), "ends early"},
        {BYTES("\x80"), "middle of a number"},
        {BYTES("\x80\x01N."), "protocol"},
        {BYTES("\x80\x06N."), "protocol"},
        {BYTES("\x95\1\0\0"), "middle of a number"},
        {BYTES("."), "without a value"},
        {BYTES("N(."), "without a value"},
        {BYTES("0"), "takes away"},
        {BYTES("K"), "middle of a number"},
        {BYTES("M\1"), "middle of a number"},
        {BYTES("J\1\1\1"), "middle of a number"},
        {BYTES("G\1\1\1\1\1\1\1"), "middle of a number"},
        {BYTES("\x8a"), "middle of a number"},
        {BYTES("\x8a\x02\1"), "more than 64 bits"},
        {BYTES("\x8a\x0a\1\1\1\1\1\1\1\1\1\1."), "more than 64 bits"},
        {BYTES("\x8a\x09\1\1\1\1\1\1\1\1\1."), "more than 64 bits"},
        {BYTES("\x8a\x09\1\1\1\1\1\1\1\x80\0."), "more than 64 bits"},
        {BYTES("X\xff\xff\xff\xff"
               "a."),
         "middle of a text"},
        {BYTES("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
               "a."),
         "middle of a text"},
        {BYTES("\x8c\x02"
               "a"),
         "middle of a text"},
        {BYTES("ctorch"), "has no name"},
        {BYTES("ctorch\nfloat32"), "has no name"},
        {BYTES("cos\nsystem\n."), "os.system, which no checkpoint needs"},
        {BYTES("ctorchx\nsystem\n."), "which no checkpoint needs"},
        {BYTES("cbuiltins\neval\n."), "which no checkpoint needs"},
        {BYTES("\x8c\x02os\x8c\x06system\x93."), "os.system, which no checkpoint needs"},
        {BYTES("c\n\n."), "which no checkpoint needs"},
        {BYTES("NN\x93."), "has no name"},
        {BYTES("\x93."), "has no name"},
        {BYTES("t"), "mark that it did not set"},
        {BYTES("1"), "mark that it did not set"},
        {BYTES("Nu"), "mark that it did not set"},
        {BYTES("NN\x87."), "combines values that are not there"},
        {BYTES("NN(\x86."), "combines values that are not there"},
        {BYTES("Q"), "combines values that are not there"},
        {BYTES("(Nd."), "key without a value"},
        {BYTES("}(Nu."), "key without a value"},
        {BYTES("(e"), "adds to something that is not there"},
        {BYTES("a"), "adds to something that is not there"},
        {BYTES("NNs"), "adds to something that is not there"},
        {BYTES("NNa"), "holds no values"},
        {BYTES("](NNu"), "holds no values"},
        {BYTES("}(Ne"), "holds no values"},
        {BYTES("R"), "calls what is not there"},
        {BYTES("NNR"), "no function"},
        {BYTES("ctorch\nSize\nNR"), "no function"},
        {BYTES("b"), "gives a state to what is not there"},
        {BYTES("NNb"), "gives a state to what has none"},
        {BYTES("ctorch\nSize\n)RNbNb."), "gives a state to what has none"},
        {BYTES("q\0"), "remembers what is not there"},
        {BYTES("Nr\xff\xff\xff\xff."), "remembers what is not there"},
        {BYTES("Nh\0."), "recalls what it did not remember"},
        {BYTES("Nq\1h\0."), "recalls what it did not remember"},
        {BYTES("Nj\xff\xff\xff\xff."), "recalls what it did not remember"},
        {BYTES("2"), "operation 0x32 is none"},
        {BYTES("\x92"), "operation 0x92 is none"},
        {BYTES("\x97"), "operation 0x97 is none"},
};
START_TEST(what_is_wrong_is_said)
{
        struct reading r;
        ck_assert_int_eq(read_pickle(&r, refused[_i].p, refused[_i].n), -EBADMSG);
        ck_assert_msg(strstr(r.why, refused[_i].why), "case %d: %s", _i, r.why);
        reading_release(&r);
}
END_TEST

static const struct {
        const char *p;
        size_t n;
        int64_t v;
} numbers[] = {
        {BYTES("K\xff."), 255},
        {BYTES("M\xff\xff."), 65535},
        {BYTES("J\xff\xff\xff\xff."), -1},
        {BYTES("\x8a\0."), 0},
        {BYTES("\x8a\1\xff."), -1},
        {BYTES("\x8a\2\xff\0."), 255},
        {BYTES("\x8a\x08\0\0\0\0\0\0\0\x80."), INT64_MIN},
        {BYTES("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\0."), INT64_MAX},
        {BYTES("\x80\x02\x88."), 1},
};
START_TEST(numbers_are_what_python_means)
{
        struct reading r;
        uint64_t u = 0;

        ck_assert_int_eq(read_pickle(&r, numbers[_i].p, numbers[_i].n), 0);
        ck_assert_int_eq(r.root->kind, VALUE_INT);
        ck_assert_int_eq(r.root->i, numbers[_i].v);
        ck_assert_int_eq(value_uint(r.root, &u), numbers[_i].v < 0 ? -EBADMSG : 0);
        reading_release(&r);
}
END_TEST

START_TEST(values_stand_where_they_were_put)
{
        struct reading r;

        ck_assert_int_eq(read_pickle(&r, BYTES("]q\0h\0a.")), 0); /* a list that holds itself */
        ck_assert_ptr_eq(value_at(r.root, 0), r.root);
        ck_assert_ptr_null(value_at(r.root, 1));
        reading_release(&r);
        ck_assert_int_eq(read_pickle(&r, BYTES("](e.")), 0); /* nothing is added */
        ck_assert_uint_eq(r.root->n, 0);
        reading_release(&r);
        ck_assert_int_eq(read_pickle(&r, BYTES("}X\1\0\0\0aK\x07s.")), 0);
        ck_assert_int_eq(value_get(r.root, "a")->i, 7);
        ck_assert_ptr_null(value_get(r.root, "b"));
        reading_release(&r);
        ck_assert_int_eq(read_pickle(&r, BYTES("ccollections\nOrderedDict\n)R.")), 0);
        ck_assert_int_eq(r.root->kind, VALUE_DICT);
        reading_release(&r);
        ck_assert_int_eq(read_pickle(&r, BYTES("ctorch\nSize\nK\1K\2\x86\x85R.")), 0);
        ck_assert(value_is_call(r.root, "torch", "Size"));
        ck_assert_int_eq(value_at(value_at(value_at(r.root, 1), 0), 1)->i, 2);
        reading_release(&r);
}
END_TEST

/* Whether it ends well does not matter: a sanitizer looks on. */
static void survive(const char *p, size_t n)
{
        struct reading r;
        int err = read_pickle(&r, p, n);

        ck_assert(!err || err == -EBADMSG);
        ck_assert((err == 0) == (r.root != NULL));
        reading_release(&r);
}

START_TEST(a_damaged_pickle_is_survived)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        struct reading r;

        pickle_begin(&b);
        pickle_empty_dict(&b);
        pickle_mark(&b);
        for (unsigned i = 0; i < 3; i++) {
                pickle_string(&b, "key");
                pickle_global(&b, "torch._utils", "_rebuild_tensor_v2");
                pickle_int(&b, 1ULL << (20 * i));
                pickle_none(&b);
                pickle_bool(&b, i);
                pickle_tuple_of(&b, 3);
                pickle_call(&b);
                pickle_empty_dict(&b);
                pickle_state(&b);
                pickle_persistent(&b);
        }
        pickle_set_items(&b);
        pickle_end(&b);
        ck_assert_int_eq(read_pickle(&r, b.p, b.len), 0);
        reading_release(&r);
        for (size_t n = 0; n < b.len; n++) {
                ck_assert_int_eq(read_pickle(&r, b.p, n), -EBADMSG);
                reading_release(&r);
        }
        for (size_t bit = 0; bit < 8 * b.len; bit++) {
                b.p[bit / 8] ^= (char)(1 << bit % 8);
                survive(b.p, b.len);
                b.p[bit / 8] ^= (char)(1 << bit % 8);
        }
}
END_TEST

START_TEST(what_grows_is_bounded)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        struct reading r;

        for (unsigned i = 0; i <= 1 << 16; i++)
                buf_addc(&b, '(');
        ck_assert_int_eq(read_pickle(&r, b.p, b.len), -EBADMSG);
        ck_assert_ptr_nonnull(strstr(r.why, "nested too deeply"));
        reading_release(&r);
        /* a size that is refused before a byte is looked at */
        ck_assert_int_eq(
                unpickle(b.p, (size_t)UNPICKLE_MAX + 1, &r.all, &r.root, r.why, sizeof r.why),
                -EBADMSG);
        /* an object with more fields than any has is not looked through */
        buf_reset(&b);
        buf_addc(&b, '}');
        for (unsigned i = 0; i <= VALUE_FIELDS; i++)
                buf_add(&b, BYTES("X\1\0\0\0aNs"));
        pickle_end(&b);
        ck_assert_int_eq(read_pickle(&r, b.p, b.len), 0);
        ck_assert_ptr_null(value_get(r.root, "a"));
        reading_release(&r);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("unpickle");
        TCase *t = tcase_create("unpickle");
        tcase_add_loop_test(t, what_is_wrong_is_said, 0, sizeof refused / sizeof refused[0]);
        tcase_add_loop_test(t, numbers_are_what_python_means, 0,
                            sizeof numbers / sizeof numbers[0]);
        tcase_add_test(t, values_stand_where_they_were_put);
        tcase_add_test(t, a_damaged_pickle_is_survived);
        tcase_add_test(t, what_grows_is_bounded);
        suite_add_tcase(s, t);
        return unit_main(s);
}
