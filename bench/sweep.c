/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c: see sweep.h. */
#include "bench/sweep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

static void release_values(struct sweep_key *k)
{
        for (size_t i = 0; i < k->n; i++) {
                free(k->v[i]);
                if (k->groups)
                        sweep_release(&k->groups[i]);
        }
        free(k->groups);
        free(k->v);
        k->groups = NULL;
        k->v = NULL;
        k->n = 0;
}

void sweep_release(struct sweep *s)
{
        for (size_t i = 0; i < s->n; i++) {
                release_values(&s->keys[i]);
                free(s->keys[i].name);
                free(s->keys[i].said);
        }
        free(s->keys);
        *s = (struct sweep){0};
}

/* Names of the suites that mean a key of ours. */
static const char *const aliases[][2] = {
        {"checkpoint.storage", "storage"},
        {"checkpoint.suffix", "suffix"},
};

/* Our name for *name, of *len bytes. */
static void canonical(const char **name, size_t *len)
{
        for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
                if (strlen(aliases[i][0]) == *len && !memcmp(aliases[i][0], *name, *len)) {
                        *name = aliases[i][1];
                        *len = strlen(*name);
                        return;
                }
}

static struct sweep_key *find(const struct sweep *s, const char *name, size_t len)
{
        for (size_t i = 0; i < s->n; i++)
                if (strlen(s->keys[i].name) == len && !memcmp(s->keys[i].name, name, len))
                        return &s->keys[i];
        return NULL;
}

const struct sweep_key *sweep_find(const struct sweep *s, const char *name)
{
        size_t len = strlen(name);
        canonical(&name, &len);
        return find(s, name, len);
}

static struct sweep_key *add_key(struct sweep *s, const char *name, size_t len)
{
        struct sweep_key *v = realloc(s->keys, (s->n + 1) * sizeof *v);
        if (!v)
                return NULL;
        s->keys = v;
        v[s->n] = (struct sweep_key){.name = strndup(name, len)};
        return v[s->n].name ? &v[s->n++] : NULL;
}

/* "8*1024*1024" as a number; other texts stay. */
static const char *product(const char *text, char *out, size_t n)
{
        unsigned long long all = 1;
        const char *p = text;

        if (!strchr(text, '*') || strspn(text, "0123456789* ") != strlen(text))
                return text;
        for (;;) {
                char *end;
                unsigned long long v = strtoull(p, &end, 10);
                if (end == p || __builtin_mul_overflow(all, v, &all))
                        return text;
                p = end + strspn(end, " ");
                if (!*p)
                        break;
                p++;
        }
        snprintf(out, n, "%llu", all);
        return out;
}

static int add_value(struct sweep_key *k, const char *p, size_t n)
{
        char number[24];

        while (n && *p == ' ') {
                p++;
                n--;
        }
        while (n && p[n - 1] == ' ')
                n--;
        char **v = realloc(k->v, (k->n + 1) * sizeof *v);
        if (!v)
                return -ENOMEM;
        k->v = v;
        CLEANUP(freep) char *text = strndup(p, n);
        const char *value = text ? product(text, number, sizeof number) : NULL;
        v[k->n] = value == text ? TAKE_PTR(text) : strdup(value);
        return v[k->n] ? (k->n++, 0) : -ENOMEM;
}

static int no_memory(char *why, size_t nwhy)
{
        snprintf(why, nwhy, "out of memory: free some");
        return -ENOMEM;
}

/* The key of that name without values in *out, or NULL there when somebody stronger has set it. */
static int fresh(struct sweep *s, enum sweep_level level, const char *name, size_t n,
                 struct sweep_key **out)
{
        CLEANUP(freep) char *said = strndup(name, n);

        canonical(&name, &n);
        struct sweep_key *k = find(s, name, n);
        if (!said || (!k && !(k = add_key(s, name, n))))
                return -ENOMEM;
        *out = k->n && k->level > level ? NULL : k;
        if (*out) {
                release_values(k);
                free(k->said);
                k->said = TAKE_PTR(said);
                k->level = level;
        }
        return 0;
}

static int add_list(struct sweep *s, enum sweep_level level, const char *name, size_t nname,
                    const char *list, char *why, size_t nwhy)
{
        struct sweep_key *k;
        if (fresh(s, level, name, nname, &k))
                return no_memory(why, nwhy);
        for (const char *p = list; k; p++) {
                size_t n = strcspn(p, ",");
                if (add_value(k, p, n))
                        return no_memory(why, nwhy);
                p += n;
                if (!*p)
                        break;
        }
        return 0;
}

