/* SPDX-License-Identifier: Apache-2.0 */
/* test_part_plan.c: the sizes of parts, and what commits send. */
#include "mount/write/part_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

#define MiB (1ULL << 20)
#define GiB (1ULL << 30)
#define TiB (1ULL << 40)

static const struct {
        uint64_t part_size, memory;
        unsigned no;
        uint64_t bytes;
} sizes[] = {
        {16 * MiB, 2 * GiB, 1, 16 * MiB},
        {16 * MiB, 2 * GiB, 900, 16 * MiB},
        {16 * MiB, 2 * GiB, 901, 32 * MiB},
        {16 * MiB, 2 * GiB, 1801, 64 * MiB},
        {16 * MiB, 2 * GiB, 10000, 1024 * MiB}, /* half of the memory */
        {16 * MiB, 512 * MiB, 10000, 256 * MiB},
        {5 * MiB, 64 * MiB, 10000, 32 * MiB},
        {6 * MiB + 12345, 2 * GiB, 1, 6 * MiB}, /* whole MiB */
        {512 * MiB, 64 * MiB, 1, 32 * MiB},     /* memory comes first */
        {512 * MiB, 1 * TiB, 10000, STORE_PART_SIZE_MAX},
};

START_TEST(parts_double_up_to_half_of_the_memory)
{
        struct part_plan p = part_plan(sizes[_i].part_size, sizes[_i].memory);
        ck_assert_uint_eq(part_plan_bytes(&p, sizes[_i].no), sizes[_i].bytes);
}
END_TEST

START_TEST(parts_never_shrink_and_are_never_too_small)
{
        struct part_plan p = part_plan(5 * MiB, 64 * MiB);
        uint64_t before = STORE_PART_SIZE_MIN;
        for (unsigned no = 1; no <= STORE_PART_MAX; no++) {
                uint64_t bytes = part_plan_bytes(&p, no);
                ck_assert_uint_ge(bytes, before);
                before = bytes;
        }
}
END_TEST

START_TEST(sixteen_mib_parts_in_two_gib_reach_five_tib)
{
        struct part_plan p = part_plan(16 * MiB, 2 * GiB);
        ck_assert_uint_ge(part_plan_reach(&p), 5 * TiB);
}
END_TEST

/* Five TiB is the largest object of Google Cloud Storage, written as a stream or appended to where
 * a copied part is the whole object. */
START_TEST(five_tib_are_written_and_grow_on_a_store_of_whole_copies)
{
        struct part_plan p = part_plan(16 * MiB, 2 * GiB);
        struct part_anchor a = {.origin = 0, .no = 1};
        uint64_t start, len;
        unsigned no;
        ck_assert(part_plan_at(&p, &a, 5 * TiB - 1, &no, &start, &len));
        ck_assert_uint_le(len, STORE_PART_SIZE_MAX);

        const struct plan_run tail = {5 * TiB - 1024, 5 * TiB};
        const struct plan_in in = {.size = tail.to,
                                   .base = tail.from,
                                   .base_size = tail.from,
                                   .copies = true,
                                   .whole_copies = true,
                                   .put_most = 16 * MiB,
                                   .part = 16 * MiB,
                                   .held = &tail,
                                   .nheld = 1};
        struct plan plan;
        ck_assert_int_eq(plan_commit(&in, &plan), 0);
        ck_assert_uint_eq(plan.n, 2);
        ck_assert(plan.v[0].copy && plan.v[0].len == tail.from);
        ck_assert(!plan.v[1].copy && plan.v[1].len == 1024);
        ck_assert_uint_eq(plan.moved, 1024);
        plan_release(&plan);
}
END_TEST

START_TEST(an_announced_size_fits_ten_thousand_parts)
{
        static const uint64_t announced[] = {MiB, 5 * TiB, 20 * TiB, 50000000000000ULL};
        struct part_plan p = part_plan(16 * MiB, 2 * GiB);
        struct part_plan q = part_plan_announced(&p, announced[_i]);
        ck_assert_uint_ge(part_plan_reach(&q), announced[_i]); /* 48.8 TiB is the largest object */
        ck_assert_uint_le(part_plan_bytes(&q, STORE_PART_MAX), STORE_PART_SIZE_MAX);
}
END_TEST

