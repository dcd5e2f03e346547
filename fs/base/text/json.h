/* SPDX-License-Identifier: Apache-2.0 */
/* json.h: JSON trees. cJSON is used here and nowhere else.
 *
 * A value belongs to the tree it is in; json_free() of the root frees all. Every reader takes NULL
 * (a field that is not there), so that look-ups can be chained. Numbers are doubles, written with
 * 15 digits at least: integers are exact below 10^15. A tree is not thread-safe. */
#ifndef CKPTFS_BASE_JSON_H
#define CKPTFS_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json;

/* Reads a file of at most 64 MiB. 0 or a negative errno (-EINVAL: not JSON) with one line in `why`
 * that names file, line and remedy. Blocks. */
int json_read(const char *file, struct json **out, char *why, size_t nwhy);
/* The same of text in memory; `name` stands for the file in `why`. */
int json_parse(const char *name, const char *text, size_t n, struct json **out, char *why,
               size_t nwhy);
void json_free(struct json *j);
void json_freep(struct json **j); /* for CLEANUP() */
/* Overwrites every string of a tree that held secrets, before it is freed. NULL is fine. */
void json_wipe(struct json *j);
/* Removes a field, its strings overwritten, if there is one of that name. */
void json_remove(struct json *obj, const char *name);

bool json_is_object(const struct json *j);
bool json_is_array(const struct json *j);
/* The field of an object, NULL when it is absent. */
const struct json *json_get(const struct json *obj, const char *name);
/* Entries of an array or an object (0 of anything else), and the i-th one with, in an object, its
 * name. */
size_t json_count(const struct json *j);
const struct json *json_at(const struct json *j, size_t i);
/* All of them in turn, which is faster than by number: NULL behind the last. */
const struct json *json_first(const struct json *j);
const struct json *json_next(const struct json *j);
const char *json_name(const struct json *j);
/* The value, or `other` when it is absent or of another type. */
const char *json_string(const struct json *j, const char *other);
double json_number(const struct json *j, double other);
bool json_bool(const struct json *j, bool other);
bool json_is_string(const struct json *j);
bool json_is_number(const struct json *j);
bool json_is_bool(const struct json *j);

/* Building. `name` is the field's in an object and NULL in an array. A NULL parent is fine and
 * gives -ENOMEM or NULL, so that a tree may be built first and asked for failure by json_write().
 */
struct json *json_new_object(void);
struct json *json_add_object(struct json *to, const char *name);
/* The object that this field of `to` is, to add to; made when there is none. */
struct json *json_open_object(struct json *to, const char *name);
struct json *json_add_array(struct json *to, const char *name);
int json_add_string(struct json *to, const char *name, const char *value);
int json_add_number(struct json *to, const char *name, double value);
int json_add_bool(struct json *to, const char *name, bool value);
int json_add_null(struct json *to, const char *name);

/* The tree as indented text, malloc'ed; NULL when there is no memory. */
char *json_print(const struct json *j);
/* Writes the text and a newline: 0 or a negative errno. */
int json_write(const struct json *j, FILE *to);
/* Writes it to a file that appears whole or not at all; the mode of one that was there stays. */
int json_write_file(const struct json *j, const char *file);

#endif
