/* SPDX-License-Identifier: Apache-2.0 */
/* gen_keys.c: prints the tables of keys and scenarios for the documents that repeat them.
 *
 *      gen_keys mdoc       ckptbench(1): list items of the keys
 *      gen_keys words      completion of bash: one key a line, with what stands for its value, and
 *                          the scenarios that read it where not all do
 *      gen_keys scenarios  completion of bash: one scenario a line, with its own flags, of which
 *                          those with a value end in '=' */
#include <stdio.h>
#include <string.h>

#include "bench/core/io.h"
#include "bench/core/keys.h"
#include "bench/core/run.h"
#include "bench/data/model.h"

#include "base/banned.h"

/* The values that a text can have are in tables of their own. */
static void print_type(const struct param_desc *d)
{
        if (!strcmp(d->name, "storage")) {
                for (size_t i = 0; i < io_nstorages; i++)
                        printf("%s%s", i ? "|" : "", io_storages[i].name);
        } else if (!strcmp(d->name, "model")) {
                fputs("auto", stdout);
                for (size_t i = 0; i < model_count; i++)
                        printf("|%s", model_table[i].name);
        } else {
                fputs(param_type_word(d), stdout);
        }
}

static void print_words(void)
{
        for (size_t k = 0; k < key_tab.count; k++) {
                const char *key = key_tab.table[k].name;
                size_t readers = 0;
                printf("%s=", key);
                print_type(&key_tab.table[k]);
                for (size_t i = 0; i < scenario_count; i++)
                        readers += !keys_readers(key, scenarios[i]->name);
                for (size_t i = 0; i < scenario_count && readers < scenario_count; i++)
                        if (!keys_readers(key, scenarios[i]->name))
                                printf(" %s", scenarios[i]->name);
                putchar('\n');
        }
}

static void print_scenarios(void)
{
        for (size_t i = 0; i < scenario_count; i++) {
                fputs(scenarios[i]->name, stdout);
                for (const struct run_flag *f = scenarios[i]->flags; f && f->name; f++)
                        printf(" %s%s", f->name, f->value ? "" : "=");
                putchar('\n');
        }
}

int main(int argc, char **argv)
{
        const char *what = argc == 2 ? argv[1] : "";

        if (!strcmp(what, "mdoc")) {
                param_tab_mdoc(&key_tab, stdout);
        } else if (!strcmp(what, "words")) {
                print_words();
        } else if (!strcmp(what, "scenarios")) {
                print_scenarios();
        } else {
                fputs("gen_keys: give one of mdoc, words, scenarios\n", stderr);
                return 2;
        }
        return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
