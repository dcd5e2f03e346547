/* SPDX-License-Identifier: Apache-2.0 */
/* keys.c: see keys.h. */
#include "bench/keys.h"

#include <string.h>

#include "base/banned.h"

#define KEY(field, name, type, def, lo, hi, help)                                                  \
        {name, PARAM_##type, offsetof(struct keys, field), def, lo, hi, help},
static const struct param_desc table[] = {
#include "bench/keys.def"
};
const struct param_tab key_tab = {table, sizeof table / sizeof table[0], "key"};

/* Prints `text` in lines of at most 78 columns, indented by 8. */
static void print_wrapped(FILE *to, const char *text)
{
        while (*text) {
                size_t n = strlen(text);
                if (n > 70) {
                        n = 70;
                        while (n && text[n] != ' ')
                                n--;
                        if (!n)
                                n = 70;
                }
                fprintf(to, "        %.*s\n", (int)n, text);
                text += n;
                while (*text == ' ')
                        text++;
        }
}

void keys_help(FILE *to)
{
        for (size_t i = 0; i < key_tab.count; i++) {
                const struct param_desc *d = &table[i];
                fprintf(to, "  %s=%s", d->name, d->def);
                if (d->type == PARAM_CHOICE)
                        fprintf(to, "  (%s)", d->lo);
                else if (*d->lo)
                        fprintf(to, "  (%s to %s)", d->lo, d->hi);
                else if (d->type == PARAM_BOOL)
                        fprintf(to, "  (on or off)");
                fputc('\n', to);
                print_wrapped(to, d->help);
        }
}

/* The index-th of words split by '|', into `out`. */
static const char *word(const char *words, unsigned index, char *out, size_t n)
{
        while (index-- && (words = strchr(words, '|')))
                words++;
        snprintf(out, n, "%.*s", words ? (int)strcspn(words, "|") : 0, words ? words : "");
        return out;
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
                                        word(d->lo, *(const unsigned *)at, text, sizeof text));
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
