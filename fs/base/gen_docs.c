/* SPDX-License-Identifier: Apache-2.0 */
/* gen_docs.c: prints the tables of options and metrics for the documents that repeat them.
 *
 *      gen_docs mdoc       ckptfs.conf(5): list items of the options
 *      gen_docs metrics    ckptfs.conf(5): list items of the metrics
 *      gen_docs times      ckptfs.conf(5): list items of the metrics by operation
 *      gen_docs yaml       conf/ckptfs.yaml
 *      gen_docs words      completion of bash: one option a line, with what stands for its value
 *      gen_docs names      one option a line, for the drift test */
#include <stdio.h>
#include <string.h>

#include "base/metrics.h"
#include "base/params.h"

#include "base/banned.h"

static void print_metrics(void)
{
        for (int i = 0; i < METRIC_COUNT; i++) {
                const struct metric_desc *m = &metric_table[i];
                printf(".It Cm %s Pq %s%s\n", m->name, m->unit,
                       m->kind == METRIC_GAUGE ? ", at this time" : "");
                printf("%s\n", m->text);
        }
}

static void print_times(void)
{
        for (int i = 0; i < TIMES_COUNT; i++)
                printf(".It Cm %s Pq histogram of seconds, by operation\n%s\n",
                       metric_times_table[i].name, metric_times_table[i].text);
        for (int i = 0; i < REPLIES_COUNT; i++)
                printf(".It Cm %s Pq replies, by operation and code\n%s\n",
                       metric_replies_table[i].name, metric_replies_table[i].text);
}

int main(int argc, char **argv)
{
        const char *what = argc == 2 ? argv[1] : "";

        if (!strcmp(what, "mdoc")) {
                param_tab_mdoc(&param_options, stdout);
        } else if (!strcmp(what, "metrics")) {
                print_metrics();
        } else if (!strcmp(what, "times")) {
                print_times();
        } else if (!strcmp(what, "yaml")) {
                puts("# SPDX-License-Identifier: Apache-2.0\n"
                     "# ckptfs.yaml: every option with its default; see ckptfs.conf(5).\n"
                     "# Made from fs/base/params.def: ckptfs -c FILE reads a copy, in which a "
                     "line\n"
                     "# without its '#' takes effect. The command line goes before the file.");
                param_tab_yaml(&param_options, stdout);
        } else if (!strcmp(what, "words")) {
                param_tab_words(&param_options, stdout);
        } else if (!strcmp(what, "names")) {
                for (size_t i = 0; i < param_count; i++)
                        puts(param_table[i].name);
        } else {
                fputs("gen_docs: give one of mdoc, metrics, times, yaml, words, names\n", stderr);
                return 2;
        }
        return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
