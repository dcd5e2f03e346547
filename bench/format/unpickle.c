/* SPDX-License-Identifier: Apache-2.0 */
/* unpickle.c: see unpickle.h. */
#include "bench/format/unpickle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"

#include "base/banned.h"

enum { CHUNK = 1024, MEMO_MAX = UNPICKLE_VALUES, MARKS_MAX = 1 << 16 };

struct chunk {
        struct chunk *next;
        size_t n;
        struct value v[CHUNK];
};

struct unpickled {
        struct chunk *chunks;
        size_t n; /* values */
};

/* A growing array of values. */
struct values {
        struct value **v;
        size_t n, room;
};

struct machine {
        struct unpickled *u;
        const unsigned char *at, *end;
        struct values stack, memo;
        size_t *marks; /* heights of the stack */
        size_t nmarks, mark_room;
        struct value *result;
        char *why;
        size_t nwhy;
};

static int bad(struct machine *m, const char *what)
{
        snprintf(m->why, m->nwhy, "%s", what);
        return -EBADMSG;
}

static struct value *new_value(struct machine *m, enum value_kind kind)
{
        struct unpickled *u = m->u;
        if (u->n == UNPICKLE_VALUES)
                return NULL;
        if (!u->chunks || u->chunks->n == CHUNK) {
                struct chunk *c = calloc(1, sizeof *c);
                if (!c)
                        return NULL;
                c->next = u->chunks;
                u->chunks = c;
        }
        struct value *v = &u->chunks->v[u->chunks->n++];
        u->n++;
        v->kind = kind;
        return v;
}

static int grow(struct value ***v, size_t *room, size_t want)
{
        if (want <= *room)
                return 0;
        size_t n = *room ? *room : 4;
        while (n < want)
                n *= 2;
        struct value **p = realloc(*v, n * sizeof(struct value *));
        if (!p)
                return -ENOMEM;
        memset(p + *room, 0, (n - *room) * sizeof(struct value *));
        *v = p;
        *room = n;
        return 0;
}

/* NULL is what an allocation that failed, or a pickle of too many values, returned. */
static int push(struct machine *m, struct value *v)
{
        if (!v)
                return m->u->n == UNPICKLE_VALUES ? bad(m, "it has too many values") : -ENOMEM;
        if (m->stack.n == UNPICKLE_VALUES)
                return bad(m, "its stack is too high");
        if (grow(&m->stack.v, &m->stack.room, m->stack.n + 1))
                return -ENOMEM;
        m->stack.v[m->stack.n++] = v;
        return 0;
}

static size_t floor_of(const struct machine *m)
{
        return m->nmarks ? m->marks[m->nmarks - 1] : 0;
}

/* The value at the top is taken off; NULL when there is none above the last mark. */
static struct value *pop(struct machine *m)
{
        return m->stack.n > floor_of(m) ? m->stack.v[--m->stack.n] : NULL;
}

static struct value *top(struct machine *m)
{
        return m->stack.n > floor_of(m) ? m->stack.v[m->stack.n - 1] : NULL;
}

static int push_mark(struct machine *m)
{
        if (m->nmarks == MARKS_MAX)
                return bad(m, "it is nested too deeply");
        if (GROW(m->marks, m->nmarks, m->mark_room, 16))
                return -ENOMEM;
        m->marks[m->nmarks++] = m->stack.n;
        return 0;
}

/* n little-endian bytes, 8 at most. */
static int number(struct machine *m, unsigned n, uint64_t *out)
{
        if ((size_t)(m->end - m->at) < n)
                return bad(m, "it ends in the middle of a number");
        *out = 0;
        for (unsigned i = 0; i < n; i++)
                *out |= (uint64_t)m->at[i] << (8 * i);
        m->at += n;
        return 0;
}

static int push_int(struct machine *m, int64_t i)
{
        struct value *v = new_value(m, VALUE_INT);
        if (v)
                v->i = i;
        return push(m, v);
}

static int push_number(struct machine *m, unsigned n)
{
        uint64_t u;
        int err = number(m, n, &u);
        return err ? err : push_int(m, n == 4 ? (int32_t)(uint32_t)u : (int64_t)u);
}

