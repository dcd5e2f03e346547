/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: the command `ckptctl`: reads the command line, opens the store, runs a command. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/text/conf.h"
#include "base/log.h"
#include "base/params.h"
#include "ctl/ctl.h"
#include "store.h"
#include "store/core/open_params.h"

#include "base/banned.h"

static const char usage[] =
        "usage: ckptctl list\n"
        "       ckptctl status [MOUNT]\n"
        "       ckptctl files | credentials [MOUNT]\n"
        "       ckptctl stats [--json] [--interval TIME] [MOUNT]\n"
        "       ckptctl loglevel error|warning|info|debug [MOUNT]\n"
        "       ckptctl reload [MOUNT]\n"
        "       ckptctl set OPTION=VALUE[,...] [MOUNT]\n"
        "       ckptctl drain [--undo] [--timeout TIME] [MOUNT]\n"
        "       ckptctl top [--interval TIME] [MOUNT]\n"
        "       ckptctl doctor [--no-speed] [URL | MOUNT]\n"
        "       ckptctl uploads list URL [--key KEY] [--older TIME]\n"
        "       ckptctl uploads abort URL [--key KEY] [--older TIME] [--yes]\n"
        "       ckptctl recover URL [--key KEY] [--force | --discard] [--older TIME]\n"
        "MOUNT is a mountpoint of this machine, or its URL; it may be left out where there is "
        "one.\n"
        "URL is s3://BUCKET[/PREFIX] or gs://BUCKET[/PREFIX], as mounted. Everywhere:\n"
        "  -o LIST       options of ckptfs that say how to reach the store, or the mount\n"
        "                (control_dir), separated by commas\n"
        "  -c FILE       read options from a YAML file; -o takes precedence\n"
        "  -V, --version print the version\n"
        "  -h, --help    print this help\n"
        "list: the mounts of this machine. Of one that runs:\n"
        "status: what is open, written and on its way, and the last errors\n"
        "files: each open file\n"
        "credentials: where they are from, and until when they hold\n"
        "stats: every metric\n"
        "  --json          as JSON\n"
        "  --interval TIME again each time that has passed, with the change a second\n"
        "loglevel: the least important lines that are logged from now on\n"
        "reload: reads the options anew, as SIGHUP does, and says what came of it\n"
        "set: changes options of the mount, as mount -o remount does, until it ends\n"
        "drain: nothing is opened for writing any more; waits until all is published\n"
        "  --undo          files are opened for writing again\n"
        "  --timeout TIME  waits no longer\n"
        "top: a screen that follows the mount; q quits\n"
        "doctor: tries all that a mount needs of machine, network, store and permissions\n"
        "  --no-speed    but does not move bytes to find out how fast that is\n"
        "uploads: what crashed programs left unfinished at the store\n"
        "  --key KEY     only those of this key, relative to URL\n"
        "  --older TIME  only those begun longer ago: 90s, 30m, 12h, 1d\n"
        "  --yes         all of them, also those of programs that write now\n"
        "recover: finishes interrupted renames and shows changes that lost to another host's\n"
        "  --force       publish those over what the other host wrote\n"
        "  --discard     forget those\n"
        "  --older TIME  remove what mounts that died left of deleted files as long ago\n";

/* Options that only some commands have: their numbers for getopt_long(), their bits, their names.
 */
enum {
        OPT_FIRST = 255,
#define OPTION(id, ...) OPT_##id,
#include "ctl/commands.def"
        OPT_END
};
#define HAS(id) (1U << (OPT_##id - OPT_FIRST - 1))

static const struct option long_options[] = {
#define OPTION(id, name, has_arg) {name, has_arg, NULL, OPT_##id},
#include "ctl/commands.def"
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
};

/* What follows the words of a command. */
enum takes { TAKES_URL, TAKES_NOTHING, TAKES_MOUNT, TAKES_LEVEL, TAKES_OPTIONS, TAKES_DOCTOR };

struct verb {
        const char *words[2]; /* the second may be NULL */
        int (*run)(const struct ctl *c);
        enum takes takes;
        unsigned has;
};

