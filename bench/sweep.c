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
        for (size_t i = 0; i < k->n; i++)
                free(k->v[i]);
        free(k->v);
        k->v = NULL;
        k->n = 0;
}

void sweep_release(struct sweep *s)
{
        for (size_t i = 0; i < s->n; i++) {
                release_values(&s->keys[i]);
                free(s->keys[i].name);
        }
        free(s->keys);
        *s = (struct sweep){0};
}

static struct sweep_key *find_or_add(struct sweep *s, const char *name, size_t len)
{
        for (size_t i = 0; i < s->n; i++)
                if (strlen(s->keys[i].name) == len && !memcmp(s->keys[i].name, name, len))
                        return &s->keys[i];
        struct sweep_key *v = realloc(s->keys, (s->n + 1) * sizeof *v);
        if (!v)
                return NULL;
        s->keys = v;
        v[s->n] = (struct sweep_key){.name = strndup(name, len)};
        return v[s->n].name ? &v[s->n++] : NULL;
}

static int add_value(struct sweep_key *k, const char *p, size_t n)
{
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
        v[k->n] = strndup(p, n);
        return v[k->n] ? (k->n++, 0) : -ENOMEM;
}

/* Names of the suites that mean a key of ours. */
static const char *const aliases[][2] = {
        {"checkpoint.storage", "storage"},
        {"checkpoint.suffix", "suffix"},
};

/* The key of that name without values. NULL: no memory. */
static struct sweep_key *fresh(struct sweep *s, const char *name, size_t n)
{
        for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
                if (strlen(aliases[i][0]) == n && !memcmp(aliases[i][0], name, n)) {
                        name = aliases[i][1];
                        n = strlen(name);
                }
        struct sweep_key *k = find_or_add(s, name, n);
        if (k)
                release_values(k);
        return k;
}

static int no_memory(char *why, size_t nwhy)
{
        snprintf(why, nwhy, "out of memory: free some");
        return -ENOMEM;
}

static int add_list(struct sweep *s, const char *name, size_t nname, const char *list, char *why,
                    size_t nwhy)
{
        struct sweep_key *k = fresh(s, name, nname);
        if (!k)
                return no_memory(why, nwhy);
        for (const char *p = list;; p++) {
                size_t n = strcspn(p, ",");
                if (add_value(k, p, n))
                        return no_memory(why, nwhy);
                p += n;
                if (!*p)
                        return 0;
        }
}

int sweep_add(struct sweep *s, const char *arg, char *why, size_t nwhy)
{
        const char *name = *arg == '+' ? arg + 1 : arg;
        const char *eq = strchr(name, '=');

        if (!eq || eq == name) {
                snprintf(why, nwhy, "'%s' is no key=value: see ckptbench --help", arg);
                return -EINVAL;
        }
        return add_list(s, name, (size_t)(eq - name), eq + 1, why, nwhy);
}

int sweep_add_values(struct sweep *s, const char *name, const char *list, char *why, size_t nwhy)
{
        name += *name == '+';
        return add_list(s, name, strlen(name), list, why, nwhy);
}

int sweep_add_value(struct sweep *s, const char *name, const char *value, char *why, size_t nwhy)
{
        struct sweep_key *k = fresh(s, name, strlen(name));
        return k && !add_value(k, value, strlen(value)) ? 0 : no_memory(why, nwhy);
}

size_t sweep_count(const struct sweep *s)
{
        size_t n = 1;
        for (size_t i = 0; i < s->n; i++)
                n *= s->keys[i].n;
        return n;
}

int sweep_job(const struct sweep *s, size_t i, struct keys *k, char *why, size_t nwhy)
{
        int err = param_tab_init(&key_tab, k);
        if (err)
                no_memory(why, nwhy);
        for (size_t j = s->n; j-- > 0 && !err;) {
                const struct sweep_key *key = &s->keys[j];
                const char *value = key->v[i % key->n];
                if (!strcmp(value, "???")) {
                        snprintf(why, nwhy, "%s has no value yet: give %s=", key->name, key->name);
                        err = -EINVAL;
                } else {
                        err = param_tab_set(&key_tab, k, key->name, value, why, nwhy);
                }
                i /= key->n;
        }
        if (err)
                param_tab_release(&key_tab, k);
        return err;
}
