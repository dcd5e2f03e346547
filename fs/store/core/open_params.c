/* SPDX-License-Identifier: Apache-2.0 */
/* open_params.c: a store from the options that programs have in common. */
#include "store/core/open_params.h"

#include "base/params.h"
#include "store.h"

#include "base/banned.h"

enum { LEAST = 16, MOST = 1024 };

unsigned store_transfers_most(const struct params *p)
{
        uint64_t each = p->part_size > p->read_size ? p->part_size : p->read_size;
        uint64_t fit = p->memory / each;

        if (p->connections)
                return (unsigned)p->connections;
        return fit < LEAST ? LEAST : fit > MOST ? MOST : (unsigned)fit;
}

int store_prepare_params(const struct params *p, const char *url, struct store **out, char *why,
                         size_t nwhy)
{
        char sse[32];
        const struct store_config cfg = {
                .url = url,
                .endpoint = p->endpoint,
                .addressing = (enum store_addressing)p->addressing_style,
                .region = p->region,
                .profile = p->profile,
                .ca_bundle = p->ca_bundle,
                .credentials = p->credentials,
                .anonymous = p->anonymous,
                .requester_pays = p->requester_pays,
                .bucket_owner = p->bucket_owner,
                .sse = p->sse ? param_choice("sse", p->sse, sse, sizeof sse) : NULL,
                .sse_kms_key = p->sse_kms_key,
                .bucket_key = p->bucket_key,
                .storage_class = p->storage_class,
                .tags = p->tags,
                .sse_c_key_file = p->sse_c_key_file,
                .checksums = (enum store_checksums)p->checksums,
                .billing_project = p->billing_project,
                .kms_key = p->kms_key,
                .csek_file = p->csek_file,
                .upload = (enum store_way)p->upload,
                .connections = (unsigned)p->connections,
                .connections_most = store_transfers_most(p),
                .workers = (unsigned)p->workers,
                .stall_timeout_ms = (unsigned)p->stall_timeout,
                .deadline_ms = (unsigned)p->deadline,
                .connection_age_ms = (unsigned)p->connection_age,
        };
        return store_open(&cfg, out, why, nwhy);
}

int store_open_params(const struct params *p, const char *url, struct store **out, char *why,
                      size_t nwhy)
{
        int err = store_prepare_params(p, url, out, why, nwhy);
        if (err)
                return err;
        err = store_check(*out, why, nwhy);
        if (err) {
                store_close(*out);
                *out = NULL;
        }
        return err;
}
