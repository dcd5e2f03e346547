/* SPDX-License-Identifier: Apache-2.0 */
/* stats_log.c: see stats_log.h. Store and pool count for themselves and are asked here. */
#include "mount/core/stats_log.h"

#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "mount/core/mount.h"
#include "mount/write/spill.h"
#include "store.h"

#include "base/banned.h"

enum { SECOND = 1000000000 };

/* What is not at the store, of every open file. */
static void update_files(struct mount *m)
{
        uint64_t counts[WFILE_FAILED + 1] = {0}, unsent = 0;
        int64_t close = INT64_MAX, change = INT64_MAX, now = tree_now_ns();

        tree_lock(m->tree);
        for (const struct node *n = tree_open_list_locked(m->tree); n; n = n->open_next) {
                struct wfile_status s;
                if (!n->file)
                        continue;
                wfile_status(n->file, &s);
                counts[s.state]++;
                if (s.state == WFILE_CLEAN || n->unlinked)
                        continue;
                unsent += s.size - s.sent;
                close = s.commit_ns && s.commit_ns < close ? s.commit_ns : close;
                change = s.changed_ns && s.changed_ns < change ? s.changed_ns : change;
        }
        unsigned handles = m->nhandles;
        tree_unlock(m->tree);
        METRIC_SET(handles, handles);
        METRIC_SET(dirty_files, counts[WFILE_DIRTY]);
        METRIC_SET(uploading_files, counts[WFILE_UPLOADING]);
        METRIC_SET(failed_files, counts[WFILE_FAILED]);
        METRIC_SET(unsent_bytes, unsent);
        METRIC_SET(oldest_close, close < now ? (now - close) / SECOND : 0);
        METRIC_SET(oldest_change, change < now ? (now - change) / SECOND : 0);
}

static void update_credentials(struct mount *m)
{
        struct store_credentials c;
        int64_t now = time(NULL);

        store_credentials(m->store, &c);
        METRIC_SET(credentials_usable, c.usable);
        METRIC_SET(credentials_age, c.fetched_s && c.fetched_s < now ? now - c.fetched_s : 0);
        METRIC_SET(credentials_expiry_timestamp, c.expiry_s);
}

void stats_update(struct mount *m)
{
        struct store_stats s;

        store_stats(m->store, &s);
        METRIC_SET(requests, s.requests);
        METRIC_SET(retries, s.retries);
        METRIC_SET(request_errors, s.errors);
        METRIC_SET(sent_bytes, s.bytes_sent);
        METRIC_SET(received_bytes, s.bytes_received);
        METRIC_SET(connections, s.connections_opened);
        METRIC_SET(transfers, s.transfers);
        METRIC_SET(transfers_most, s.transfers_most);
        METRIC_SET(nodes, tree_nodes(m->tree));
        METRIC_SET(pool_used, pool_in_use(m->pool));
        METRIC_SET(pool_peak, pool_peak(m->pool));
        METRIC_SET(pool_most, atomic_load(&m->memory));
        METRIC_SET(spill_used, spill_used(m->spill));
        METRIC_SET(spill_most, m->params.spill);
        update_files(m);
        update_credentials(m);
}

int stats_print(struct mount *m, struct buf *line)
{
        stats_update(m);
        return metrics_print(line);
}

void stats_log(struct mount *m)
{
        CLEANUP(buf_release) struct buf line = BUF_INIT;

        if (!stats_print(m, &line))
                log_info("statistics of %s: %s", m->mountpoint, line.p);
}
