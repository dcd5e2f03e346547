/* SPDX-License-Identifier: Apache-2.0 */
/* params_doc.c: tables of options as text for people: help, manual, sample, completion. */
#include "base/params.h"

#include <string.h>

#include "base/banned.h"

void param_tab_help(const struct param_tab *t, FILE *to)
{
        for (size_t i = 0; i < t->count; i++) {
                const struct param_desc *d = &t->table[i];
                fprintf(to, "  %s=%s", d->name, param_type_word(d));
                if (*d->def)
                        fprintf(to, "  [%s]", d->def);
                if (param_has_bounds(d))
                        fprintf(to, "  %s to %s", d->lo, d->hi);
                fprintf(to, "\n        %s\n", d->help);
        }
}

void params_help(FILE *to)
{
        param_tab_help(&param_options, to);
}

/* Text for mdoc: a backslash is escaped, and each sentence begins a line. */
static void put_roff(const char *s, FILE *to)
{
        for (char before = 0; *s; before = *s++) {
                if (*s == '\\')
                        fputs("\\e", to);
                else if (*s == ' ' && before == '.')
                        putc('\n', to);
                else
                        putc(*s, to);
        }
        putc('\n', to);
}

void param_tab_mdoc(const struct param_tab *t, FILE *to)
{
        for (size_t i = 0; i < t->count; i++) {
                const struct param_desc *d = &t->table[i];
                bool words = d->type == PARAM_CHOICE || d->type == PARAM_BOOL;
                fprintf(to, ".It Cm %s Ns = Ns %s %s\n", d->name, words ? "Cm" : "Ar",
                        param_type_word(d));
                put_roff(d->help, to);
                if (*d->def)
                        fprintf(to, "The default is\n.Cm %s .\n", d->def);
                if (param_has_bounds(d))
                        fprintf(to, "From\n.Cm %s\nto\n.Cm %s .\n", d->lo, d->hi);
        }
}

void param_tab_yaml(const struct param_tab *t, FILE *to)
{
        for (size_t i = 0; i < t->count; i++) {
                const struct param_desc *d = &t->table[i];
                fprintf(to, "\n# %s\n", d->help);
                if (d->type == PARAM_CHOICE)
                        fprintf(to, "# One of %s.\n", d->lo);
                else if (param_has_bounds(d))
                        fprintf(to, "# From %s to %s.\n", d->lo, d->hi);
                fprintf(to, "#%s: %s\n", d->name, *d->def ? d->def : "\"\"");
        }
}

void param_tab_words(const struct param_tab *t, FILE *to)
{
        for (size_t i = 0; i < t->count; i++)
                fprintf(to, "%s=%s\n", t->table[i].name, param_type_word(&t->table[i]));
}
