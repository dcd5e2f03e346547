/* SPDX-License-Identifier: Apache-2.0 */
/* dynamodb.c: see dynamodb.h. */
#include "bench/cli/dynamodb.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "store.h"

#include "base/banned.h"

/* An item holds 400 KiB of names and values; the text around them only adds. */
enum { ITEM_MAX = 400 << 10 };

/* Lists that grow with epochs, ranks and time. */
static bool is_long(const char *name)
{
        static const char *const names[] = {"epochs", "utilization_over_time", "throughput_mibs",
                                            "corrected_save_durations_s",
                                            "corrected_load_durations_s"};
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
                if (name && !strcmp(name, names[i]))
                        return true;
        return false;
}

/* Adds a value with its type: {"S": "text"}, {"N": "1.5"}, {"M": {...}}, {"L": [...]}. */
static void add_typed(struct json *to, const char *name, const struct json *v, bool shorter)
{
        struct json *o = json_add_object(to, name);
        char text[40];

        if (json_is_string(v)) {
                json_add_string(o, "S", json_string(v, ""));
        } else if (json_is_number(v)) {
                snprintf(text, sizeof text, "%.17g", json_number(v, 0));
                json_add_string(o, "N", text);
        } else if (json_is_bool(v)) {
                json_add_bool(o, "BOOL", json_bool(v, false));
        } else if (json_is_object(v) || json_is_array(v)) {
                bool list = json_is_array(v);
                struct json *in = list ? json_add_array(o, "L") : json_add_object(o, "M");
                for (size_t i = 0; i < json_count(v); i++) {
                        const struct json *e = json_at(v, i);
                        if (list || !shorter || !is_long(json_name(e)))
                                add_typed(in, list ? NULL : json_name(e), e, shorter);
                }
        } else {
                json_add_bool(o, "NULL", true);
        }
}

/* The body of PutItem, malloc'ed. */
static char *put_item(const struct keys *k, const struct json *run, bool shorter)
{
        CLEANUP(json_freep) struct json *body = json_new_object();
        struct json *item;

        json_add_string(body, "TableName", k->dynamodb_table);
        item = json_add_object(body, "Item");
        json_add_string(json_add_object(item, "s3torchconnector_version"), "S",
                        "ckptfs-" PACKAGE_VERSION);
        if (shorter)
                json_add_string(json_add_object(item, "left_out"), "S",
                                "values of single epochs, ranks and moments");
        for (size_t i = 0; i < json_count(run); i++)
                add_typed(item, json_name(json_at(run, i)), json_at(run, i), shorter);
        return json_print(body);
}

int dynamodb_put(const struct keys *k, const struct json *run, char *why, size_t nwhy)
{
        CLEANUP(freep) char *body = put_item(k, run, false);

        if (body && strlen(body) > ITEM_MAX) {
                char *other = put_item(k, run, true);
                freep(&body);
                body = other;
        }
        if (!body) {
                snprintf(why, nwhy, "DynamoDB: out of memory: free some");
                return -ENOMEM;
        }
        const struct store_aws_call call = {
                .what = "DynamoDB",
                .service = "dynamodb",
                .target = "DynamoDB_20120810.PutItem",
                .body = body,
                .region = k->dynamodb_region,
                .profile = k->s3_profile,
                .endpoint = k->dynamodb_endpoint,
                .ca_bundle = k->s3_ca_bundle,
        };
        char cause[400];
        int err = store_aws_call(&call, cause, sizeof cause);
        if (err)
                snprintf(why, nwhy,
                         "dynamodb.table=%.100s: %s: the results are on disk all the same",
                         k->dynamodb_table, cause);
        return err;
}
