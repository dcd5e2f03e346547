/* SPDX-License-Identifier: Apache-2.0 */
/* server.h: the cases that test_store runs against a server named by the environment
 * (CKPTFS_TEST_SCHEME, CKPTFS_TEST_ENDPOINT, CKPTFS_TEST_BUCKET, AWS_*). Each case has keys of its
 * own. */
#ifndef CKPTFS_TESTS_STORE_SERVER_H
#define CKPTFS_TESTS_STORE_SERVER_H

#include <check.h>

#include "store.h"
#include "tests/store/event.h"

enum { KiB = 1 << 10, MiB = 1 << 20 };

/* A store whose prefix no other case uses; ends the case when it cannot be opened. */
struct store *server_store(void);
/* Says in the test's output what this server cannot be tested for. */
void server_lacks(const char *what);
/* Whether it is the server of that name. */
bool server_is(const char *kind);
/* What names no version that there is. */
const char *server_other_version(void);
/* n bytes of a pattern that begins at byte `off` of it. The caller's, to free. */
char *pattern(uint64_t off, size_t n);
bool is_pattern(const char *p, uint64_t off, size_t n);

TCase *object_cases(void);
TCase *list_cases(void);
TCase *upload_cases(void);

#endif