/* Two's complement of as many bytes as the first says. */
static int push_long(struct machine *m)
{
        uint64_t n, u = 0;
        int err = number(m, 1, &n);
        if (err)
                return err;
        if (n > 9 || (size_t)(m->end - m->at) < n || (n == 9 && (m->at[8] || m->at[7] & 0x80)))
                return bad(m, "it has a number of more than 64 bits");
        for (unsigned i = 0; i < n && i < 8; i++)
                u |= (uint64_t)m->at[i] << (8 * i);
        bool negative = n && n < 9 && m->at[n - 1] & 0x80;
        if (negative && n < 8)
                u |= ~0ULL << (8 * n);
        m->at += n;
        return push_int(m, (int64_t)u);
}

static int push_text(struct machine *m, unsigned width)
{
        uint64_t n;
        int err = number(m, width, &n);
        if (err)
                return err;
        if ((uint64_t)(m->end - m->at) < n)
                return bad(m, "it ends in the middle of a text");
        struct value *v = new_value(m, VALUE_TEXT);
        if (v) {
                v->text = (const char *)m->at;
                v->n = (size_t)n;
        }
        m->at += n;
        return push(m, v);
}

/* None of them is imported; a name of another module means that this is no checkpoint. */
static bool may_name(const struct value *module, const struct value *name)
{
        static const struct {
                const char *module, *name; /* NULL: any */
        } known[] = {
                {"torch", NULL},           {"collections", "OrderedDict"},
                {"pathlib", "PosixPath"},  {"collections", "defaultdict"},
                {"pathlib", "Path"},       {"collections", "Counter"},
                {"builtins", "set"},       {"__builtin__", "set"},
                {"builtins", "dict"},      {"__builtin__", "dict"},
                {"builtins", "list"},      {"__builtin__", "list"},
                {"builtins", "bytearray"}, {"_codecs", "encode"},
                {"argparse", "Namespace"},
        };
        if (module->n > 6 && !memcmp(module->text, "torch.", 6))
                return true;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
                if (value_is_text(module, known[i].module) &&
                    (!known[i].name || value_is_text(name, known[i].name)))
                        return true;
        return false;
}

/* Appends the text as far as it can be shown. */
static void show(char *out, size_t n, const struct value *text)
{
        size_t have = strlen(out);
        for (size_t i = 0; i < text->n && have + 1 < n; i++)
                out[have++] = text->text[i] > 32 && text->text[i] < 127 ? text->text[i] : '?';
        out[have] = 0;
}

static int push_global(struct machine *m, struct value *module, struct value *name)
{
        if (!module || !name || module->kind != VALUE_TEXT || name->kind != VALUE_TEXT)
                return bad(m, "it asks for something that has no name");
        if (!may_name(module, name)) {
                char shown[80] = "";
                show(shown, sizeof shown / 2, module);
                snprintf(shown + strlen(shown), 2, ".");
                show(shown, sizeof shown, name);
                snprintf(m->why, m->nwhy, "it asks for %s, which no checkpoint needs", shown);
                return -EBADMSG;
        }
        struct value *v = new_value(m, VALUE_GLOBAL);
        if (v && grow(&v->v, &v->room, 2))
                return -ENOMEM;
        if (v) {
                v->v[0] = module;
                v->v[1] = name;
                v->n = 2;
        }
        return push(m, v);
}

/* A line of the pickle as a text. */
static struct value *line(struct machine *m)
{
        const unsigned char *end = memchr(m->at, '\n', (size_t)(m->end - m->at));
        struct value *v = end ? new_value(m, VALUE_TEXT) : NULL;
        if (v) {
                v->text = (const char *)m->at;
                v->n = (size_t)(end - m->at);
                m->at = end + 1;
        }
        return v;
}

static int append(struct value *to, struct value *const *v, size_t n)
{
        if (!n)
                return 0;
        if (grow(&to->v, &to->room, to->n + n))
                return -ENOMEM;
        memcpy(to->v + to->n, v, n * sizeof(struct value *));
        to->n += n;
        return 0;
}

/* The last n values become one of that kind. */
static int combine(struct machine *m, enum value_kind kind, size_t n)
{
        if (m->stack.n < floor_of(m) + n)
                return bad(m, "it combines values that are not there");
        struct value *v = new_value(m, kind);
        m->stack.n -= n;
        if (v && n && append(v, m->stack.v + m->stack.n, n))
                return -ENOMEM;
        return push(m, v);
}

/* How many values lie above the last mark, which is taken away. */
static int to_mark(struct machine *m, size_t *n)
{
        if (!m->nmarks)
                return bad(m, "it combines values behind a mark that it did not set");
        *n = m->stack.n - m->marks[--m->nmarks];
        return 0;
}

