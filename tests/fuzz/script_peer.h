/* SPDX-License-Identifier: Apache-2.0 */
/* script_peer.h: the server's side of the connections of script_socket.c: it reads requests, and
 * what it sends comes from a script.
 *
 * A script is bytes to send, and lines that begin with "%%" between them, whose line end before
 * them is none of the bytes. What such a line says happens once those bytes went:
 *   %%   the reply ends; the next one is sent when the next request has come
 *   %%+  what follows is sent on this connection once the client has nothing more to do
 *   %%*  what is to be sent since the last such line is doubled
 *   %%.  the connection is closed; %%! reset; %%- closed for what the server sends
 *   %%~  nothing more is sent on this connection, which stays open
 *   %%<  (as a reply's first line) the reply is sent before the request is read
 * Any other one is as "%%". Behind the last reply the connections are closed, and new ones refused.
 */
#ifndef CKPTFS_TESTS_SCRIPT_PEER_H
#define CKPTFS_TESTS_SCRIPT_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void peer_begin(const uint8_t *p, size_t n);
/* The client's side of a new connection, or -1 with errno. */
int peer_connect(void);
/* Reads and sends what can be read and sent now; false: nothing. */
bool peer_moves(void);
/* To be called when the client does nothing: what is next in the script. False: nothing. */
bool peer_goes_on(void);
bool peer_is_over(void); /* the last reply was begun */
/* Replies that were begun. */
unsigned peer_replies(void);
/* The client is gone: false when it left a connection open. */
bool peer_end(void);

#endif
