/* SPDX-License-Identifier: Apache-2.0 */
/* params.c: see params.h. One row of `types` a type: its parser, what it is called in messages and
 * what to give instead. */
#include "base/params.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"

#include "base/banned.h"

#define PARAM(name, type, def, lo, hi, help)                                                       \
        {#name, PARAM_##type, offsetof(struct params, name), def, lo, hi, help},
const struct param_desc param_table[] = {
#include "base/params.def"
};
const size_t param_count = sizeof param_table / sizeof *param_table;
const struct param_tab param_options = {param_table, sizeof param_table / sizeof *param_table,
                                        "option"};

struct unit {
        const char *suffix;
        uint64_t factor;
};
static const struct unit size_units[] = {{"", 1},           {"B", 1},
                                         {"K", 1ULL << 10}, {"KiB", 1ULL << 10},
                                         {"M", 1ULL << 20}, {"MiB", 1ULL << 20},
                                         {"G", 1ULL << 30}, {"GiB", 1ULL << 30},
                                         {"T", 1ULL << 40}, {"TiB", 1ULL << 40},
                                         {NULL, 0}};
static const struct unit duration_units[] = {{"", 1000},   {"ms", 1},      {"s", 1000},
                                             {"m", 60000}, {"h", 3600000}, {"d", 86400000},
                                             {NULL, 0}};
static const struct unit count_units[] = {{"", 1}, {NULL, 0}};

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static int unit_factor(const char *suffix, const struct unit *units, uint64_t *out)
{
        for (; units->suffix; units++)
                if (!strcasecmp(suffix, units->suffix)) {
                        *out = units->factor;
                        return 0;
                }
        return -EINVAL;
}

/* A decimal number with a unit, rounded down to a whole one: "1.5G". -EINVAL, or -ERANGE for one
 * that is larger than any. */
static int parse_scaled(const char *text, const struct unit *units, uint64_t *out)
{
        uint64_t whole = 0, part = 0, tens = 1, factor;
        const char *s = text;
        bool over = false;

        if (!is_digit(*s))
                return -EINVAL;
        for (; is_digit(*s); s++) {
                uint64_t digit = (uint64_t)(*s - '0');
                over = over || whole > (UINT64_MAX - digit) / 10;
                whole = over ? whole : whole * 10 + digit;
        }
        if (*s == '.') {
                if (!is_digit(*++s))
                        return -EINVAL;
                for (; is_digit(*s); s++)
                        if (tens < 1000000) {
                                part = part * 10 + (uint64_t)(*s - '0');
                                tens *= 10;
                        }
        }
        if (unit_factor(s, units, &factor) || (factor == 1 && tens > 1))
                return -EINVAL;
        if (over || whole > (UINT64_MAX - factor) / factor)
                return -ERANGE;
        *out = whole * factor + part * factor / tens;
        return 0;
}

int parse_size(const char *text, uint64_t *out)
{
        return parse_scaled(text, size_units, out);
}

int parse_duration(const char *text, uint64_t *out)
{
        return parse_scaled(text, duration_units, out);
}

static int parse_count(const char *text, uint64_t *out)
{
        return parse_scaled(text, count_units, out);
}

static int parse_mode(const char *text, uint64_t *out)
{
        size_t n = strspn(text, "01234567");
        if (!n || text[n] || n > 8)
                return -EINVAL;
        *out = strtoul(text, NULL, 8);
        return 0;
}

static int parse_bool(const char *text, uint64_t *out)
{
        static const char *const words[] = {"off", "on", "false", "true", "no", "yes", "0", "1"};
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (!strcasecmp(text, words[i])) {
                        *out = i & 1;
                        return 0;
                }
        return -EINVAL;
}

/* A number of 32 bits; the highest, which no id is, stands for "own". */
static int parse_id(const char *text, uint64_t *out)
{
        if (!strcmp(text, "own")) {
                *out = UINT32_MAX;
                return 0;
        }
        return parse_count(text, out) || *out > UINT32_MAX ? -EINVAL : 0;
}

static int parse_user(const char *text, uint64_t *out)
{
        struct passwd pw, *found = NULL;
        char room[4096];

        if (!parse_id(text, out))
                return 0;
        if (getpwnam_r(text, &pw, room, sizeof room, &found) || !found)
                return -EINVAL;
        *out = found->pw_uid;
        return 0;
}

static int parse_group(const char *text, uint64_t *out)
{
        struct group gr, *found = NULL;
        CLEANUP(freep) char *room = malloc(64 << 10); /* its members' names, too */

        if (!parse_id(text, out))
                return 0;
        if (!room || getgrnam_r(text, &gr, room, 64 << 10, &found) || !found)
                return -EINVAL;
        *out = found->gr_gid;
        return 0;
}

static const struct {
        int (*parse)(const char *text, uint64_t *out); /* NULL: STRING and CHOICE */
        const char *word;                              /* what stands for a value in the help */
        const char *what, *give;
} types[] = {
        [PARAM_STRING] = {NULL, "TEXT", "", "a text"},
        [PARAM_SIZE] = {parse_size, "SIZE", "not a size", "bytes, or a number with K, M, G or T"},
        [PARAM_UINT] = {parse_count, "N", "not a count", "a whole number"},
        [PARAM_AUTO] = {parse_count, "auto|N", "not a count", "auto or a whole number"},
        [PARAM_DURATION] = {parse_duration, "TIME", "not a time",
                            "seconds, or a number with ms, s, m, h or d"},
        [PARAM_MODE] = {parse_mode, "MODE", "not a mode", "octal permission bits, as 0644"},
        [PARAM_BOOL] = {parse_bool, "on|off", "neither on nor off", "on or off"},
        [PARAM_CHOICE] = {NULL, "WORD", "not known", "a word"},
        [PARAM_USER] = {parse_user, "USER", "no user here", "a name, a number, or own"},
        [PARAM_GROUP] = {parse_group, "GROUP", "no group here", "a name, a number, or own"},
};

/* The word with that index in "a|b|c", "" behind the last; *n is its length. */
static const char *choice_at(const char *words, unsigned index, size_t *n)
{
        for (; index > 0; index--) {
                words += strcspn(words, "|");
                words += *words == '|';
        }
        *n = strcspn(words, "|");
        return words;
}

static int parse_choice(const char *words, const char *text, uint64_t *out)
{
        size_t n;
        for (unsigned i = 0; *choice_at(words, i, &n); i++)
                if (strlen(text) == n && !strncmp(choice_at(words, i, &n), text, n)) {
                        *out = i;
                        return 0;
                }
        return -EINVAL;
}

/* "abort or publish", "error, warning, info or debug" */
static void list_choices(const char *words, struct buf *b)
{
        size_t n;
        for (unsigned i = 0; *choice_at(words, i, &n); i++) {
                const char *word = choice_at(words, i, &n);
                const char *join = i == 0 ? "" : word[n] ? ", " : " or ";
                buf_addf(b, "%s%.*s", join, (int)n, word);
        }
}

bool param_has_bounds(const struct param_desc *d)
{
        return types[d->type].parse && *d->lo;
}

/* What may be given, for the end of a message. */
static void what_to_give(const struct param_desc *d, bool bounds, struct buf *b)
{
        if (d->type == PARAM_CHOICE)
                list_choices(d->lo, b);
        else if (bounds && param_has_bounds(d))
                buf_addf(b, "%s%s to %s", d->type == PARAM_AUTO ? "auto, or " : "", d->lo, d->hi);
        else
                buf_adds(b, types[d->type].give);
}

static int refuse(const struct param_desc *d, const char *value, bool bounds, char *why,
                  size_t nwhy)
{
        CLEANUP(buf_release) struct buf give = BUF_INIT;

        what_to_give(d, bounds || !value, &give);
        if (!value)
                snprintf(why, nwhy, "%s has no value: give %s", d->name, give.p);
        else
                snprintf(why, nwhy, "%s=%s is %s: give %s", d->name, value,
                         bounds ? "out of bounds" : types[d->type].what, give.p);
        return -EINVAL;
}

static int parse_value(const struct param_desc *d, const char *value, uint64_t *out, char *why,
                       size_t nwhy)
{
        uint64_t lo = 0, hi = 0;

        *out = 0;
        if (d->type == PARAM_AUTO && !strcmp(value, "auto"))
                return 0;
        int err = d->type == PARAM_CHOICE ? parse_choice(d->lo, value, out)
                                          : types[d->type].parse(value, out);
        if (err)
                return refuse(d, value, err == -ERANGE && param_has_bounds(d), why, nwhy);
        if (!param_has_bounds(d))
                return 0;
        if (types[d->type].parse(d->lo, &lo) || types[d->type].parse(d->hi, &hi)) {
                snprintf(why, nwhy, "%s: its bounds are broken: mend its table", d->name);
                return -EINVAL;
        }
        return *out < lo || *out > hi ? refuse(d, value, true, why, nwhy) : 0;
}

static int store_string(char **field, const char *value, char *why, size_t nwhy)
{
        char *copy = strdup(value);
        if (!copy) {
                snprintf(why, nwhy, "no memory: end another program");
                return -ENOMEM;
        }
        free(*field);
        *field = copy;
        return 0;
}

static int set_value(const struct param_desc *d, void *p, const char *value, char *why, size_t nwhy)
{
        void *field = (char *)p + d->offset;
        uint64_t v;

        if (!value && d->type == PARAM_BOOL)
                value = "on";
        if (!value)
                return refuse(d, NULL, false, why, nwhy);
        if (d->type == PARAM_STRING)
                return store_string(field, value, why, nwhy);
        int err = parse_value(d, value, &v, why, nwhy);
        if (err)
                return err;
        if (d->type == PARAM_BOOL)
                *(param_BOOL *)field = v;
        else if (d->type == PARAM_MODE || d->type == PARAM_CHOICE)
                *(unsigned *)field = (unsigned)v;
        else
                *(uint64_t *)field = v;
        return 0;
}

static size_t least(size_t a, size_t b)
{
        return a < b ? a : b;
}

/* Levenshtein's, and two neighbours that changed places are one mistake: of three rows each. */
static size_t edit_distance(const char *a, const char *b)
{
        enum { MOST = 64 };
        size_t row[3][MOST], na = strlen(a), nb = strlen(b);

        if (na >= MOST || nb >= MOST)
                return MOST;
        for (size_t i = 0; i <= na; i++) {
                const size_t *above = row[(i + 2) % 3], *before = row[(i + 1) % 3];
                size_t *now = row[i % 3];
                now[0] = i;
                for (size_t j = 1; j <= nb; j++) {
                        now[j] = i ? least(above[j - 1] + (a[i - 1] != b[j - 1]),
                                           least(above[j], now[j - 1]) + 1)
                                   : j;
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                now[j] = least(now[j], before[j - 2] + 1);
                }
        }
        return row[na % 3][nb];
}

bool edit_nearer(const char *said, const char *name, size_t *far)
{
        const size_t d = edit_distance(said, name);

        if (d >= *far || d > strlen(said) / 3) /* a third of its letters may be wrong */
                return false;
        *far = d;
        return true;
}

const char *param_tab_near(const struct param_tab *t, const char *said)
{
        size_t far = SIZE_MAX;
        const char *near = NULL;

        for (size_t i = 0; i < t->count; i++)
                if (edit_nearer(said, t->table[i].name, &far))
                        near = t->table[i].name;
        return near;
}

/* A name or value of a file may hold anything, but a message is one line. */
static void cut_to_one_line(char *why)
{
        for (; *why; why++)
                if ((unsigned char)*why < ' ' || *why == 0x7f)
                        *why = '?';
}

static int set_named(const struct param_tab *t, void *p, const char *name, const char *value,
                     char *why, size_t nwhy)
{
        for (size_t i = 0; i < t->count; i++)
                if (!strcmp(t->table[i].name, name))
                        return set_value(&t->table[i], p, value, why, nwhy);
        const char *near = param_tab_near(t, name);
        if (near)
                snprintf(why, nwhy, "unknown %s '%s': did you mean '%s'?", t->what, name, near);
        else
                snprintf(why, nwhy, "unknown %s '%s': %s lists every %s", t->what, name,
                         t == &param_options ? "ckptfs -o help" : "ckptbench help keys", t->what);
        return -EINVAL;
}

int param_tab_set(const struct param_tab *t, void *p, const char *name, const char *value,
                  char *why, size_t nwhy)
{
        int err = set_named(t, p, name, value, why, nwhy);

        if (err && nwhy)
                cut_to_one_line(why);
        return err;
}

int param_tab_init(const struct param_tab *t, void *p)
{
        char why[200];
        for (size_t i = 0; i < t->count; i++)
                if (t->table[i].type == PARAM_STRING)
                        *(char **)(void *)((char *)p + t->table[i].offset) = NULL;
        for (size_t i = 0; i < t->count; i++) {
                int err = set_value(&t->table[i], p, t->table[i].def, why, sizeof why);
                if (err) {
                        param_tab_release(t, p);
                        return err;
                }
        }
        return 0;
}

void param_tab_release(const struct param_tab *t, void *p)
{
        for (size_t i = 0; i < t->count; i++) {
                if (t->table[i].type != PARAM_STRING)
                        continue;
                char **field = (char **)(void *)((char *)p + t->table[i].offset);
                freep(field);
                *field = NULL;
        }
}

int params_value(const struct params *p, size_t row, struct buf *out)
{
        const struct param_desc *d = &param_table[row];
        const void *field = (const char *)p + d->offset;
        char word[64];

        if (d->type == PARAM_STRING)
                return buf_adds(out, *(char *const *)field);
        if (d->type == PARAM_BOOL)
                return buf_adds(out, *(const param_BOOL *)field ? "on" : "off");
        if (d->type == PARAM_CHOICE)
                return buf_adds(out, param_word(d, *(const unsigned *)field, word, sizeof word));
        if (d->type == PARAM_MODE)
                return buf_addf(out, "%04o", *(const unsigned *)field);
        uint64_t n = *(const uint64_t *)field;
        if ((d->type == PARAM_USER || d->type == PARAM_GROUP) && n == UINT32_MAX)
                return buf_adds(out, "own");
        if (d->type == PARAM_AUTO && !n)
                return buf_adds(out, "auto");
        return buf_addf(out, "%llu%s", (unsigned long long)n,
                        d->type == PARAM_DURATION ? "ms" : "");
}

int params_init(struct params *p)
{
        return param_tab_init(&param_options, p);
}

void params_release(struct params *p)
{
        param_tab_release(&param_options, p);
}

/* Bytes of a value in struct params. */
static size_t value_size(enum param_type type)
{
        switch (type) {
        case PARAM_STRING:
                return sizeof(param_STRING);
        case PARAM_MODE:
                return sizeof(param_MODE);
        case PARAM_BOOL:
                return sizeof(param_BOOL);
        case PARAM_CHOICE:
                return sizeof(param_CHOICE);
        case PARAM_SIZE:
        case PARAM_UINT:
        case PARAM_AUTO:
        case PARAM_DURATION:
        case PARAM_USER:
        case PARAM_GROUP:
                break;
        }
        return sizeof(uint64_t);
}

bool params_same(const struct params *a, const struct params *b, size_t row)
{
        const struct param_desc *d = &param_table[row];
        const void *x = (const char *)a + d->offset, *y = (const char *)b + d->offset;

        if (d->type == PARAM_STRING)
                return !strcmp(*(char *const *)x, *(char *const *)y);
        return !memcmp(x, y, value_size(d->type));
}

void params_swap(struct params *a, struct params *b, size_t row)
{
        char *x = (char *)a + param_table[row].offset, *y = (char *)b + param_table[row].offset;

        for (size_t i = 0; i < value_size(param_table[row].type); i++) {
                char byte = x[i];
                x[i] = y[i];
                y[i] = byte;
        }
}

int params_set(struct params *p, const char *name, const char *value, char *why, size_t nwhy)
{
        return param_tab_set(&param_options, p, name, value, why, nwhy);
}

/* Takes the next item of the list, "\," made ",". NULL when there is none; the item is in *b. */
static const char *next_item(const char *list, struct buf *b)
{
        if (!*list)
                return NULL;
        for (; *list && *list != ','; list++) {
                if (list[0] == '\\' && list[1] == ',')
                        list++;
                buf_addc(b, *list);
        }
        return list + (*list == ',');
}

/* What mount(8) and fstab(5) say to every file system and means nothing here: devices and
 * set-user-id files are never honoured in the mount, and access times are not kept. */
static bool is_mount_word(const char *name)
{
        static const char *const words[] = {
                "defaults", "auto",       "noauto",        "user",       "nouser",     "users",
                "owner",    "group",      "nofail",        "_netdev",    "_rnetdev",   "dev",
                "nodev",    "suid",       "nosuid",        "relatime",   "norelatime", "noatime",
                "diratime", "nodiratime", "nostrictatime", "nolazytime", "async",      "mand",
                "nomand",   "noiversion", "silent",        "loud",       "symfollow"};
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (!strcmp(name, words[i]))
                        return true;
        return !strncmp(name, "x-", 2) || !strncmp(name, "X-", 2);
}

/* What other file systems take, and what to give in its place here. */
static const char *other_way(const char *name)
{
        static const struct {
                const char *name, *way;
        } ways[] = {
                {"umask", "give file_mode= and dir_mode="},
                {"fmask", "give file_mode="},
                {"dmask", "give dir_mode="},
                {"remount", "say it to mount(8), see mount.ckptfs(8)"},
                {"sync", "leave it out: what a close or fsync confirms is durable; O_SYNC of a "
                         "file publishes each write"},
                {"dirsync", "leave it out: changes of names are durable when they return"},
                {"lazytime", "leave it out: access times are not kept"},
                {"strictatime", "leave it out: access times are not kept"},
                {"default_permissions", "leave it out: permissions are always checked"},
                {"nonempty", "leave it out, and name an empty directory"},
                {"fsname", "leave it out: the URL is what df and mount show"},
                {"subtype", "leave it out: the type is fuse.ckptfs"},
                {"allow_root", "give allow_other: root is among others"},
                {"max_read", "leave it out: read_size= is of requests to the store"},
                {"max_write", "leave it out: part_size= is of requests to the store"},
                {"big_writes", "leave it out: writes are as big as the kernel makes them"},
                {"auto_unmount", "leave it out: umount -l takes away what a daemon that died left, "
                                 "and the systemd unit does so by itself"},
                {"attr_timeout", "give attr_ttl="},
                {"entry_timeout", "give attr_ttl="},
                {"negative_timeout", "give attr_ttl="},
                {"kernel_cache", "leave it out: read_cache= says what the page cache keeps"},
                {"auto_cache", "leave it out: a file that has changed is read anew"},
                {"direct_io", "give read_cache=never"},
                {"hard_remove", "leave it out: who has a removed file open can still read it"},
        };
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
                if (!strcmp(name, ways[i].name))
                        return ways[i].way;
        return NULL;
}

static int set_item(struct params *p, const char *name, const char *value, char *why, size_t nwhy)
{
        if (value ? !strcmp(name, "user") || !strcmp(name, "comment")
                  : !*name || is_mount_word(name))
                return 0;
        if (other_way(name)) {
                snprintf(why, nwhy, "%s is no option of ckptfs: %s", name, other_way(name));
                return -EINVAL;
        }
        if (!value && !strcmp(name, "rw"))
                return params_set(p, "ro", "off", why, nwhy);
        if (!value && !strcmp(name, "exec"))
                return params_set(p, "noexec", "off", why, nwhy);
        return params_set(p, name, value, why, nwhy);
}

int params_set_list(struct params *p, const char *list, char *why, size_t nwhy)
{
        CLEANUP(buf_release) struct buf item = BUF_INIT;

        while ((list = next_item(list, &item))) {
                if (item.failed) {
                        snprintf(why, nwhy, "no memory: end another program");
                        return -ENOMEM;
                }
                char *value = strchr(item.p, '=');
                if (value)
                        *value++ = 0;
                int err = set_item(p, item.p, value, why, nwhy);
                if (err)
                        return err;
                buf_reset(&item);
        }
        return 0;
}

const char *param_word(const struct param_desc *d, unsigned index, char *out, size_t n)
{
        size_t len;
        const char *word = choice_at(d->lo, index, &len);
        snprintf(out, n, "%.*s", len ? (int)len : 1, len ? word : "?");
        return out;
}

const char *param_choice(const char *name, unsigned index, char *out, size_t n)
{
        snprintf(out, n, "?");
        for (size_t i = 0; i < param_count; i++)
                if (param_table[i].type == PARAM_CHOICE && !strcmp(param_table[i].name, name))
                        param_word(&param_table[i], index, out, n);
        return out;
}

const char *param_type_word(const struct param_desc *d)
{
        return d->type == PARAM_CHOICE ? d->lo : types[d->type].word;
}
