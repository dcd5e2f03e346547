/* SPDX-License-Identifier: Apache-2.0 */
/* auth.c: whether a request is signed by the key that the server knows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/sign/sign_v4.h"
#include "bench/sim/gs/gs.h"
#include "bench/sim/identity/identity_i.h"
#include "bench/sim/s3/s3.h"
#include "base/banned.h"

/* As far as a request's clock may be off (the vendor's limit). */
enum { SKEW_MAX_S = 15 * 60 };

static bool bad_time(const struct service *s, struct request *x, const struct sign_claim *claim)
{
        const char *date = s3_in(x, "x-amz-date");
        time_t then;

        if (!date || sign_v4_parse_date(date, &then) || strncmp(date, claim->day, 8)) {
                s3_error(x, "AccessDenied");
                return true;
        }
        time_t now = time(NULL) + s->clock_skew_s;
        if (then > now + SKEW_MAX_S || then < now - SKEW_MAX_S) {
                s3_error(x, "RequestTimeTooSkewed");
                return true;
        }
        return false;
}

static int verify(const char *secret, const struct request *x, const struct sign_claim *claim)
{
        struct uri_pair headers[HTTP_HEADERS_MAX];
        struct sign_request rq = request_signed(x, headers);

        rq.payload_hash = s3_in(x, "x-amz-content-sha256");
        return sign_v4_verify(&rq, claim, secret);
}

/* "Any x-amz-* headers that you plan to include in your request must also be added" to what is
 * signed (user guide, "Authenticating Requests: Using the Authorization Header"). */
static bool leaves_unsigned(struct request *x, const struct sign_claim *claim)
{
        for (unsigned i = 0; i < x->rq.nheaders; i++) {
                const char *name = x->rq.headers[i].name;
                if (strncasecmp(name, x->google ? "x-goog-" : "x-amz-", x->google ? 7 : 6) ||
                    sign_claim_covers(claim, name))
                        continue;
                s3_refuse(x, 403, "AccessDenied",
                          "There were headers present in the request which were not signed");
                return true;
        }
        return false;
}

/* The secret of the key that is claimed: the server's own, or one that identity issued, which is
 * written to `issued`. NULL with the reply set. */
static const char *find_secret(struct service *s, struct request *x, const char *access,
                               char issued[IDENTITY_TEXT_MAX])
{
        int err = -ENOENT;

        if (s3_needs_session(x))
                err = issues_secret(s->sessions, access, s3_in(x, "x-amz-s3session-token"), issued);
        else if (s->access_key && !strcmp(access, s->access_key))
                return s->secret_key;
        else if (identity_is_asked(s->identity))
                err = identity_secret(s->identity, access, s3_in(x, "x-amz-security-token"),
                                      issued);
        if (!err)
                return issued;
        s3_error(x, err == -ETIME    ? "ExpiredToken"
                    : err == -EACCES ? "InvalidToken"
                                     : "InvalidAccessKeyId");
        return NULL;
}

static void check_claim(struct service *s, struct request *x, const struct sign_claim *claim)
{
        char issued[IDENTITY_TEXT_MAX];

        if (s->region && strcmp(claim->region, s->region)) {
                s3_error_region(x, s->region);
                return;
        }
        if (!s->access_key && !identity_is_asked(s->identity))
                return;
        const char *secret = find_secret(s, x, claim->access, issued);
        if (!secret)
                return;
        if (!s3_in(x, "x-amz-content-sha256"))
                s3_refuse(x, 400, "InvalidRequest",
                          "Missing required header for this request: x-amz-content-sha256");
        else if (!bad_time(s, x, claim) && !leaves_unsigned(x, claim) && verify(secret, x, claim))
                s3_error(x, "SignatureDoesNotMatch");
}

bool s3_denied(struct service *s, struct request *x)
{
        CLEANUP(sign_claim_release) struct sign_claim claim = {.text = NULL};
        const char *auth = s3_in(x, "authorization");
        bool asked = s->access_key || identity_is_asked(s->identity);

        if (!asked && !s->region)
                return false;
        if (x->google && (!auth || !strncmp(auth, "Bearer ", 7)))
                return bearer_denied(s, x);
        if (!auth) {
                if (asked)
                        s3_error(x, "AccessDenied");
                return x->status != 0;
        }
        if (s3_is_v2(auth)) { /* it says no region */
                if (asked)
                        s3_check_v2(s, x, auth);
        } else if (sign_claim_parse(auth, &claim))
                s3_refuse(x, 400, "AuthorizationHeaderMalformed", NULL);
        else
                check_claim(s, x, &claim);
        return x->status != 0;
}

bool bearer_denied(struct service *s, struct request *x)
{
        const char *auth = http_header(&x->rq, "authorization");

        if (!s->access_key && !identity_is_asked(s->identity))
                return false;
        if (identity_is_asked(s->identity) && !identity_bearer(s->identity, auth))
                return false;
        protocol_gs.refuse(x, 401, auth ? "authError" : "required",
                           auth ? "Invalid Credentials" : "Anonymous caller does not have access.");
        request_header(x, "WWW-Authenticate", auth ? "Bearer error=\"invalid_token\"" : "Bearer");
        return true;
}
