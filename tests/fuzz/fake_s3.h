/* SPDX-License-Identifier: Apache-2.0 */
/* fake_s3.h: a small S3 behind the HTTP door of libstore, in the place of http_open() and the like
 * (-Wl,--wrap): objects have a size and an ETag, and their bytes are zeros. It answers on a thread
 * of its own, as the real door does, and at once. */
#ifndef CKPTFS_TESTS_FAKE_S3_H
#define CKPTFS_TESTS_FAKE_S3_H

/* The endpoint to give to store_open(). */
#define FAKE_S3_URL "http://127.0.0.1:9000"

/* No objects, no faults. */
void fake_s3_reset(void);
/* The next n requests are refused with that status; 0: their connection breaks after they took
 * effect. */
void fake_s3_refuse(unsigned n, int status);

#endif