static const struct verb verbs[] = {
#define COMMAND(first, second, run, takes, has) {{first, second}, run, TAKES_##takes, has},
#include "ctl/commands.def"
};

struct command {
        struct ctl ctl;
        struct params params;
        const char *file, *url;
        const struct verb *verb;
        unsigned has; /* options that were given */
};

static int parse_time(const char *option, uint64_t *ms, char *why)
{
        if (!parse_duration(optarg, ms))
                return 0;
        snprintf(why, CTL_WHY_MAX, "%s %s: not a time: give one as 90s, 30m, 12h, 1d", option,
                 optarg);
        return -1;
}

static int parse_option(struct command *c, int opt, char **argv, char *why)
{
        if (opt > OPT_FIRST && opt < OPT_END)
                c->has |= 1U << (opt - OPT_FIRST - 1);
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
                return parse_time("--older", &c->ctl.older_ms, why);
        case OPT_YES:
                c->ctl.yes = true;
                return 0;
        case OPT_FORCE:
                c->ctl.force = true;
                return 0;
        case OPT_DISCARD:
                c->ctl.discard = true;
                return 0;
        case OPT_JSON:
                c->ctl.json = true;
                return 0;
        case OPT_INTERVAL:
                if (parse_time("--interval", &c->ctl.interval_ms, why))
                        return -1;
                c->ctl.interval_ms += !c->ctl.interval_ms; /* not as fast as it can */
                return 0;
        case OPT_UNDO:
                c->ctl.undo = true;
                return 0;
        case OPT_TIMEOUT:
                if (parse_time("--timeout", &c->ctl.timeout_ms, why))
                        return -1;
                c->ctl.timeout_ms += !c->ctl.timeout_ms;
                return 0;
        case OPT_NO_SPEED:
                c->ctl.no_speed = true;
                return 0;
        case 'V':
                puts("ckptctl " PACKAGE_VERSION);
                exit(fd_flush_output("ckptctl") ? CTL_FAILED : CTL_OK);
        case 'h':
                fputs(usage, stdout);
                exit(fd_flush_output("ckptctl") ? CTL_FAILED : CTL_OK);
        default:
                snprintf(why, CTL_WHY_MAX, "%s %s: see ckptctl -h", argv[optind - 1],
                         opt == ':' ? "lacks its value" : "is not an option");
                return -1;
        }
}

/* What stands behind the words of the command. */
static int parse_rest(struct command *c, char **words, char *why)
{
        const char *missing = NULL;
        bool argument = c->verb->takes == TAKES_LEVEL || c->verb->takes == TAKES_OPTIONS;

        if (c->verb->takes == TAKES_URL && !(c->url = *words))
                missing = "the URL is missing: give one, s3://BUCKET[/PREFIX] or "
                          "gs://BUCKET[/PREFIX]";
        if (argument && !(c->ctl.level = *words))
                missing = c->verb->takes == TAKES_LEVEL
                                  ? "the level is missing: give error, warning, info or debug"
                                  : "the options are missing: give OPTION=VALUE[,...]";
        if (missing) {
                snprintf(why, CTL_WHY_MAX, "%s", missing);
                return -1;
        }
        words += c->verb->takes == TAKES_URL || argument;
        if (*words && c->verb->takes != TAKES_URL && c->verb->takes != TAKES_NOTHING)
                c->ctl.mount = *words++;
        if (!*words)
                return 0;
        snprintf(why, CTL_WHY_MAX, "there are too many arguments, from %s on: see ckptctl -h",
                 *words);
        return -1;
}

/* "list, status, ... or recover": every command of the table. */
static void list_commands(char *out, size_t n)
{
        size_t last = sizeof verbs / sizeof *verbs - 1, used = 0;

        for (size_t i = 0; i <= last && used < n; i++) {
                const char *const *words = verbs[i].words;
                int more = snprintf(out + used, n - used, "%s%s%s%s",
                                    !i          ? ""
                                    : i == last ? " or "
                                                : ", ",
                                    words[0], words[1] ? " " : "", words[1] ? words[1] : "");
                used += more > 0 ? (size_t)more : 0;
        }
}

