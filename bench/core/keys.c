/* SPDX-License-Identifier: Apache-2.0 */
/* keys.c: see keys.h. */
#include "bench/core/keys.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define KEY(field, name, type, def, lo, hi, help)                                                  \
        {name, PARAM_##type, offsetof(struct keys, field), def, lo, hi, help},
#define KEY_OF(scenarios, field, name, type, def, lo, hi, help)                                    \
        {name, PARAM_##type, offsetof(struct keys, field), def, lo, hi, scenarios ": " help},
static const struct param_desc table[] = {
#include "bench/core/keys.def"
};
#define KEY(...)               NULL,
#define KEY_OF(scenarios, ...) scenarios,
static const char *const readers[] = {
#include "bench/core/keys.def"
};
const struct param_tab key_tab = {table, sizeof table / sizeof table[0], "key"};

/* Whether a list of patterns names the scenario. */
static bool names(const char *list, const char *scenario)
{
        char pattern[64];
        int used = 0;

        for (const char *p = list; sscanf(p, " %63[^, ]%n", pattern, &used) == 1; p += used) {
                if (!fnmatch(pattern, scenario, 0))
                        return true;
                used += p[used] == ',';
        }
        return false;
}

const char *keys_readers(const char *key, const char *scenario)
{
        for (size_t i = 0; i < key_tab.count; i++)
                if (!strcmp(table[i].name, key))
                        return readers[i] && !names(readers[i], scenario) ? readers[i] : NULL;
        return NULL;
}

static void add_value(struct json *to, const char *name, const struct keys *k,
                      const struct param_desc *d)
{
        const void *at = (const char *)k + d->offset;
        char text[32];

        switch (d->type) {
        case PARAM_STRING:
                json_add_string(to, name, *(char *const *)at);
                break;
        case PARAM_CHOICE:
                json_add_string(to, name, param_word(d, *(const unsigned *)at, text, sizeof text));
                break;
        case PARAM_BOOL:
                json_add_bool(to, name, *(const bool *)at);
                break;
        case PARAM_MODE:
                json_add_number(to, name, *(const unsigned *)at);
                break;
        case PARAM_SIZE:
        case PARAM_UINT:
        case PARAM_USER:
        case PARAM_GROUP:
        case PARAM_AUTO:
        case PARAM_DURATION:
                json_add_number(to, name, (double)*(const uint64_t *)at);
                break;
        }
}

static bool is_key(const char *name, size_t n)
{
        for (size_t i = 0; i < key_tab.count; i++)
                if (strlen(table[i].name) == n && !memcmp(table[i].name, name, n))
                        return true;
        return false;
}

/* The object that "a.b.c" stands in, as a.b, and its name there. Below a name that is a key itself
 * nothing can stand: "model.layers" keeps its dot. */
static struct json *nest(struct json *to, const char **name)
{
        const char *all = *name, *dot;
        char word[64];

        for (; (dot = strchr(*name, '.')); *name = dot + 1) {
                const size_t n = (size_t)(dot - all);
                if (is_key(all, n) && strncmp(all, "dataloader", n) != 0) {
                        *name = all;
                        return to;
                }
                snprintf(word, sizeof word, "%.*s", (int)(dot - *name), *name);
                to = json_open_object(to, word);
        }
        return to;
}

/* Where "config" has a key, as the suites' files do; NULL: another key says it. */
static const char *name_in_config(const struct keys *k, const char *name)
{
        if (!strcmp(name, "dataloader"))
                return *k->loader_kind ? NULL : "dataloader.kind";
        return !strcmp(name, "dataloader.kind") && !*k->loader_kind ? NULL : name;
}

const char *const key_aliases[][2] = {
        {"checkpoint.storage", "storage"},
        {"checkpoint.suffix", "suffix"},
        {NULL, NULL},
};

static void add_nested(struct json *to, const char *name, const struct keys *k,
                       const struct param_desc *d)
{
        struct json *in = nest(to, &name);
        add_value(in, name, k, d);
}

void keys_json(const struct keys *k, struct json *to)
{
        for (size_t i = 0; i < key_tab.count; i++) {
                const char *name = name_in_config(k, table[i].name);
                if (name)
                        add_nested(to, name, k, &table[i]);
                for (size_t a = 0; key_aliases[a][0]; a++)
                        if (!strcmp(key_aliases[a][1], table[i].name))
                                add_nested(to, key_aliases[a][0], k, &table[i]);
        }
}

/* A value as the parser takes it. */
static void pack_value(const struct keys *k, const struct param_desc *d, struct buf *to)
{
        const void *at = (const char *)k + d->offset;
        char word[32];

        switch (d->type) {
        case PARAM_STRING:
                buf_adds(to, *(char *const *)at);
                break;
        case PARAM_CHOICE:
                buf_adds(to, param_word(d, *(const unsigned *)at, word, sizeof word));
                break;
        case PARAM_BOOL:
                buf_adds(to, *(const bool *)at ? "on" : "off");
                break;
        case PARAM_MODE:
                buf_addf(to, "%o", *(const unsigned *)at);
                break;
        case PARAM_SIZE:
        case PARAM_UINT:
        case PARAM_USER:
        case PARAM_GROUP:
        case PARAM_AUTO:
                if (d->type == PARAM_AUTO && !*(const uint64_t *)at)
                        buf_adds(to, "auto");
                else
                        buf_addf(to, "%llu", (unsigned long long)*(const uint64_t *)at);
                break;
        case PARAM_DURATION:
                buf_addf(to, "%llums", (unsigned long long)*(const uint64_t *)at);
                break;
        }
}

int keys_pack(const struct keys *k, struct buf *to)
{
        for (size_t i = 0; i < key_tab.count; i++) {
                buf_addf(to, "%s=", table[i].name);
                pack_value(k, &table[i], to);
                buf_addc(to, 0);
        }
        return to->failed ? -ENOMEM : 0;
}

int keys_unpack(struct keys *k, const char *p, size_t n)
{
        char name[64], why[256];
        int err = param_tab_init(&key_tab, k);

        for (const char *end = p + n; p < end && !err; p += strlen(p) + 1) {
                size_t len = strcspn(p, "=");
                if (!memchr(p, 0, (size_t)(end - p)) || !p[len] || len >= sizeof name)
                        err = -EINVAL;
                else {
                        snprintf(name, sizeof name, "%.*s", (int)len, p);
                        err = param_tab_set(&key_tab, k, name, p + len + 1, why, sizeof why);
                }
        }
        if (err)
                param_tab_release(&key_tab, k);
        return err;
}
