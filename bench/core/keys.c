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

void keys_json(const struct keys *k, struct json *to)
{
        for (size_t i = 0; i < key_tab.count; i++) {
                const struct param_desc *d = &table[i];
                const void *at = (const char *)k + d->offset;
                char text[32];

                switch (d->type) {
                case PARAM_STRING:
                        json_add_string(to, d->name, *(char *const *)at);
                        break;
                case PARAM_CHOICE:
                        json_add_string(to, d->name,
                                        param_word(d, *(const unsigned *)at, text, sizeof text));
                        break;
                case PARAM_BOOL:
                        json_add_bool(to, d->name, *(const bool *)at);
                        break;
                case PARAM_MODE:
                        json_add_number(to, d->name, *(const unsigned *)at);
                        break;
                case PARAM_SIZE:
                case PARAM_UINT:
                case PARAM_DURATION:
                        json_add_number(to, d->name, (double)*(const uint64_t *)at);
                        break;
                }
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