static int combine_to_mark(struct machine *m, enum value_kind kind)
{
        size_t n = 0;
        int err = to_mark(m, &n);
        if (!err && kind == VALUE_DICT && n % 2)
                err = bad(m, "it has a key without a value");
        return err ? err : combine(m, kind, n);
}

/* The last n values go into the list or dict below them. */
static int add_to(struct machine *m, bool pairs, size_t n)
{
        if (m->stack.n < floor_of(m) + n + 1)
                return bad(m, "it adds to something that is not there");
        struct value *to = m->stack.v[m->stack.n - n - 1];
        /* what a call returns may be a dict or list of its own kind */
        bool fits = to->kind == (pairs ? VALUE_DICT : VALUE_LIST);
        if (!fits && to->kind != VALUE_CALL)
                return bad(m, "it adds to something that holds no values");
        m->stack.n -= n;
        if (fits && pairs && n % 2)
                return bad(m, "it has a key without a value");
        return fits && append(to, m->stack.v + m->stack.n, n) ? -ENOMEM : 0;
}

static int add_to_mark(struct machine *m, bool pairs)
{
        size_t n = 0;
        int err = to_mark(m, &n);
        return err ? err : add_to(m, pairs, n);
}

/* Function and arguments become what it would return. An ordered dict is a dict. */
static int call(struct machine *m)
{
        if (m->stack.n < floor_of(m) + 2)
                return bad(m, "it calls what is not there");
        struct value *const *v = &m->stack.v[m->stack.n - 2];
        if (v[0]->kind != VALUE_GLOBAL || v[1]->kind != VALUE_TUPLE)
                return bad(m, "it calls something that is no function");
        if (value_is_global(v[0], "collections", "OrderedDict") && !v[1]->n) {
                m->stack.n -= 2;
                return combine(m, VALUE_DICT, 0);
        }
        return combine(m, VALUE_CALL, 2);
}

/* The state of an object; that of a dict, its attributes, is of no use here. */
static int build(struct machine *m)
{
        struct value *state = pop(m), *of = top(m);
        if (!state || !of)
                return bad(m, "it gives a state to what is not there");
        if (of->kind == VALUE_DICT)
                return 0;
        if (of->kind != VALUE_CALL || of->n != 2)
                return bad(m, "it gives a state to what has none");
        return append(of, &state, 1);
}

static int memo_put(struct machine *m, uint64_t i)
{
        struct value *v = top(m);
        if (!v || i >= MEMO_MAX)
                return bad(m, "it remembers what is not there");
        if (grow(&m->memo.v, &m->memo.room, (size_t)i + 1))
                return -ENOMEM;
        m->memo.v[i] = v;
        if (i >= m->memo.n)
                m->memo.n = (size_t)i + 1;
        return 0;
}

static int memo_get(struct machine *m, unsigned width)
{
        uint64_t i = 0;
        int err = number(m, width, &i);
        if (err)
                return err;
        if (i >= m->memo.n || !m->memo.v[i])
                return bad(m, "it recalls what it did not remember");
        return push(m, m->memo.v[i]);
}

static int memo_number(struct machine *m, unsigned width)
{
        uint64_t i = 0;
        int err = number(m, width, &i);
        return err ? err : memo_put(m, i);
}

/* Those that push a value without looking at others. -ENOENT: another operation. */
static int step_push(struct machine *m, unsigned char op)
{
        struct value *v;
        switch (op) {
        case 'N':
                return push(m, new_value(m, VALUE_NONE));
        case 0x88: /* true, false */
        case 0x89:
                return push_int(m, op == 0x88);
        case 'K':
                return push_number(m, 1);
        case 'M':
                return push_number(m, 2);
        case 'J':
                return push_number(m, 4);
        case 0x8a: /* LONG1 */
                return push_long(m);
        case 'G': /* a float, whose value nobody asks for */
                v = new_value(m, VALUE_FLOAT);
                if (m->end - m->at < 8)
                        return bad(m, "it ends in the middle of a number");
                m->at += 8;
                return push(m, v);
        case 'X': /* BINUNICODE, BINBYTES */
        case 'B':
                return push_text(m, 4);
        case 0x8c: /* the same with a length of one byte */
        case 'C':
        case 'U':
                return push_text(m, 1);
        case 0x8d: /* and of eight */
        case 0x8e:
                return push_text(m, 8);
        case ']':
                return push(m, new_value(m, VALUE_LIST));
        case '}':
                return push(m, new_value(m, VALUE_DICT));
        case ')':
                return push(m, new_value(m, VALUE_TUPLE));
        case 'h':
                return memo_get(m, 1);
        case 'j':
                return memo_get(m, 4);
        default:
                return -ENOENT;
        }
}