START_TEST(every_byte_is_in_one_part)
{
        struct part_plan p = part_plan(5 * MiB, 64 * MiB);
        struct part_anchor a = {.origin = 12345, .no = 70};
        uint64_t at = a.origin, start, len;
        unsigned no;
        for (unsigned want = a.no; want <= STORE_PART_MAX; want++, at += len) {
                ck_assert(part_plan_at(&p, &a, at, &no, &start, &len));
                ck_assert_uint_eq(no, want);
                ck_assert_uint_eq(start, at);
                ck_assert_uint_eq(len, part_plan_bytes(&p, want));
                ck_assert(part_plan_at(&p, &a, at + len - 1, &no, &start, &len));
                ck_assert_uint_eq(no, want);
        }
        ck_assert(!part_plan_at(&p, &a, at, &no, &start, &len));
}
END_TEST

/* --- commits --- */

#define RUNS 4
static const struct {
        const char *name;
        uint64_t size, base, base_size;
        bool whole;
        struct plan_run held[RUNS];
        struct plan_sent sent[RUNS];
        const char *steps; /* number, 's' sent or 'c' copied, offset-length, in MiB; "put" */
        uint64_t most;     /* bytes moved */
} commits[] = {
        {"new", 3 * MiB, 0, 0, false, {{0, 3 * MiB}}, {{0}}, "put", 3 * MiB},
        {"empty", 0, 0, 0, false, {{0}}, {{0}}, "put", 0},
        {"new and large",
         40 * MiB,
         0,
         0,
         false,
         {{0, 40 * MiB}},
         {{0}},
         "1s0-20 2s20-20",
         40 * MiB},
        {"streamed",
         40 * MiB,
         0,
         0,
         false,
         {{32 * MiB, 40 * MiB}},
         {{1, 0, 16 * MiB}, {2, 16 * MiB, 16 * MiB}},
         "3s32-8",
         8 * MiB},
        {"append",
         10 * GiB + 1024,
         10 * GiB,
         10 * GiB,
         false,
         {{10 * GiB, 10 * GiB + 1024}},
         {{0}},
         "1c0-5120 2c5120-5120 3s10240-0",
         1024},
        {"append to a small base",
         4 * MiB + 1,
         4 * MiB,
         4 * MiB,
         false,
         {{4 * MiB, 4 * MiB + 1}},
         {{0}},
         "put",
         9 * MiB},
        {"middle",
         10 * GiB,
         10 * GiB,
         10 * GiB,
         false,
         {{GiB, GiB + 1}},
         {{0}},
         "1c0-1024 2s1024-5 3c1029-4606 4c5635-4605",
         10 * MiB},
        {"start",
         100 * MiB,
         100 * MiB,
         100 * MiB,
         false,
         {{0, 100}},
         {{0}},
         "1s0-5 2c5-95",
         10 * MiB},
        {"end",
         100 * MiB,
         100 * MiB,
         100 * MiB,
         false,
         {{99 * MiB, 100 * MiB}},
         {{0}},
         "1c0-99 2s99-1",
         MiB},
        {"close together",
         100 * MiB,
         100 * MiB,
         100 * MiB,
         false,
         {{30 * MiB, 31 * MiB}, {37 * MiB, 38 * MiB}},
         {{0}},
         "1c0-30 2s30-8 3c38-62",
         14 * MiB},
        {"near the start",
         100 * MiB,
         100 * MiB,
         100 * MiB,
         false,
         {{2 * MiB, 8 * MiB}},
         {{0}},
         "1s0-8 2c8-92",
         10 * MiB},
        {"cut", 60 * MiB, 60 * MiB, 100 * MiB, false, {{0}}, {{0}}, "1c0-60", 0},
        {"cut and longer",
         100 * MiB,
         60 * MiB,
         100 * MiB,
         false,
         {{0}},
         {{0}},
         "1c0-60 2s60-20 3s80-20",
         40 * MiB},
        {"few numbers",
         220 * MiB,
         200 * MiB,
         200 * MiB,
         false,
         {{10 * MiB, 11 * MiB}, {60 * MiB, 61 * MiB}, {200 * MiB, 220 * MiB}},
         {{4, 200 * MiB, 20 * MiB}},
         "1s0-61 2c61-70 3c131-69",
         122 * MiB},
        {"a small base that is cut: S3 copies no range of it",
         3 * MiB,
         3 * MiB,
         4 * MiB,
         false,
         {{0}},
         {{0}},
         "put",
         6 * MiB},
        {"a base of one smallest part that is cut",
         4 * MiB,
         4 * MiB,
         5 * MiB,
         false,
         {{0}},
         {{0}},
         "put",
         8 * MiB},
        {"a base of one smallest part, and more behind it",
         35 * MiB,
         5 * MiB,
         5 * MiB,
         false,
         {{5 * MiB, 35 * MiB}},
         {{0}},
         "1s0-18 2s18-17",
         40 * MiB},
        {"compose",
         100 * MiB + 5,
         100 * MiB,
         100 * MiB,
         true,
         {{100 * MiB, 100 * MiB + 5}},
         {{0}},
         "1c0-100 2s100-0",
         5},
        {"compose of a small base",
         3 * MiB,
         MiB,
         MiB,
         true,
         {{MiB, 3 * MiB}},
         {{0}},
         "put",
         4 * MiB},
        {"no compose of a piece",
         30 * MiB,
         30 * MiB,
         40 * MiB,
         true,
         {{0}},
         {{0}},
         "1s0-30",
         60 * MiB},
};