/* Whether the word is the first of two, and with which: "uploads list or uploads abort". */
static bool half_command(const char *word, char *out, size_t n)
{
        size_t used = 0;

        for (size_t i = 0; i < sizeof verbs / sizeof *verbs && used < n; i++) {
                const char *const *words = verbs[i].words;
                if (!words[1] || strcmp(words[0], word))
                        continue;
                int more = snprintf(out + used, n - used, "%s%s %s", used ? " or " : "", word,
                                    words[1]);
                used += more > 0 ? (size_t)more : 0;
        }
        return used > 0;
}

/* The words that are no options: a command, and what that takes. */
static int parse_words(struct command *c, char **words, char *why)
{
        for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
                const struct verb *v = &verbs[i];
                size_t n = v->words[1] ? 2 : 1;
                if (!words[0] || strcmp(words[0], v->words[0]) ||
                    (n == 2 && (!words[1] || strcmp(words[1], v->words[1]))))
                        continue;
                c->verb = v;
                return parse_rest(c, words + n, why);
        }
        bool none = !words[0];
        char all[256];
        if (!none && half_command(words[0], all, sizeof all)) {
                snprintf(why, CTL_WHY_MAX, "%s is half of a command: give %s", words[0], all);
                return -1;
        }
        list_commands(all, sizeof all);
        snprintf(why, CTL_WHY_MAX, "%s%s: give %s", none ? "a command" : words[0],
                 none ? " is missing" : " is no command", all);
        return -1;
}

static int check_options(const struct command *c, char *why)
{
        unsigned odd = c->has & ~c->verb->has;

        for (unsigned i = 0; odd >> i; i++)
                if (odd >> i & 1U) {
                        snprintf(why, CTL_WHY_MAX, "--%s: not of %s: see ckptctl -h",
                                 long_options[i].name, c->verb->words[0]);
                        return -1;
                }
        if (c->ctl.force && c->ctl.discard) {
                snprintf(why, CTL_WHY_MAX, "--force and --discard exclude each other: give one");
                return -1;
        }
        return 0;
}

static int parse(struct command *c, int argc, char **argv, char *why)
{
        int opt;

        opterr = 0;
        while ((opt = getopt_long(argc, argv, ":o:c:Vh", long_options, NULL)) != -1)
                if (parse_option(c, opt, argv, why))
                        return -1;
        if (c->file && conf_read_params(c->file, &c->params, why, CTL_WHY_MAX))
                return -1;
        optind = 1;
        while ((opt = getopt_long(argc, argv, ":o:c:Vh", long_options, NULL)) != -1)
                if (opt == 'o' && params_set_list(&c->params, optarg, why, CTL_WHY_MAX))
                        return -1;
        c->ctl.params = &c->params;
        c->ctl.dir = c->params.control_dir;
        return parse_words(c, argv + optind, why) ? -1 : check_options(c, why);
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
        char why[CTL_WHY_MAX] = "no memory: end another program";

        fd_take_standard();
        if (params_init(&c.params) || parse(&c, argc, argv, why))
                return complain(why);
        /* What fails is said by the command, with the last words of the log; with log= there is
         * more. */
        const char *dest = c.params.log[0] ? c.params.log : "/dev/null";
        int err = log_open("ckptctl", dest,
                           c.params.log[0] ? (enum log_level)c.params.log_level : LOG_LEVEL_WARN);
        log_set_json(c.params.log_format);
        if (err) {
                snprintf(why, sizeof why, "log=%s: %s: name a file that can be written", dest,
                         strerror(-err));
                return complain(why);
        }
        if (c.verb->takes == TAKES_URL &&
            store_open_params(&c.params, c.url, &c.ctl.store, why, sizeof why))
                return complain(why);
        int rc = c.verb->run(&c.ctl);
        return fd_flush_output("ckptctl") ? CTL_FAILED : rc;
}
