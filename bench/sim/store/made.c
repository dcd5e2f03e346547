/* SPDX-License-Identifier: Apache-2.0 */
/* made.c: see made.h. */
#include "bench/sim/store/made.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/sim/store/object.h"
#include "base/banned.h"

enum { DIGITS = 8 };

struct made {
        unsigned long count;
        struct object *first;
        made_fn *make;
        void *arg;
        unsigned char *taken; /* a bit each */
        size_t nprefix;
        char prefix[];
};

struct made *made_new(const char *prefix, unsigned long count, struct object *first, made_fn *make,
                      void *arg)
{
        size_t n = strlen(prefix);
        struct made *m = malloc(sizeof *m + n + 1);

        unsigned char *taken = calloc(count / 8 + 1, 1);
        if (!m || !taken) {
                free(m);
                free(taken);
                object_unref(first);
                return NULL;
        }
        m->taken = taken;
        m->count = count;
        m->first = first;
        m->make = make;
        m->arg = arg;
        m->nprefix = n;
        memcpy(m->prefix, prefix, n + 1);
        return m;
}

void made_free(struct made *m)
{
        if (!m)
                return;
        object_unref(m->first);
        free(m->taken);
        free(m);
}

unsigned long made_count(const struct made *m)
{
        return m->count;
}

static bool is_taken(const struct made *m, unsigned long number)
{
        return m->taken[number / 8] & 1u << number % 8;
}

/* The first number whose digits are not below the text, or with `after` above it. */
static unsigned long number_from(const char *text, bool after)
{
        unsigned long number = 0, below = 100000000; /* how many numbers share the digits so far */

        for (int i = 0; i < DIGITS; i++, text++) {
                below /= 10;
                if (*text > '9')
                        return number + below * 10;
                if (*text < '0') /* also the end: all that is longer comes behind */
                        return number;
                number += (unsigned long)(*text - '0') * below;
        }
        return number + (*text || after);
}

unsigned long made_from(const struct made *m, const char *key, bool after)
{
        int c = strncmp(key, m->prefix, m->nprefix);
        unsigned long number = c < 0 ? 0 : c > 0 ? m->count : number_from(key + m->nprefix, after);

        while (number < m->count && is_taken(m, number))
                number += number % 8 == 0 && m->taken[number / 8] == 0xff ? 8 : 1;
        return number < m->count ? number : m->count;
}

static void key_of(const struct made *m, unsigned long number, char *key)
{
        snprintf(key, m->nprefix + DIGITS + 1, "%s%08lu", m->prefix, number);
}

unsigned long made_find(const struct made *m, const char *key)
{
        if (strncmp(key, m->prefix, m->nprefix) || strlen(key + m->nprefix) != DIGITS ||
            strspn(key + m->nprefix, "0123456789") != DIGITS)
                return m->count;
        unsigned long number = number_from(key + m->nprefix, false);
        return number < m->count && !is_taken(m, number) ? number : m->count;
}

void made_take(struct made *m, unsigned long number)
{
        m->taken[number / 8] |= (unsigned char)(1u << number % 8);
}

struct object *made_object(const struct made *m, unsigned long number)
{
        CLEANUP(freep) char *key = malloc(m->nprefix + DIGITS + 1);

        if (!key)
                return NULL;
        key_of(m, number, key);
        return m->make(m->arg, m->first, key, number);
}