static size_t count_held(const struct plan_run *v)
{
        size_t n = 0;
        while (n < RUNS && v[n].to)
                n++;
        return n;
}

static size_t count_sent(const struct plan_sent *v)
{
        size_t n = 0;
        while (n < RUNS && v[n].no)
                n++;
        return n;
}

START_TEST(a_commit_moves_what_it_must)
{
        struct plan_in in = {
                .size = commits[_i].size,
                .base = commits[_i].base,
                .base_size = commits[_i].base_size,
                .copies = !commits[_i].whole,
                .whole_copies = commits[_i].whole,
                .put_most = 16 * MiB,
                .part = 16 * MiB,
                .held = commits[_i].held,
                .nheld = count_held(commits[_i].held),
                .sent = commits[_i].sent,
                .nsent = count_sent(commits[_i].sent),
        };
        struct plan p;
        char text[400] = "";
        ck_assert_int_eq(plan_commit(&in, &p), 0);
        for (size_t i = 0; i < p.n; i++)
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u%c%llu-%llu",
                         i ? " " : "", p.v[i].no, p.v[i].copy ? 'c' : 's',
                         (unsigned long long)(p.v[i].off / MiB),
                         (unsigned long long)(p.v[i].len / MiB));
        ck_assert_msg(!strcmp(p.put ? "put" : text, commits[_i].steps), "%s: %s", commits[_i].name,
                      p.put ? "put" : text);
        ck_assert_msg(p.moved <= commits[_i].most, "%s: %llu bytes", commits[_i].name,
                      (unsigned long long)p.moved);
        plan_release(&p);
}
END_TEST

/* Plans the commit, which has to be what stores take, and returns the bytes it moves. */
static uint64_t plan_well(const struct plan_in *in)
{
        struct plan p;
        char why[200] = "";
        int err = plan_commit(in, &p);
        ck_assert_msg(!err, "%llu bytes on %llu, %zu parts sent: error %d",
                      (unsigned long long)in->size, (unsigned long long)in->base, in->nsent, err);
        ck_assert_msg(!plan_check(in, &p, why, sizeof why), "%llu bytes on %llu: %s",
                      (unsigned long long)in->size, (unsigned long long)in->base, why);
        for (size_t i = 0, k = 0; i < p.n; i++) {
                while (k < in->nheld && in->held[k].to <= p.v[i].off)
                        k++;
                if (p.v[i].copy && k < in->nheld && in->held[k].from < p.v[i].off + p.v[i].len)
                        ck_abort_msg("part %u is a copy of what was written", p.v[i].no);
                if (p.v[i].copy && !in->whole_copies && in->base_size <= STORE_PART_SIZE_MIN)
                        ck_abort_msg("part %u is a range of a small version", p.v[i].no);
        }
        uint64_t moved = p.moved;
        plan_release(&p);
        return moved;
}

#define OBJECT_MOST (STORE_PART_MAX * STORE_PART_SIZE_MAX)

