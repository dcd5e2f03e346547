/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c: see sweep.h. */
#include "bench/cli/sweep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/cli/interpolate.h"
#include "bench/cli/sweep_list.h"

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

static void release_key(struct sweep_key *k)
{
        release_values(k);
        free(k->name);
        free(k->said);
}

void sweep_release(struct sweep *s)
{
        for (size_t i = 0; i < s->n; i++)
                release_key(&s->keys[i]);
        free(s->keys);
        *s = (struct sweep){0};
}

/* Our name for *name, of *len bytes. */
static void canonical(const char **name, size_t *len)
{
        for (size_t i = 0; key_aliases[i][0]; i++)
                if (strlen(key_aliases[i][0]) == *len && !memcmp(key_aliases[i][0], *name, *len)) {
                        *name = key_aliases[i][1];
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

static int add_text(struct sweep_key *k, const char *text)
{
        char **v = realloc(k->v, (k->n + 1) * sizeof *v);
        if (!v)
                return -ENOMEM;
        k->v = v;
        v[k->n] = strdup(text);
        return v[k->n] ? (k->n++, 0) : -ENOMEM;
}

static int add_value(void *arg, const char *text, bool literal)
{
        char number[24];
        return add_text(arg, literal ? text : product(text, number, sizeof number));
}

/* The whole of a text, without the blanks around it. */
static int add_trimmed(struct sweep_key *k, const char *p)
{
        p += strspn(p, " ");
        size_t n = strlen(p);
        while (n && p[n - 1] == ' ')
                n--;
        CLEANUP(freep) char *text = strndup(p, n);
        return text ? add_value(k, text, false) : -ENOMEM;
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
        int err = fresh(s, level, name, nname, &k);
        if (!err && k)
                err = sweep_list(k->said, list, add_value, k, why, nwhy);
        return err == -ENOMEM ? no_memory(why, nwhy) : err;
}

/* Of a word without a value. */
static int say_no_value(const char *arg, char *why, size_t nwhy)
{
        const char *name = arg + strspn(arg, "+"), *near = param_tab_near(&key_tab, name);

        if (near)
                snprintf(why, nwhy, "'%s' has no value: give %s=VALUE", arg, near);
        else
                snprintf(why, nwhy,
                         "'%s' is no key=value, and no flag of this scenario: see ckptbench help "
                         "keys",
                         arg);
        return -EINVAL;
}

int sweep_add(struct sweep *s, enum sweep_level level, const char *arg, char *why, size_t nwhy)
{
        const char *name = arg + strspn(arg, "+");
        const char *eq = strchr(name, '=');

        if (!eq || eq == name)
                return say_no_value(arg, why, nwhy);
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
                err = add_trimmed(k, value);
        return err ? no_memory(why, nwhy) : 0;
}

int sweep_remove(struct sweep *s, const char *arg, char *why, size_t nwhy)
{
        const char *said = arg + strspn(arg, "~"), *name = said;
        size_t n = strcspn(name, "="), len = n;
        const char *value = name[n] ? name + n + 1 : NULL;

        canonical(&name, &len);
        struct sweep_key *k = find(s, name, len);
        if (!k) {
                snprintf(why, nwhy, "~%.*s: nobody gave a value to take away: leave it out", (int)n,
                         said);
                return -ENOENT;
        }
        if (value && (k->n != 1 || strcmp(k->v[0], value) != 0)) {
                snprintf(why, nwhy, "~%.*s=%s: its value is %s: give that, or ~%.*s", (int)n, said,
                         value, k->n == 1 ? k->v[0] : "a list", (int)n, said);
                return -ENOENT;
        }
        release_key(k);
        memmove(k, k + 1, (size_t)(s->keys + s->n - (k + 1)) * sizeof *k);
        s->n--;
        return 0;
}

/* With the NUL, so that "ab", "c" is not "a", "bc". */
static uint32_t add_digest(uint32_t sum, const char *text)
{
        return crc32c(sum, text, strlen(text) + 1);
}

uint32_t sweep_digest(const struct sweep *s)
{
        uint32_t sum = 0;
        for (size_t i = 0; i < s->n; i++) {
                const struct sweep_key *k = &s->keys[i];
                sum = add_digest(sum, k->name);
                for (size_t v = 0; v < k->n; v++) {
                        uint32_t inside = k->groups ? sweep_digest(&k->groups[v]) : 0;
                        sum = crc32c(add_digest(sum, k->v[v]), &inside, sizeof inside);
                }
        }
        return sum;
}

size_t sweep_count(const struct sweep *s)
{
        size_t n = 1;
        for (size_t i = 0; i < s->n && n <= SWEEP_JOBS_MAX; i++)
                n *= s->keys[i].n;
        return n <= SWEEP_JOBS_MAX ? n : SWEEP_JOBS_MAX + 1;
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

/* --- the keys of a job --- */

struct job {
        const struct sweep *s;
        size_t i;
        struct keys *k;
        char *why;
        size_t nwhy;
        char now[256]; /* what find_in_dir() found last */
};

enum turn { WEAK, GROUPS, STRONG };

static enum turn turn_of(const struct sweep_key *key)
{
        return key->groups ? GROUPS : key->level < SWEEP_GROUP ? WEAK : STRONG;
}

/* The text that a job has for a key: the strongest word, or the table's default. */
static bool find_text(void *arg, const char *name, struct interpolate_key *out)
{
        const struct job *job = arg;
        const char *ours = name;
        size_t len = strlen(name), i = job->i;
        int strength = -1;

        canonical(&ours, &len);
        for (size_t j = job->s->n; j-- > 0;) {
                const struct sweep_key *key = &job->s->keys[j], *in = NULL;
                size_t value = i % key->n;
                i /= key->n;
                if (!strcmp(key->name, ours)) {
                        in = key;
                } else if (key->groups) {
                        in = find(&key->groups[value], ours, len);
                        value = 0;
                }
                if (!in || (int)turn_of(key) < strength)
                        continue;
                strength = (int)turn_of(key);
                *out = (struct interpolate_key){in->said, in->v[value]};
        }
        for (size_t d = 0; d < key_tab.count && strength < 0; d++)
                if (!strcmp(key_tab.table[d].name, ours)) {
                        *out = (struct interpolate_key){key_tab.table[d].name,
                                                        key_tab.table[d].def};
                        strength = 0;
                }
        return strength >= 0;
}

/* The same of the directory of results, which rank 0 alone makes: the time, and what Hydra calls
 * the job. */
static bool find_in_dir(void *arg, const char *name, struct interpolate_key *out)
{
        struct job *job = arg;
        const char *config = job->s->config_name ? job->s->config_name : "";
        time_t t = time(NULL);
        struct tm tm;

        *out = (struct interpolate_key){name, config};
        if (!strcmp(name, "hydra.job.config_name"))
                return *config;
        if (strncmp(name, "now:", 4) != 0)
                return find_text(arg, name, out);
        localtime_r(&t, &tm);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the user's */
        size_t n = strftime(job->now, sizeof job->now, name + 4, &tm);
#pragma GCC diagnostic pop
        out->text = job->now;
        return n;
}

static int set_key(struct job *job, const struct sweep_key *key, size_t value)
{
        CLEANUP(buf_release) struct buf filled = BUF_INIT;
        const struct interpolate_key with = {key->said, key->v[value]};
        const char *text = with.text;
        char number[24];

        if (!strcmp(text, "???")) {
                snprintf(job->why, job->nwhy, "%s has no value yet: give %s=", key->said,
                         key->said);
                return -EINVAL;
        }
        if (strstr(text, "${")) {
                bool dir = !strcmp(key->name, "hydra.sweep.dir");
                int err = interpolate(&with, dir ? find_in_dir : find_text, job, &filled, job->why,
                                      job->nwhy);
                if (err)
                        return err == -ENOMEM ? no_memory(job->why, job->nwhy) : err;
                text = product(filled.p, number, sizeof number);
        }
        return param_tab_set(&key_tab, job->k, key->name, text, job->why, job->nwhy);
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
static int set_group(struct job *job, const struct sweep_key *key, size_t value)
{
        const struct sweep *g = &key->groups[value];
        bool chosen = strcmp(key->v[value], "???") != 0;
        int err = is_key(key->name) || !chosen ? set_key(job, key, value) : 0;
        for (size_t i = 0; i < g->n && !err; i++)
                err = set_key(job, &g->keys[i], 0);
        return err;
}

/* Sets the keys whose turn it is. */
static int set_turn(struct job *job, enum turn turn)
{
        size_t i = job->i;
        int err = 0;
        for (size_t j = job->s->n; j-- > 0 && !err;) {
                const struct sweep_key *key = &job->s->keys[j];
                size_t value = i % key->n;
                i /= key->n;
                if (turn_of(key) == turn)
                        err = key->groups ? set_group(job, key, value) : set_key(job, key, value);
        }
        return err;
}

int sweep_job(const struct sweep *s, size_t i, struct keys *k, char *why, size_t nwhy)
{
        struct job job = {s, i, k, why, nwhy, ""};

        if (param_tab_init(&key_tab, k))
                return no_memory(why, nwhy);
        int err = set_turn(&job, WEAK);
        if (!err)
                err = set_turn(&job, GROUPS);
        if (!err)
                err = set_turn(&job, STRONG);
        if (err)
                param_tab_release(&key_tab, k);
        return err;
}
