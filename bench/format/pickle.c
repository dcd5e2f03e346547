/* SPDX-License-Identifier: Apache-2.0 */
/* pickle.c: see pickle.h. */
#include "bench/format/pickle.h"

#include <string.h>

#include "base/banned.h"

static void add_le(struct buf *b, uint64_t v, unsigned bytes)
{
        for (unsigned i = 0; i < bytes; i++)
                buf_addc(b, (char)(v >> (8 * i)));
}

void pickle_begin(struct buf *b)
{
        buf_add(b, "\x80\x02", 2);
}

void pickle_end(struct buf *b)
{
        buf_addc(b, '.');
}

void pickle_none(struct buf *b)
{
        buf_addc(b, 'N');
}

void pickle_bool(struct buf *b, bool v)
{
        buf_addc(b, v ? '\x88' : '\x89');
}

void pickle_int(struct buf *b, uint64_t v)
{
        if (v < 256) { /* BININT1 */
                buf_addc(b, 'K');
                add_le(b, v, 1);
        } else if (v < 65536) { /* BININT2 */
                buf_addc(b, 'M');
                add_le(b, v, 2);
        } else if (v < 1ULL << 31) { /* BININT, signed */
                buf_addc(b, 'J');
                add_le(b, v, 4);
        } else { /* LONG1: two's complement, a byte more than needed for the sign */
                unsigned n = 8 - (unsigned)__builtin_clzll(v) / 8 + 1;
                buf_addc(b, '\x8a');
                buf_addc(b, (char)n);
                for (unsigned i = 0; i < n; i++)
                        buf_addc(b, i < 8 ? (char)(v >> (8 * i)) : 0);
        }
}

void pickle_float(struct buf *b, double v)
{
        uint64_t bits;

        memcpy(&bits, &v, sizeof bits);
        buf_addc(b, 'G'); /* BINFLOAT, big-endian */
        for (unsigned i = 0; i < sizeof bits; i++)
                buf_addc(b, (char)(bits >> (56 - 8 * i)));
}

void pickle_string(struct buf *b, const char *s)
{
        size_t n = strlen(s);
        buf_addc(b, 'X'); /* BINUNICODE */
        add_le(b, n, 4);
        buf_add(b, s, n);
}

void pickle_global(struct buf *b, const char *module, const char *name)
{
        buf_addf(b, "c%s\n%s\n", module, name);
}

void pickle_mark(struct buf *b)
{
        buf_addc(b, '(');
}

void pickle_tuple(struct buf *b)
{
        buf_addc(b, 't');
}

void pickle_tuple_of(struct buf *b, unsigned n)
{
        static const char op[] = {')', '\x85', '\x86', '\x87'};
        buf_addc(b, op[n]);
}

void pickle_empty_dict(struct buf *b)
{
        buf_addc(b, '}');
}

void pickle_empty_list(struct buf *b)
{
        buf_addc(b, ']');
}

void pickle_set_items(struct buf *b)
{
        buf_addc(b, 'u');
}

void pickle_append_all(struct buf *b)
{
        buf_addc(b, 'e');
}

void pickle_call(struct buf *b)
{
        buf_addc(b, 'R');
}

void pickle_new(struct buf *b)
{
        buf_add(b, ")\x81", 2); /* NEWOBJ with an empty tuple */
}

void pickle_state(struct buf *b)
{
        buf_addc(b, 'b');
}

void pickle_persistent(struct buf *b)
{
        buf_addc(b, 'Q');
}