/* Appends `tail` bytes to `base`, without parts and after one that was sent early. */
static void append_well(uint64_t base, uint64_t tail)
{
        const struct part_plan parts = part_plan(16 * MiB, 2 * GiB);
        const struct plan_run held = {base, base + tail};
        struct plan_in in = {.size = base + tail,
                             .base = base,
                             .base_size = base,
                             .copies = true,
                             .put_most = 16 * MiB,
                             .part = 16 * MiB,
                             .held = &held,
                             .nheld = 1};
        if (in.size > OBJECT_MOST)
                return;
        uint64_t moved = plan_well(&in);
        /* Where no number is left for the tail, it goes with the end of the last copy. */
        bool room = base <= OBJECT_MOST - STORE_PART_SIZE_MAX;
        ck_assert_msg(moved <= tail + (room ? 2 * 16 * MiB : 2 * STORE_PART_SIZE_MAX),
                      "%llu bytes on %llu: %llu", (unsigned long long)tail,
                      (unsigned long long)base, (unsigned long long)moved);
        struct plan_sent sent = {.off = base, .len = 16 * MiB};
        sent.no = 1 + part_plan_before(&parts, base, 1);
        if (base < STORE_PART_SIZE_MIN || tail < sent.len || sent.no > STORE_PART_MAX)
                return;
        in.sent = &sent;
        in.nsent = 1;
        ck_assert_uint_le(plan_well(&in), tail - sent.len);
}

START_TEST(every_size_up_to_the_limit_grows)
{
        for (uint64_t size = 1; size < OBJECT_MOST; size *= 2)
                for (uint64_t add = 0; add < 3; add++)
                        append_well(size - 1 + add, 40 * MiB);
        for (uint64_t k = 1; k <= STORE_PART_MAX; k++)
                for (uint64_t add = 0; add < 3; add++)
                        append_well(k * STORE_PART_SIZE_MAX - 1 + add, 1024);
        srandom(20261);
        for (int i = 0; i < 10000; i++) {
                uint64_t size = ((uint64_t)random() << 31 | (uint64_t)random()) % OBJECT_MOST + 1;
                append_well(size >> random() % 40, i % 2 ? 40 * MiB : 1024);
        }
        append_well(OBJECT_MOST - 1, 1);
        append_well(OBJECT_MOST - 20 * MiB, 20 * MiB);
}
END_TEST

/* A part was sent early; then what lies before it was written at many places. */
START_TEST(what_lies_before_a_sent_part_becomes_as_many_parts_as_its_number_says)
{
        static const uint64_t bases[] = {5 * MiB,  5 * MiB + 1,      9 * MiB,      10 * MiB,
                                         20 * MiB, 61 * MiB + 12345, GiB,          10 * GiB - 1,
                                         TiB,      4 * TiB,          5 * MiB * 128};
        const struct part_plan parts = part_plan(16 * MiB, 2 * GiB);
        struct plan_run held[402];

        srandom((unsigned)_i);
        for (unsigned tries = 0; tries < 200; tries++) {
                uint64_t base = bases[random() % (long)(sizeof bases / sizeof bases[0])];
                size_t n = 0, writes = (size_t)random() % (tries % 2 ? 400 : 5);
                uint64_t mean = base / (writes + 1), at = 0, most = 0;
                for (; n < writes && at < base; n++) {
                        uint64_t from = at + 1 + (uint64_t)random() % (mean * 3 / 2 + 1);
                        at = from + 1 + (uint64_t)random() % 5000;
                        if (at > base)
                                break;
                        held[n] = (struct plan_run){from, at};
                }
                struct plan_sent sent = {.no = 1 + part_plan_before(&parts, base, 2 * n + 1),
                                         .off = base,
                                         .len = 16 * MiB};
                held[n] = (struct plan_run){base, base + sent.len + 9};
                struct plan_in in = {.size = held[n].to,
                                     .base = base,
                                     .base_size = base,
                                     .copies = true,
                                     .put_most = 16 * MiB,
                                     .part = 16 * MiB,
                                     .held = held,
                                     .nheld = n + 1,
                                     .sent = &sent,
                                     .nsent = 1};
                if (base >= GiB && n < 400) /* as many minimum parts sent, and filled, at most */
                        most = 4 * n * STORE_PART_SIZE_MIN + 9;
                uint64_t moved = plan_well(&in);
                ck_assert_msg(!most || moved <= most, "%zu writes to %llu move %llu", n,
                              (unsigned long long)base, (unsigned long long)moved);
        }
}
END_TEST

START_TEST(writes_below_a_part_that_was_numbered_before_them_still_fit)
{
        enum { WRITES = 50 };
        const struct part_plan parts = part_plan(16 * MiB, 2 * GiB);
        struct plan_run held[WRITES + 1];
        for (uint64_t i = 0; i < WRITES; i++)
                held[i] = (struct plan_run){i * 20 * MiB + 7, i * 20 * MiB + 4103};
        held[WRITES] = (struct plan_run){GiB, GiB + 17 * MiB};
        struct plan_sent sent = {
                .no = 1 + part_plan_before(&parts, GiB, 1), .off = GiB, .len = 16 * MiB};
        struct plan_in in = {.size = GiB + 17 * MiB,
                             .base = GiB,
                             .base_size = GiB,
                             .copies = true,
                             .put_most = 16 * MiB,
                             .part = 16 * MiB,
                             .held = held,
                             .nheld = WRITES + 1,
                             .sent = &sent,
                             .nsent = 1};
        /* each as a minimum part, which is fetched, too */
        ck_assert_uint_le(plan_well(&in), 2 * WRITES * STORE_PART_SIZE_MIN + MiB);
}
END_TEST

