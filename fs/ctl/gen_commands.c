/* SPDX-License-Identifier: Apache-2.0 */
/* gen_commands.c: prints the commands of ckptctl for the completion of bash, one a line: its words
 * joined by '/', what follows them, and its options, those with a value ending in '='. */
#include <getopt.h>
#include <stdio.h>

#include "base/banned.h"

enum {
#define OPTION(id, ...) OPT_##id,
#include "ctl/commands.def"
};
#define HAS(id) (1U << OPT_##id)

static const struct {
        const char *name;
        int has_arg;
} options[] = {
#define OPTION(id, name, has_arg) {name, has_arg},
#include "ctl/commands.def"
};

static const struct {
        const char *first, *second, *takes;
        unsigned has;
} commands[] = {
#define COMMAND(first, second, run, takes, has) {first, second, #takes, has},
#include "ctl/commands.def"
};

int main(void)
{
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
                printf("%s%s%s %s", commands[i].first, commands[i].second ? "/" : "",
                       commands[i].second ? commands[i].second : "", commands[i].takes);
                for (unsigned o = 0; commands[i].has >> o; o++)
                        if (commands[i].has >> o & 1U)
                                printf(" --%s%s", options[o].name,
                                       options[o].has_arg == required_argument ? "=" : "");
                putchar('\n');
        }
        return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
