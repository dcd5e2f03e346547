/* SPDX-License-Identifier: Apache-2.0 */
/* auth.c: whether a request is signed by the key that the server knows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/sign_v4.h"
#include "bench/sim/s3.h"
#include "base/banned.h"

/* As far as a request's clock may be off (the vendor's limit). */
enum { SKEW_MAX_S = 15 * 60 };

static bool bad_time(struct exchange *x, const struct sign_claim *claim)
{
        const char *date = s3_in(x, "x-amz-date");
        time_t then;

        if (!date || sign_v4_parse_date(date, &then) || strncmp(date, claim->day, 8)) {
                s3_error(x, "AccessDenied");
                return true;
        }
        time_t now = time(NULL);
        if (then > now + SKEW_MAX_S || then < now - SKEW_MAX_S) {
                s3_error(x, "RequestTimeTooSkewed");
                return true;
        }
        return false;
}

static int verify(const struct service *s, const struct exchange *x, const struct sign_claim *claim)
{
        struct uri_pair headers[HTTP_HEADERS_MAX];
        struct sign_request rq = {.method = x->rq.method,
                                  .path = x->rq.path,
                                  .query = x->query,
                                  .nquery = x->nquery,
                                  .headers = headers,
                                  .nheaders = x->rq.nheaders,
                                  .payload_hash = s3_in(x, "x-amz-content-sha256")};

        for (unsigned i = 0; i < x->rq.nheaders; i++)
                headers[i] = (struct uri_pair){x->rq.headers[i].name, x->rq.headers[i].value};
        return sign_v4_verify(&rq, claim, s->secret_key);
}

bool s3_denied(struct service *s, struct exchange *x)
{
        CLEANUP(sign_claim_release) struct sign_claim claim = {.text = NULL};
        const char *auth = s3_in(x, "authorization");

        if (!s->access_key && !s->region)
                return false;
        if (!auth) {
                if (s->access_key)
                        s3_error(x, "AccessDenied");
                return x->status != 0;
        }
        int err = sign_claim_parse(auth, &claim);
        if (err)
                s3_refuse(x, 400, "AuthorizationHeaderMalformed", NULL);
        else if (s->region && strcmp(claim.region, s->region))
                s3_error_region(x, s->region);
        else if (!s->access_key)
                return false;
        else if (strcmp(claim.access, s->access_key))
                s3_error(x, "InvalidAccessKeyId");
        else if (!s3_in(x, "x-amz-content-sha256"))
                s3_refuse(x, 400, "InvalidRequest",
                          "Missing required header for this request: x-amz-content-sha256");
        else if (!bad_time(x, &claim) && verify(s, x, &claim))
                s3_error(x, "SignatureDoesNotMatch");
        return x->status != 0;
}
