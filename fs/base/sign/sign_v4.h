/* SPDX-License-Identifier: Apache-2.0 */
/* sign_v4.h: AWS Signature Version 4 in the Authorization header, for both ends; and that of Google
 * Cloud Storage's XML API, which has other names in the same places.
 *
 * From the S3 API reference, "Authenticating Requests: Using the Authorization Header". The
 * signature is a function of its arguments; all is thread-safe and does not block. */
#ifndef CKPTFS_BASE_SIGN_V4_H
#define CKPTFS_BASE_SIGN_V4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "base/text/uri.h"

#define SIGN_UNSIGNED_PAYLOAD "UNSIGNED-PAYLOAD"
#define SIGN_EMPTY_PAYLOAD    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

enum { SIGN_DATE_LEN = 17, SIGN_MAX_HEADERS = 600, SIGN_MAX_QUERY = 32 };

struct sign_scheme;
extern const struct sign_scheme sign_goog4; /* x-goog-date, x-goog-content-sha256 */

/* A request as it is sent or was received. */
struct sign_request {
        const char *method;
        const char *path; /* as on the wire: encoded by uri_encode(), with its leading '/' */
        const struct uri_pair *query; /* decoded, in any order; at most SIGN_MAX_QUERY */
        size_t nquery;
        const struct uri_pair *headers; /* any case and order; at most SIGN_MAX_HEADERS */
        size_t nheaders;
        const char *payload_hash; /* SHA-256 in hexadecimal, or SIGN_UNSIGNED_PAYLOAD; S3 wants the
                                     header x-amz-content-sha256 to say the same */
        const struct sign_scheme *scheme; /* to sign by; NULL: AWS4, with x-amz-date */
};

/* Keeps the key that a secret gives for a day, a region and a service: four of the five HMACs of a
 * signature, which are the same for each request of the day. It replaces the one before. */
struct sign_cache {
        struct mutex mtx;
        struct {
                uint8_t of[SHA256_LEN], key[SHA256_LEN]; /* `of`: a digest of what it is made of */
        } locked GUARDED_BY(&mtx);
};
void sign_cache_init(struct sign_cache *c);
void sign_cache_release(struct sign_cache *c); /* and wipes it */

struct sign_key {
        const char *access, *secret, *region, *service;
        const char *token;        /* session token, NULL or "" when there is none */
        struct sign_cache *cache; /* NULL: the key of the day is derived anew */
};

/* The time of a text like "20130524T000000Z"; 0 or -EINVAL. */
int sign_v4_parse_date(const char *text, time_t *out);

/* Signs every header of the request, and x-amz-date (and x-amz-security-token, with a token) when
 * they are not among them. Writes the date to send to `date` and appends the value of
 * Authorization to `auth`. 0, -EINVAL (too many headers or parameters, no host) or -ENOMEM. */
int sign_v4(const struct sign_request *req, const struct sign_key *key, time_t when,
            char date[SIGN_DATE_LEN], struct buf *auth);

/* What an Authorization header claims. Pointers go into `text`, which is owned. */
struct sign_claim {
        char *text;
        const char *access, *day, *region, *service, *signed_headers, *signature;
        const struct sign_scheme *scheme;
};
/* Takes the header apart. 0, -EINVAL (not of this kind, or broken) or -ENOMEM; release with
 * sign_claim_release(). */
int sign_claim_parse(const char *authorization, struct sign_claim *out);
void sign_claim_release(struct sign_claim *c);
/* Whether the header of that name is among the signed ones. */
bool sign_claim_covers(const struct sign_claim *c, const char *header);

/* Whether a received request bears that signature: every signed header must be there, host and
 * x-amz-date among them. The payload is not looked at: that it hashes to payload_hash is for the
 * caller to see. 0, -EACCES (it does not), -EINVAL or -ENOMEM. The comparison takes the same time
 * for every wrong signature. */
int sign_v4_verify(const struct sign_request *req, const struct sign_claim *claim,
                   const char *secret);

#endif