/* Those that name something. */
static int step_name(struct machine *m, unsigned char op)
{
        struct value *module, *name;
        switch (op) {
        case 'c':
                module = line(m);
                name = module ? line(m) : NULL;
                return push_global(m, module, name);
        case 0x93: /* STACK_GLOBAL */
                name = pop(m);
                module = pop(m);
                return push_global(m, module, name);
        case 'Q':
                return combine(m, VALUE_STORED, 1);
        case 'q':
                return memo_number(m, 1);
        case 'r':
                return memo_number(m, 4);
        case 0x94: /* MEMOIZE */
                return memo_put(m, m->memo.n);
        default:
                return -ENOENT;
        }
}

/* Those that combine what was pushed. */
static int step_combine(struct machine *m, unsigned char op)
{
        size_t n = 0;
        int err;
        switch (op) {
        case '(':
                return push_mark(m);
        case '0':
                return pop(m) ? 0 : bad(m, "it takes away what is not there");
        case '1':
                err = to_mark(m, &n);
                m->stack.n -= err ? 0 : n;
                return err;
        case 't':
                return combine_to_mark(m, VALUE_TUPLE);
        case 'l':
                return combine_to_mark(m, VALUE_LIST);
        case 'd':
                return combine_to_mark(m, VALUE_DICT);
        case 0x85: /* tuples of 1 to 3 */
        case 0x86:
        case 0x87:
                return combine(m, VALUE_TUPLE, op - 0x84U);
        case 'a':
                return add_to(m, false, 1);
        case 's':
                return add_to(m, true, 2);
        case 'e':
                return add_to_mark(m, false);
        case 'u':
                return add_to_mark(m, true);
        case 'R':
        case 0x81: /* NEWOBJ */
                return call(m);
        case 'b':
                return build(m);
        default:
                return -ENOENT;
        }
}

/* One operation. */
static int step(struct machine *m)
{
        uint64_t ignored;
        unsigned char op = *m->at++;
        int err;

        if (op == 0x80) { /* PROTO */
                err = number(m, 1, &ignored);
                return !err && (ignored < 2 || ignored > 5) ? bad(m, "its protocol is unknown")
                                                            : err;
        }
        if (op == 0x95) /* FRAME: how many bytes follow, which is no matter here */
                return number(m, 8, &ignored);
        if (op == '.') {
                m->result = pop(m);
                return m->result ? 0 : bad(m, "it ends without a value");
        }
        err = step_push(m, op);
        if (err == -ENOENT)
                err = step_name(m, op);
        if (err == -ENOENT)
                err = step_combine(m, op);
        if (err == -ENOENT) {
                snprintf(m->why, m->nwhy, "its operation 0x%02x is none that checkpoints use", op);
                err = -EBADMSG;
        }
        return err;
}

int unpickle(const char *p, size_t n, struct unpickled **out, const struct value **root, char *why,
             size_t nwhy)
{
        CLEANUP(unpickled_freep) struct unpickled *u = calloc(1, sizeof *u);
        struct machine m = {.u = u,
                            .at = (const unsigned char *)p,
                            .end = (const unsigned char *)p + n,
                            .why = why,
                            .nwhy = nwhy};
        int err = u ? 0 : -ENOMEM;

        if (n > UNPICKLE_MAX)
                err = bad(&m, "it has more than 256 MiB");
        while (!err && !m.result)
                err = m.at < m.end ? step(&m) : bad(&m, "it ends early");
        free(m.stack.v);
        free(m.memo.v);
        free(m.marks);
        if (err)
                return err;
        *out = TAKE_PTR(u);
        *root = m.result;
        return 0;
}

void unpickled_free(struct unpickled *u)
{
        while (u && u->chunks) {
                struct chunk *c = u->chunks;
                for (size_t i = 0; i < c->n; i++)
                        if (c->v[i].room)
                                free(c->v[i].v);
                u->chunks = c->next;
                free(c);
        }
        free(u);
}

void unpickled_freep(struct unpickled **u)
{
        int err = errno;
        unpickled_free(*u);
        errno = err;
}
