/* SPDX-License-Identifier: Apache-2.0 */
/* stats_log.c: see stats_log.h. Store and pool count for themselves and are asked here. */
#include "mount/core/stats_log.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "mount/core/mount.h"
#include "store.h"

#include "base/banned.h"

void stats_update(struct mount *m)
{
        struct store_stats s;

        tree_lock(m->tree);
        unsigned handles = m->nhandles;
        tree_unlock(m->tree);
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
        METRIC_SET(handles, handles);
        METRIC_SET(pool_used, pool_in_use(m->pool));
        METRIC_SET(pool_peak, pool_peak(m->pool));
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