int sweep_add(struct sweep *s, enum sweep_level level, const char *arg, char *why, size_t nwhy)
{
        const char *name = arg + strspn(arg, "+");
        const char *eq = strchr(name, '=');

        if (!eq || eq == name) {
                snprintf(why, nwhy, "'%s' is no key=value: see ckptbench --help", arg);
                return -EINVAL;
        }
        return add_list(s, level, name, (size_t)(eq - name), eq + 1, why, nwhy);
}

int sweep_add_values(struct sweep *s, enum sweep_level level, const char *name, const char *list,
                     char *why, size_t nwhy)
{
        name += strspn(name, "+");
        return add_list(s, level, name, strlen(name), list, why, nwhy);
}

int sweep_add_value(struct sweep *s, enum sweep_level level, const char *name, const char *value,
                    char *why, size_t nwhy)
{
        struct sweep_key *k;
        int err = fresh(s, level, name, strlen(name), &k);
        if (!err && k)
                err = add_value(k, value, strlen(value));
        return err ? no_memory(why, nwhy) : 0;
}

size_t sweep_count(const struct sweep *s)
{
        size_t n = 1;
        for (size_t i = 0; i < s->n; i++)
                n *= s->keys[i].n;
        return n;
}

void sweep_label(const struct sweep *s, size_t i, char *out, size_t n)
{
        size_t every = sweep_count(s), used = 0;

        *out = 0;
        for (size_t j = 0; j < s->n && used < n; j++) {
                const struct sweep_key *key = &s->keys[j];
                every /= key->n; /* jobs between two values of this key */
                if (key->n > 1)
                        used += (size_t)snprintf(out + used, n - used, "%s%s=%s", used ? " " : "",
                                                 key->name, key->v[i / every % key->n]);
        }
}

static int set_key(struct keys *k, const struct sweep_key *key, size_t value, char *why,
                   size_t nwhy)
{
        if (strcmp(key->v[value], "???"))
                return param_tab_set(&key_tab, k, key->name, key->v[value], why, nwhy);
        snprintf(why, nwhy, "%s has no value yet: give %s=", key->said, key->said);
        return -EINVAL;
}

static bool is_key(const char *name)
{
        for (size_t i = 0; i < key_tab.count; i++)
                if (!strcmp(key_tab.table[i].name, name))
                        return true;
        return false;
}

/* What the choice of `value` sets: its keys, and the key of the group's own name if there is one.
 */
static int set_group(const struct sweep_key *key, size_t value, struct keys *k, char *why,
                     size_t nwhy)
{
        const struct sweep *g = &key->groups[value];
        bool chosen = strcmp(key->v[value], "???") != 0;
        int err = is_key(key->name) || !chosen ? set_key(k, key, value, why, nwhy) : 0;
        for (size_t i = 0; i < g->n && !err; i++)
                err = set_key(k, &g->keys[i], 0, why, nwhy);
        return err;
}

enum turn { WEAK, GROUPS, STRONG };

/* Sets the keys of job i whose turn it is. */
static int set_turn(const struct sweep *s, size_t i, enum turn turn, struct keys *k, char *why,
                    size_t nwhy)
{
        int err = 0;
        for (size_t j = s->n; j-- > 0 && !err;) {
                const struct sweep_key *key = &s->keys[j];
                size_t value = i % key->n;
                i /= key->n;
                if ((key->groups ? GROUPS : key->level < SWEEP_GROUP ? WEAK : STRONG) != turn)
                        continue;
                err = key->groups ? set_group(key, value, k, why, nwhy)
                                  : set_key(k, key, value, why, nwhy);
        }
        return err;
}

int sweep_job(const struct sweep *s, size_t i, struct keys *k, char *why, size_t nwhy)
{
        if (param_tab_init(&key_tab, k))
                return no_memory(why, nwhy);
        int err = set_turn(s, i, WEAK, k, why, nwhy);
        if (!err)
                err = set_turn(s, i, GROUPS, k, why, nwhy);
        if (!err)
                err = set_turn(s, i, STRONG, k, why, nwhy);
        if (err)
                param_tab_release(&key_tab, k);
        return err;
}
