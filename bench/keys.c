/* SPDX-License-Identifier: Apache-2.0 */
/* keys.c: see keys.h. */
#include "bench/keys.h"

#include "base/banned.h"

#define KEY(field, name, type, def, lo, hi, help)                                                  \
        {name, PARAM_##type, offsetof(struct keys, field), def, lo, hi, help},
static const struct param_desc table[] = {
#include "bench/keys.def"
};
const struct param_tab key_tab = {table, sizeof table / sizeof table[0], "key"};

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