START_TEST(an_append_to_a_small_base_of_whole_copies_needs_two_numbers)
{
        const struct plan_run held = {4096, 40 * MiB};
        const struct plan_sent sent[] = {{3, 4096, 16 * MiB}, {4, 16 * MiB + 4096, 16 * MiB}};
        const struct plan_in in = {.size = 40 * MiB,
                                   .base = 4096,
                                   .base_size = 4096,
                                   .copies = false,
                                   .whole_copies = true,
                                   .put_most = 16 * MiB,
                                   .part = 16 * MiB,
                                   .held = &held,
                                   .nheld = 1,
                                   .sent = sent,
                                   .nsent = 2};
        ck_assert_uint_eq(plan_well(&in), 8 * MiB - 4096);

        /* and where there is but one number, what would be copied is sent */
        const struct plan_sent second = {2, 16 * MiB, 16 * MiB};
        struct plan_in one = in;
        one.sent = &second;
        one.nsent = 1;
        ck_assert_uint_eq(plan_well(&one), 24 * MiB + 4096);
}
END_TEST

static const struct {
        const char *why;
        uint64_t base, base_size, from, size; /* bytes from `from` on were written */
        bool appends, sent, append;
} appends[] = {
        {"a little", 40 * MiB, 40 * MiB, 40 * MiB, 40 * MiB + 1, true, false, true},
        {"as much as one request sends", 40 * MiB, 40 * MiB, 40 * MiB, 56 * MiB, true, false, true},
        {"more than that", 40 * MiB, 40 * MiB, 40 * MiB, 56 * MiB + 1, true, false, false},
        {"zeros before it", 40 * MiB, 40 * MiB, 41 * MiB, 42 * MiB, true, false, true},
        {"nothing", 40 * MiB, 40 * MiB, 40 * MiB, 40 * MiB, true, false, false},
        {"the last byte anew", 40 * MiB, 40 * MiB, 40 * MiB - 1, 41 * MiB, true, false, false},
        {"what was cut before", 39 * MiB, 40 * MiB, 39 * MiB, 41 * MiB, true, false, false},
        {"what was sent already", 40 * MiB, 40 * MiB, 40 * MiB, 48 * MiB, true, true, false},
        {"in a store that has none", 40 * MiB, 40 * MiB, 40 * MiB, 41 * MiB, false, false, false},
        {"to what one put sends as fast", MiB / 2, MiB / 2, MiB / 2, MiB, true, false, false},
        {"to what one put sends slower", 8 * MiB, 8 * MiB, 8 * MiB, 8 * MiB + 1, true, false, true},
        {"to nothing", 0, 0, 0, 1, true, false, false},
};

START_TEST(an_append_is_of_new_bytes_behind_all_of_the_base)
{
        const struct plan_run held = {appends[_i].from, appends[_i].size};
        const struct plan_sent sent = {9, 40 * MiB, 8 * MiB};
        const struct plan_in in = {.size = appends[_i].size,
                                   .base = appends[_i].base,
                                   .base_size = appends[_i].base_size,
                                   .copies = true,
                                   .appends = appends[_i].appends,
                                   .put_most = 16 * MiB,
                                   .part = 16 * MiB,
                                   .held = &held,
                                   .nheld = held.from < held.to,
                                   .sent = &sent,
                                   .nsent = appends[_i].sent};
        struct plan p;
        char why[200] = "";

        ck_assert_int_eq(plan_commit(&in, &p), 0);
        ck_assert_msg((p.put && p.from) == appends[_i].append, "%s", appends[_i].why);
        if (p.from) {
                ck_assert_uint_eq(p.from, in.base);
                ck_assert_uint_eq(p.moved, in.size - in.base);
        }
        ck_assert_msg(!plan_check(&in, &p, why, sizeof why), "%s: %s", appends[_i].why, why);
        plan_release(&p);
}
END_TEST

