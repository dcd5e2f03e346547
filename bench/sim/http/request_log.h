/* SPDX-License-Identifier: Apache-2.0 */
/* request_log.h: a line a request, for tests to count and people to read.
 *
 *      TIME OP BUCKET KEY WHAT STATUS IN OUT MICROSECONDS ID FAULT
 *
 * separated by one blank, "-" for what there is not. TIME is when the request was complete enough
 * to be understood, in UTC; KEY is percent-encoded; WHAT is part=N or range=FIRST-LAST; STATUS is
 * 000 where no reply was sent; IN and OUT are bytes of the bodies; MICROSECONDS go to the last byte
 * of the reply; FAULT is what a rule did.
 *
 * A request that is held up until the rules change has a line more when that begins, and one when
 * it was let go since nobody changed them: held:OP and expired:OP stand for OP. */
#ifndef CKPTFS_SIM_REQUEST_LOG_H
#define CKPTFS_SIM_REQUEST_LOG_H

#include <stdbool.h>

struct request;
struct request_log;

/* Appends to `file`. 0 or a negative errno of open(). */
int request_log_open(const char *file, struct request_log **out);
void request_log_close(struct request_log *l);
/* One write(); thread-safe. l NULL: nothing. */
void request_log_line(struct request_log *l, const struct request *x, bool replied);
void request_log_event(struct request_log *l, const struct request *x, const char *event);

#endif
