/* SPDX-License-Identifier: Apache-2.0 */
/* server_config.h: what a server and its connections are told. */
#ifndef CKPTFS_SIM_SERVER_CONFIG_H
#define CKPTFS_SIM_SERVER_CONFIG_H

#include <stdint.h>

#include "bench/sim/http/request.h"

struct line;
struct prefix_rates;
struct request_log;
struct tls_server;

struct server_config {
        const char *listen; /* "ADDRESS:PORT", port 0: a free one */
        unsigned threads;
        unsigned connections;       /* at most; further ones wait in the backlog */
        uint64_t rate;              /* bytes a second, a connection and direction; 0: no limit */
        uint64_t ttfb_ns;           /* before the first byte of a reply */
        struct line *up, *down;     /* borrowed: what all connections share */
        struct prefix_rates *rates; /* borrowed, NULL: any */
        struct tls_server *tls;     /* borrowed, NULL: plain */
        struct request_log *log;    /* borrowed, NULL: none */
        const struct protocol *protocol;
        struct service service;
};

#endif
