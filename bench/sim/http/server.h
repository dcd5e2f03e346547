/* SPDX-License-Identifier: Apache-2.0 */
/* server.h: threads, each with an event loop and connections of its own. */
#ifndef CKPTFS_SIM_SERVER_H
#define CKPTFS_SIM_SERVER_H

#include <stddef.h>

#include "bench/sim/http/server_config.h"

struct server;

/* Binds and starts the threads. 0 or a negative errno with one line in `why`: cause, then remedy.
 */
int server_start(const struct server_config *cfg, struct server **out, char *why, size_t nwhy);
/* "127.0.0.1:40001", as bound. */
const char *server_address(const struct server *s);
/* The rules for faults have changed: requests that they held up may go on. */
void server_wake(struct server *s);
/* Closes all connections, ends the threads, frees. */
void server_stop(struct server *s);

#endif
