/* SPDX-License-Identifier: Apache-2.0 */
/* server.h: threads, each with an event loop and connections of its own. */
#ifndef CKPTFS_SIM_SERVER_H
#define CKPTFS_SIM_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/sim/http/request.h"

struct request_log;
struct server;
struct tls_server;

struct server_config {
        const char *listen; /* "ADDRESS:PORT", port 0: a free one */
        unsigned threads;
        unsigned connections;    /* at most; further ones wait in the backlog */
        uint64_t rate;           /* bytes a second, a connection and direction; 0: no limit */
        uint64_t ttfb_ns;        /* before the first byte of a reply */
        struct tls_server *tls;  /* borrowed, NULL: plain */
        struct request_log *log; /* borrowed, NULL: none */
        const struct protocol *protocol;
        struct service service;
};

/* Binds and starts the threads. 0 or a negative errno with one line in `why`: cause, then remedy.
 */
int server_start(const struct server_config *cfg, struct server **out, char *why, size_t nwhy);
/* "127.0.0.1:40001", as bound. */
const char *server_address(const struct server *s);
/* Closes all connections, ends the threads, frees. */
void server_stop(struct server *s);

#endif
