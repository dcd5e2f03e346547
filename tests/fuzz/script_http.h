/* SPDX-License-Identifier: Apache-2.0 */
/* script_http.h: replies to the client of the store from a script.
 *
 * With script_socket.c a script is what a server sends, byte by byte (script_peer.h).
 *
 * script_http.c plays the HTTP door of libstore. The linker puts it in the place of http_open(),
 * http_submit(), http_once() and the like (-Wl,--wrap), so that what is under test is the whole
 * client above the transport, on the caller's thread and without waiting. No program that an input
 * names is run: what it would print comes from the script, too. A script is replies with a line
 * "%%" between them. A reply is a line with its status, header lines, an empty line and the body.
 * In place of the status "reset" breaks the connection and "stall" lets it time out. Behind the
 * last reply every exchange is cancelled. */
#ifndef CKPTFS_TESTS_SCRIPT_HTTP_H
#define CKPTFS_TESTS_SCRIPT_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Replies come from p[0..n), which stays the caller's, from now on. */
void script_begin(const uint8_t *p, size_t n);
/* Plays the exchanges that were submitted, and those that these lead to, until none is left. */
void script_run(void);
/* Whether the last reply was begun. */
bool script_is_over(void);

#endif
