/* SPDX-License-Identifier: Apache-2.0 */
/* rename_journal.c: see rename_journal.h. */
#include "base/record/rename_journal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/json.h"

#include "base/banned.h"

void rename_journal_release(struct rename_journal *i)
{
        free(i->from);
        free(i->to);
        free(i->host);
        memset(i, 0, sizeof *i);
}

char *rename_journal_print(const struct rename_journal *i)
{
        CLEANUP(json_freep) struct json *j = json_new_object();

        json_add_string(j, "from", i->from);
        json_add_string(j, "to", i->to);
        json_add_string(j, "state", i->copied ? "delete" : "copy");
        if (i->undone)
                json_add_bool(j, "undo", true);
        if (i->turn)
                json_add_string(j, "turn", i->turn);
        if (i->host)
                json_add_string(j, "host", i->host);
        json_add_number(j, "time", (double)(i->time_ns / 1000000000));
        return j ? json_print(j) : NULL;
}

/* A directory below the root. */
static bool is_directory(const char *s)
{
        size_t n = strlen(s);
        return n > 1 && s[0] != '/' && s[n - 1] == '/';
}

static int fill(const struct json *j, struct rename_journal *i)
{
        const char *from = json_string(json_get(j, "from"), "");
        const char *to = json_string(json_get(j, "to"), "");
        const char *state = json_string(json_get(j, "state"), "");
        const char *host = json_string(json_get(j, "host"), NULL);
        double time = json_number(json_get(j, "time"), 0);

        i->copied = !strcmp(state, "delete");
        i->undone = json_bool(json_get(j, "undo"), false);
        if (!is_directory(from) || !is_directory(to) || !strncmp(from, to, strlen(from)) ||
            !strncmp(from, to, strlen(to)) || (!i->copied && strcmp(state, "copy")) ||
            !(time >= 0 && time < 9e9))
                return -EINVAL;
        i->time_ns = (int64_t)time * 1000000000;
        i->from = strdup(from);
        i->to = strdup(to);
        i->host = host ? strdup(host) : NULL;
        return i->from && i->to && (!host || i->host) ? 0 : -ENOMEM;
}

int rename_journal_parse(const char *name, const char *text, size_t n, struct rename_journal *out,
                         char *why, size_t nwhy)
{
        CLEANUP(rename_journal_release) struct rename_journal i = {.from = NULL};
        CLEANUP(json_freep) struct json *j = NULL;

        int err = json_parse(name, text, n, &j, why, nwhy);
        if (err)
                return err;
        err = fill(j, &i);
        if (err) {
                snprintf(why, nwhy, "%s: %s", name,
                         err == -EINVAL ? "is not the record of a rename: delete the object"
                                        : "no memory");
                return err;
        }
        *out = i;
        memset(&i, 0, sizeof i);
        return 0;
}
