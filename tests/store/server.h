/* SPDX-License-Identifier: Apache-2.0 */
/* server.h: the cases that test_store runs against a server named by the environment
 * (CKPTFS_TEST_ENDPOINT, CKPTFS_TEST_BUCKET, AWS_*). Each case has keys of its own. */
#ifndef CKPTFS_TESTS_STORE_SERVER_H
#define CKPTFS_TESTS_STORE_SERVER_H

#include <check.h>
#include <pthread.h>

#include "store.h"

enum { KiB = 1 << 10, MiB = 1 << 20 };

/* A store whose prefix no other case uses; ends the case when it cannot be opened. */
struct store *server_store(void);
/* Says in the test's output what this server cannot be tested for. */
void server_lacks(const char *what);
/* n bytes of a pattern that begins at byte `off` of it. The caller's, to free. */
char *pattern(uint64_t off, size_t n);
bool is_pattern(const char *p, uint64_t off, size_t n);

/* Waits for callbacks: each calls event_done(), the case event_wait() for n of them. */
struct event {
        pthread_mutex_t mtx;
        pthread_cond_t cond;
        unsigned n;
        int err; /* the first that was not 0 */
        struct store_object obj;
};
#define EVENT                                                                                      \
        {                                                                                          \
                .mtx = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER                 \
        }
void event_done(void *arg, int err, const struct store_object *obj); /* a store_done_fn */
int event_wait(struct event *e, unsigned n);

TCase *object_cases(void);
TCase *list_cases(void);
TCase *upload_cases(void);

#endif
