/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: the command `ckptctl`: reads the command line, opens the store, runs a command. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/conf.h"
#include "base/log.h"
#include "base/params.h"
#include "ctl/ctl.h"
#include "store.h"

#include "base/banned.h"

static const char usage[] =
        "usage: ckptctl uploads list URL [--key KEY] [--older TIME]\n"
        "       ckptctl uploads abort URL [--key KEY] [--older TIME] [--yes]\n"
        "       ckptctl recover URL [--key KEY] [--force | --discard] [--older TIME]\n"
        "URL is s3://BUCKET[/PREFIX] or gs://BUCKET[/PREFIX], as mounted. Everywhere:\n"
        "  -o LIST       options of ckptfs that say how to reach the store, separated by commas\n"
        "  -c FILE       read options from a YAML file; -o takes precedence\n"
        "  -V, --version print the version\n"
        "  -h, --help    print this help\n"
        "uploads: what crashed programs left unfinished at the store\n"
        "  --key KEY     only those of this key, relative to URL\n"
        "  --older TIME  only those begun longer ago: 90s, 30m, 12h, 1d\n"
        "  --yes         all of them, also those of programs that write now\n"
        "recover: finishes interrupted renames and shows changes that lost to another host's\n"
        "  --force       publish those over what the other host wrote\n"
        "  --discard     forget those\n"
        "  --older TIME  remove what mounts that died left of deleted files as long ago\n";

struct command {
        struct ctl ctl;
        struct params params;
        const char *file, *url;
        int (*run)(const struct ctl *c);
};

static const struct {
        const char *words[2]; /* the second may be NULL */
        int (*run)(const struct ctl *c);
} commands[] = {
        {{"uploads", "list"}, ctl_uploads_list},
        {{"uploads", "abort"}, ctl_uploads_abort},
        {{"recover", NULL}, ctl_recover},
};

enum { OPT_KEY = 256, OPT_OLDER, OPT_YES, OPT_FORCE, OPT_DISCARD };

static const struct option long_options[] = {
        {"key", required_argument, NULL, OPT_KEY},   {"older", required_argument, NULL, OPT_OLDER},
        {"yes", no_argument, NULL, OPT_YES},         {"force", no_argument, NULL, OPT_FORCE},
        {"discard", no_argument, NULL, OPT_DISCARD}, {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},         {NULL, 0, NULL, 0},
};

static int parse_option(struct command *c, int opt, char **argv, char *why)
{
        switch (opt) {
        case 'o':
                return 0; /* after the file */
        case 'c':
                c->file = optarg;
                return 0;
        case OPT_KEY:
                c->ctl.key = optarg;
                return 0;
        case OPT_OLDER:
                c->ctl.has_age = true;
                if (!parse_duration(optarg, &c->ctl.older_ms))
                        return 0;
                snprintf(why, CTL_WHY_MAX, "--older %s: not a time: give one as 90s, 30m, 12h, 1d",
                         optarg);
                return -1;
        case OPT_YES:
                c->ctl.yes = true;
                return 0;
        case OPT_FORCE:
                c->ctl.force = true;
                return 0;
        case OPT_DISCARD:
                c->ctl.discard = true;
                return 0;
        case 'V':
                puts("ckptctl " PACKAGE_VERSION);
                exit(EXIT_SUCCESS);
        case 'h':
                fputs(usage, stdout);
                exit(EXIT_SUCCESS);
        default:
                snprintf(why, CTL_WHY_MAX,
                         "%s is not an option, or lacks its value: see ckptctl -h",
                         argv[optind - 1]);
                return -1;
        }
}

/* The words that are no options: a command and the URL. */
static int parse_words(struct command *c, char **words, char *why)
{
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
                size_t n = commands[i].words[1] ? 2 : 1;
                if (!words[0] || strcmp(words[0], commands[i].words[0]) ||
                    (n == 2 && (!words[1] || strcmp(words[1], commands[i].words[1]))))
                        continue;
                c->run = commands[i].run;
                c->url = words[n];
                if (c->url && !words[n + 1])
                        return 0;
                snprintf(why, CTL_WHY_MAX,
                         "%s: give one URL, s3://BUCKET[/PREFIX] or gs://BUCKET[/PREFIX]",
                         c->url ? "there are too many arguments" : "the URL is missing");
                return -1;
        }
        bool none = !words[0];
        snprintf(why, CTL_WHY_MAX, "%s%s: give uploads list, uploads abort or recover",
                 none ? "a command" : words[0], none ? " is missing" : " is no command");
        return -1;
}

static int parse(struct command *c, int argc, char **argv, char *why)
{
        int opt;

        opterr = 0;
        while ((opt = getopt_long(argc, argv, "o:c:Vh", long_options, NULL)) != -1)
                if (parse_option(c, opt, argv, why))
                        return -1;
        if (c->file && conf_read_params(c->file, &c->params, why, CTL_WHY_MAX))
                return -1;
        optind = 1;
        while ((opt = getopt_long(argc, argv, "o:c:Vh", long_options, NULL)) != -1)
                if (opt == 'o' && params_set_list(&c->params, optarg, why, CTL_WHY_MAX))
                        return -1;
        if (parse_words(c, argv + optind, why))
                return -1;
        bool uploads = c->run != ctl_recover;
        if (uploads ? c->ctl.force || c->ctl.discard : c->ctl.yes) {
                snprintf(why, CTL_WHY_MAX, "%s: see ckptctl -h",
                         uploads ? "--force and --discard are of recover" : "--yes is of uploads");
                return -1;
        }
        if (c->ctl.force && c->ctl.discard) {
                snprintf(why, CTL_WHY_MAX, "--force and --discard exclude each other: give one");
                return -1;
        }
        return 0;
}

static int complain(const char *why)
{
        fprintf(stderr, "ckptctl: %s\n", why);
        return CTL_FAILED;
}

static void command_release(struct command *c)
{
        store_close(c->ctl.store);
        params_release(&c->params);
}

int main(int argc, char **argv)
{
        CLEANUP(command_release) struct command c = {.url = NULL};
        char why[CTL_WHY_MAX] = "no memory";

        if (params_init(&c.params) || parse(&c, argc, argv, why))
                return complain(why);
        /* What fails is said by the command; with log= there is more. */
        const char *dest = c.params.log[0] ? c.params.log : "stderr";
        int err = log_open("ckptctl", dest,
                           c.params.log[0] ? (enum log_level)c.params.log_level : LOG_LEVEL_ERROR);
        if (err) {
                snprintf(why, sizeof why, "log=%s: %s: name a file that can be written", dest,
                         strerror(-err));
                return complain(why);
        }
        if (store_open_params(&c.params, c.url, &c.ctl.store, why, sizeof why))
                return complain(why);
        int rc = c.run(&c.ctl);
        if (fflush(stdout) || ferror(stdout))
                return complain("standard output cannot be written: free space there");
        return rc;
}