static const struct {
        const char *why;
        struct plan_sent sent[3];
        bool copy;
        uint64_t base;
} wrong[] = {
        {"numbers have a gap", {{1, 0, 16 * MiB}, {3, 16 * MiB, 8 * MiB}}, false, 0},
        {"numbers begin late", {{2, 0, 16 * MiB}, {3, 16 * MiB, 8 * MiB}}, false, 0},
        {"numbers go back", {{1, 0, 16 * MiB}, {1, 16 * MiB, 8 * MiB}}, false, 0},
        {"bytes lack", {{1, 0, 16 * MiB}, {2, 17 * MiB, 7 * MiB}}, false, 0},
        {"bytes are there twice", {{1, 0, 16 * MiB}, {2, 15 * MiB, 9 * MiB}}, false, 0},
        {"the end lacks", {{1, 0, 16 * MiB}}, false, 0},
        {"more than the file", {{1, 0, 16 * MiB}, {2, 16 * MiB, 9 * MiB}}, false, 0},
        {"too small", {{1, 0, 4 * MiB}, {2, 4 * MiB, 20 * MiB}}, false, 0},
        {"a copy of what is gone", {{1, 0, 16 * MiB}}, true, 20 * MiB},
};

START_TEST(parts_that_do_not_add_up_are_found)
{
        struct plan_step step = {.no = 2, .copy = true, .off = 16 * MiB, .len = 8 * MiB};
        struct plan p = {.n = wrong[_i].copy, .v = &step};
        struct plan_in in = {
                .size = 24 * MiB, .base = wrong[_i].base, .copies = true, .sent = wrong[_i].sent};
        char why[200] = "";
        while (in.nsent < 3 && wrong[_i].sent[in.nsent].no)
                in.nsent++;
        ck_assert_msg(plan_check(&in, &p, why, sizeof why) == -EIO && *why, "%s", wrong[_i].why);
}
END_TEST

/* Whatever was written: parts are in order, cover the file and are as large as stores want. */
START_TEST(random_commits_are_what_stores_take)
{
        srandom((unsigned)_i);
        for (int tries = 0; tries < 300; tries++) {
                struct plan_run held[20];
                uint64_t size = (uint64_t)random() % (tries % 5 ? 300 * MiB : 7 * MiB) + 1, at = 0;
                struct plan_in in = {.size = size, .copies = true, .part = 5 * MiB, .held = held};
                in.base = (uint64_t)random() % (size + 1);
                in.base_size = in.base + (tries % 3 ? 0 : MiB);
                while (in.nheld < 20 && at < size) {
                        uint64_t from = at + 1 + (uint64_t)random() % (tries % 2 ? 30 * MiB : MiB);
                        at = from + 1 + (uint64_t)random() % (7 * MiB);
                        if (at <= size)
                                held[in.nheld++] = (struct plan_run){from, at};
                }
                plan_well(&in);
        }
}
END_TEST

int main(void)
{
        Suite *s = suite_create("plan");
        TCase *t = tcase_create("plan");
        tcase_add_loop_test(t, parts_double_up_to_half_of_the_memory, 0,
                            sizeof sizes / sizeof sizes[0]);
        tcase_add_test(t, parts_never_shrink_and_are_never_too_small);
        tcase_add_test(t, sixteen_mib_parts_in_two_gib_reach_five_tib);
        tcase_add_test(t, five_tib_are_written_and_grow_on_a_store_of_whole_copies);
        tcase_add_loop_test(t, an_announced_size_fits_ten_thousand_parts, 0, 4);
        tcase_add_test(t, every_byte_is_in_one_part);
        tcase_add_loop_test(t, a_commit_moves_what_it_must, 0, sizeof commits / sizeof commits[0]);
        tcase_add_loop_test(t, random_commits_are_what_stores_take, 0, 5);
        tcase_add_test(t, every_size_up_to_the_limit_grows);
        tcase_add_loop_test(
                t, what_lies_before_a_sent_part_becomes_as_many_parts_as_its_number_says, 0, 5);
        tcase_add_test(t, writes_below_a_part_that_was_numbered_before_them_still_fit);
        tcase_add_test(t, an_append_to_a_small_base_of_whole_copies_needs_two_numbers);
        tcase_add_loop_test(t, an_append_is_of_new_bytes_behind_all_of_the_base, 0,
                            sizeof appends / sizeof appends[0]);
        tcase_add_loop_test(t, parts_that_do_not_add_up_are_found, 0,
                            sizeof wrong / sizeof wrong[0]);
        suite_add_tcase(s, t);
        return unit_main(s);
}
