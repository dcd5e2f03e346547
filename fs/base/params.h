/* SPDX-License-Identifier: Apache-2.0 */
/* params.h: the options of params.def as a struct, and the one parser of their values. */
#ifndef CKPTFS_BASE_PARAMS_H
#define CKPTFS_BASE_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef char *param_STRING;
typedef uint64_t param_SIZE;
typedef uint64_t param_UINT;
typedef uint64_t param_AUTO;     /* 0: "auto" */
typedef uint64_t param_DURATION; /* milliseconds */
typedef unsigned param_MODE;
typedef bool param_BOOL;
typedef unsigned param_CHOICE; /* index of the word */
typedef uint64_t param_USER;   /* an id; UINT32_MAX: of who mounts */
typedef uint64_t param_GROUP;

enum param_type {
        PARAM_STRING,
        PARAM_SIZE,
        PARAM_UINT,
        PARAM_AUTO,
        PARAM_DURATION,
        PARAM_MODE,
        PARAM_BOOL,
        PARAM_CHOICE,
        PARAM_USER,
        PARAM_GROUP
};

struct params {
#define PARAM(name, type, ...) param_##type name;
#include "base/params.def"
};

struct param_desc {
        const char *name;
        enum param_type type;
        size_t offset;
        const char *def, *lo, *hi, *help;
};
extern const struct param_desc param_table[];
extern const size_t param_count;

/* The same for any other table and the struct its offsets are of (ckptbench's keys.def). */
struct param_tab {
        const struct param_desc *table;
        size_t count;
        const char *what; /* "option", "key": the word for one in messages */
};
extern const struct param_tab param_options; /* params.def */
int param_tab_init(const struct param_tab *t, void *p);
void param_tab_release(const struct param_tab *t, void *p);
int param_tab_set(const struct param_tab *t, void *p, const char *name, const char *value,
                  char *why, size_t nwhy);

/* What --help says of each row: type, default, bounds and text; and the same as items of an mdoc
 * list, as a sample in YAML and, a line a row, "name=" with what stands for a value, for the
 * completion of bash. In params_doc.c. */
void param_tab_help(const struct param_tab *t, FILE *to);
void param_tab_mdoc(const struct param_tab *t, FILE *to);
void param_tab_yaml(const struct param_tab *t, FILE *to);
void param_tab_words(const struct param_tab *t, FILE *to);

/* Sets every option to its default. 0 or -ENOMEM; release with params_release(). */
int params_init(struct params *p);
void params_release(struct params *p);

/* Whether option number `row` of the table has the same value in both. */
bool params_same(const struct params *a, const struct params *b, size_t row);
/* The two change this value. */
void params_swap(struct params *a, struct params *b, size_t row);

/* Appends the value of option number `row` as params_set() takes it. 0 or -ENOMEM. */
struct buf;
int params_value(const struct params *p, size_t row, struct buf *out);

/* Sets option `name` from `value` (NULL: a bare BOOL name, meaning on). 0, or -EINVAL (-ENOMEM)
 * with one line in `why`: cause, then remedy, as in part_size=1M is out of bounds: give 5M to 512M
 *   unknown option 'part_sise': did you mean 'part_size'? */
int params_set(struct params *p, const char *name, const char *value, char *why, size_t nwhy);

/* Sets options from a list "a=1,b,c=x" as -o takes it; \, is a comma inside a value. Words that
 * mount(8) adds (rw, nodev, _netdev, x-...) are taken as well. Stops at the first bad one. As
 * params_set(). */
int params_set_list(struct params *p, const char *list, char *why, size_t nwhy);

/* The name a CHOICE option has in table and manual, for its index. */
const char *param_choice(const char *name, unsigned index, char *out, size_t n);

/* The same of a row of any table. */
const char *param_word(const struct param_desc *d, unsigned index, char *out, size_t n);

/* What stands for a value in the help: "SIZE", "abort|publish". */
const char *param_type_word(const struct param_desc *d);

/* Whether `lo` and `hi` bound its values. */
bool param_has_bounds(const struct param_desc *d);

/* Writes what -o help says: param_tab_help() of the options. */
void params_help(FILE *to);

/* Whether so few letters differ that somebody who wrote `said` may have meant `name`, and fewer
 * than *far, which begins with SIZE_MAX and becomes them. */
bool edit_nearer(const char *said, const char *name, size_t *far);
/* The name of the table that is nearest in that sense; NULL: none. */
const char *param_tab_near(const struct param_tab *t, const char *said);

/* Parses "16M", "1.5G", "8GiB" or "4096" to bytes (powers of 1024): 0, -EINVAL or -ERANGE. */
int parse_size(const char *text, uint64_t *out);

/* Parses "90", "90s", "1.5h", "2d" or "300ms" to milliseconds: 0, -EINVAL or -ERANGE. */
int parse_duration(const char *text, uint64_t *out);

#endif
