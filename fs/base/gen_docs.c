/* SPDX-License-Identifier: Apache-2.0 */
/* gen_docs.c: prints the tables of options and metrics for the documents that repeat them.
 *
 *      gen_docs mdoc       ckptfs.conf(5): list items of the options
 *      gen_docs metrics    ckptfs.conf(5): list items of the metrics
 *      gen_docs yaml       conf/ckptfs.yaml
 *      gen_docs names      one option a line, for the drift test */
#include <stdio.h>
#include <string.h>

#include "base/metrics.h"
#include "base/params.h"

#include "base/banned.h"

/* Text for mdoc: a backslash is escaped, and each sentence begins a line. */
static void print_roff(const char *s)
{
        for (; *s; s++) {
                if (*s == '\\')
                        fputs("\\e", stdout);
                else if (s[0] == ' ' && s[-1] == '.')
                        putchar('\n');
                else
                        putchar(*s);
        }
        putchar('\n');
}

static void print_type(const struct param_desc *d)
{
        if (d->type == PARAM_CHOICE || d->type == PARAM_BOOL)
                printf(".It Cm %s Ns = Ns Cm %s\n", d->name, param_type_word(d));
        else
                printf(".It Cm %s Ns = Ns Ar %s\n", d->name, param_type_word(d));
}

static void print_mdoc(void)
{
        for (size_t i = 0; i < param_count; i++) {
                const struct param_desc *d = &param_table[i];
                print_type(d);
                print_roff(d->help);
                if (*d->def)
                        printf("The default is\n.Cm %s .\n", d->def);
                if (*d->hi)
                        printf("From\n.Cm %s\nto\n.Cm %s .\n", d->lo, d->hi);
        }
}

static void print_metrics(void)
{
        for (int i = 0; i < METRIC_COUNT; i++) {
                const struct metric_desc *m = &metric_table[i];
                printf(".It Cm %s Pq %s%s\n", m->name, m->unit,
                       m->kind == METRIC_GAUGE ? ", at this time" : "");
                print_roff(m->text);
        }
}

static void print_yaml(void)
{
        puts("# SPDX-License-Identifier: Apache-2.0\n"
             "# ckptfs.yaml: every option with its default; see ckptfs.conf(5).\n"
             "# Made from fs/base/params.def: ckptfs -c FILE reads a copy, in which a line\n"
             "# without its '#' takes effect. The command line goes before the file.");
        for (size_t i = 0; i < param_count; i++) {
                const struct param_desc *d = &param_table[i];
                printf("\n# %s\n", d->help);
                if (d->type == PARAM_CHOICE)
                        printf("# One of %s.\n", d->lo);
                else if (*d->hi)
                        printf("# From %s to %s.\n", d->lo, d->hi);
                printf("#%s: %s\n", d->name, *d->def ? d->def : "\"\"");
        }
}

int main(int argc, char **argv)
{
        const char *what = argc == 2 ? argv[1] : "";

        if (!strcmp(what, "mdoc")) {
                print_mdoc();
        } else if (!strcmp(what, "metrics")) {
                print_metrics();
        } else if (!strcmp(what, "yaml")) {
                print_yaml();
        } else if (!strcmp(what, "names")) {
                for (size_t i = 0; i < param_count; i++)
                        puts(param_table[i].name);
        } else {
                fputs("gen_docs: give one of mdoc, metrics, yaml, names\n", stderr);
                return 2;
        }
        return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
