/* SPDX-License-Identifier: Apache-2.0 */
/* sign_v4.c: see sign_v4.h. Both ends make the canonical request by the same code; they differ in
 * which headers go in: all that are sent, or those that the claim names. */
#include "base/sign/sign_v4.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/digest.h"

#include "base/banned.h"

struct sign_scheme {
        const char *algorithm, *prefix /* of the secret */, *end /* of the scope */;
        const char *date, *token; /* headers */
};
static const struct sign_scheme aws4 = {"AWS4-HMAC-SHA256", "AWS4", "aws4_request", "x-amz-date",
                                        "x-amz-security-token"};
const struct sign_scheme sign_goog4 = {"GOOG4-HMAC-SHA256", "GOOG4", "goog4_request", "x-goog-date",
                                       "x-goog-security-token"};

/* The headers of a canonical request, sorted by name; equal names stay in their order. */
struct header_set {
        size_t n;
        const struct uri_pair *v[SIGN_MAX_HEADERS + 2];
};

/* "20130524T000000Z" */
static void sign_v4_date(time_t when, char out[SIGN_DATE_LEN])
{
        struct tm tm;
        gmtime_r(&when, &tm);
        strftime(out, SIGN_DATE_LEN, "%Y%m%dT%H%M%SZ", &tm);
}

int sign_v4_parse_date(const char *text, time_t *out)
{
        struct tm tm = {0};
        const char *end = strptime(text, "%Y%m%dT%H%M%SZ", &tm);
        if (!end || *end || strlen(text) != SIGN_DATE_LEN - 1)
                return -EINVAL;
        *out = timegm(&tm);
        return 0;
}

static void header_set_add(struct header_set *set, const struct uri_pair *h)
{
        size_t at = set->n++;
        for (; at > 0 && strcasecmp(set->v[at - 1]->name, h->name) > 0; at--)
                set->v[at] = set->v[at - 1];
        set->v[at] = h;
}

static const struct uri_pair *find_header(const struct sign_request *req, const char *name)
{
        for (size_t i = 0; i < req->nheaders; i++)
                if (!strcasecmp(req->headers[i].name, name))
                        return &req->headers[i];
        return NULL;
}

static void add_lower(struct buf *b, const char *s)
{
        for (; *s; s++)
                buf_addc(b, *s >= 'A' && *s <= 'Z' ? (char)(*s - 'A' + 'a') : *s);
}

/* Without blanks at both ends, runs of blanks made one. */
static void add_trimmed(struct buf *b, const char *s)
{
        bool blank = false, any = false;
        for (; *s; s++) {
                if (*s == ' ' || *s == '\t') {
                        blank = true;
                        continue;
                }
                if (blank && any)
                        buf_addc(b, ' ');
                buf_addc(b, *s);
                blank = false;
                any = true;
        }
}

static bool starts_new_name(const struct header_set *set, size_t i)
{
        return i == 0 || strcasecmp(set->v[i - 1]->name, set->v[i]->name) != 0;
}

static void add_headers(struct buf *b, const struct header_set *set)
{
        for (size_t i = 0; i < set->n; i++) {
                if (starts_new_name(set, i)) {
                        if (i)
                                buf_addc(b, '\n');
                        add_lower(b, set->v[i]->name);
                        buf_addc(b, ':');
                } else {
                        buf_addc(b, ',');
                }
                add_trimmed(b, set->v[i]->value);
        }
        buf_addc(b, '\n');
}

static void add_header_names(struct buf *b, const struct header_set *set)
{
        for (size_t i = 0; i < set->n; i++) {
                if (!starts_new_name(set, i))
                        continue;
                if (i)
                        buf_addc(b, ';');
                add_lower(b, set->v[i]->name);
        }
}

/* Sorted by encoded name, then by encoded value: "a" goes before "a-b", although '-' < '='. */
static int add_query(struct buf *b, const struct sign_request *req)
{
        CLEANUP(buf_release) struct buf text = BUF_INIT;
        struct {
                size_t name, value;
        } at[SIGN_MAX_QUERY];
        size_t n = 0;

        for (size_t i = 0; i < req->nquery; i++) {
                size_t name = text.len, to = n++;
                uri_encode(&text, req->query[i].name, false);
                buf_addc(&text, 0);
                size_t value = text.len;
                uri_encode(&text, req->query[i].value, false);
                if (buf_addc(&text, 0))
                        return -ENOMEM;
                for (; to > 0; to--) {
                        int order = strcmp(text.p + at[to - 1].name, text.p + name);
                        if (!order)
                                order = strcmp(text.p + at[to - 1].value, text.p + value);
                        if (order <= 0)
                                break;
                        at[to] = at[to - 1];
                }
                at[to].name = name;
                at[to].value = value;
        }
        for (size_t i = 0; i < n; i++)
                buf_addf(b, "%s%s=%s", i ? "&" : "", text.p + at[i].name, text.p + at[i].value);
        return b->failed ? -ENOMEM : 0;
}

static int canonical_request(struct buf *b, const struct sign_request *req,
                             const struct header_set *set)
{
        buf_addf(b, "%s\n%s\n", req->method, req->path);
        add_query(b, req);
        buf_addc(b, '\n');
        add_headers(b, set);
        buf_addc(b, '\n');
        add_header_names(b, set);
        return buf_addf(b, "\n%s", req->payload_hash);
}

/* --- the key of the day --- */

void sign_cache_init(struct sign_cache *c)
{
        *c = (struct sign_cache){0};
        mutex_init(&c->mtx, LOCK_SIGN_CACHE);
}

void sign_cache_release(struct sign_cache *c)
{
        mutex_destroy(&c->mtx);
        explicit_bzero(c, sizeof *c);
}

/* What a signing key is made of. */
struct scope {
        const struct sign_scheme *scheme;
        const char *secret, *day, *region, *service;
        struct sign_cache *cache;
};

static void derive(const struct scope *s, const struct buf *first, uint8_t key[SHA256_LEN])
{
        hmac_sha256(first->p, first->len, s->day, strlen(s->day), key);
        hmac_sha256(key, SHA256_LEN, s->region, strlen(s->region), key);
        hmac_sha256(key, SHA256_LEN, s->service, strlen(s->service), key);
        hmac_sha256(key, SHA256_LEN, s->scheme->end, strlen(s->scheme->end), key);
}

/* The same from the cache, if it is there. `parts` holds all that it is made of, behind `first`. */
static void derive_cached(const struct scope *s, const struct buf *first, const struct buf *parts,
                          uint8_t key[SHA256_LEN])
{
        struct sign_cache *c = s->cache;
        uint8_t of[SHA256_LEN];

        sha256(parts->p, parts->len, of);
        mutex_lock(&c->mtx);
        bool hit = !memcmp(c->locked.of, of, sizeof of);
        if (hit)
                memcpy(key, c->locked.key, SHA256_LEN);
        mutex_unlock(&c->mtx);
        if (hit)
                return;
        derive(s, first, key);
        mutex_lock(&c->mtx);
        memcpy(c->locked.of, of, sizeof of);
        memcpy(c->locked.key, key, SHA256_LEN);
        mutex_unlock(&c->mtx);
}

static int signing_key(const struct scope *s, uint8_t key[SHA256_LEN])
{
        struct buf first = BUF_INIT, parts = BUF_INIT;
        int err = buf_addf(&first, "%s%s", s->scheme->prefix, s->secret);

        if (!err && s->cache)
                err = buf_addf(&parts, "%s\n%s\n%s\n%s", first.p, s->day, s->region, s->service);
        if (!err && s->cache)
                derive_cached(s, &first, &parts, key);
        else if (!err)
                derive(s, &first, key);
        explicit_bzero(first.p, first.len);
        explicit_bzero(parts.p, parts.len);
        buf_release(&first);
        buf_release(&parts);
        return err;
}

/* --- the signature --- */

/* The signature of the request with these headers, in hexadecimal. The day begins `date`. */
static int compute(const struct scope *s, const struct sign_request *req,
                   const struct header_set *set, const char *date, char out[2 * SHA256_LEN + 1])
{
        CLEANUP(buf_release) struct buf canonical = BUF_INIT;
        CLEANUP(buf_release) struct buf to_sign = BUF_INIT;
        uint8_t hash[SHA256_LEN], key[SHA256_LEN];
        char hex[2 * SHA256_LEN + 1];

        int err = canonical_request(&canonical, req, set);
        if (err)
                return err;
        sha256(canonical.p, canonical.len, hash);
        hex_encode(hash, sizeof hash, hex);
        err = buf_addf(&to_sign, "%s\n%s\n%s/%s/%s/%s\n%s", s->scheme->algorithm, date, s->day,
                       s->region, s->service, s->scheme->end, hex);
        if (!err)
                err = signing_key(s, key);
        if (err)
                return err;
        hmac_sha256(key, sizeof key, to_sign.p, to_sign.len, hash);
        explicit_bzero(key, sizeof key);
        hex_encode(hash, sizeof hash, out);
        return 0;
}

int sign_v4(const struct sign_request *req, const struct sign_key *key, time_t when,
            char date[SIGN_DATE_LEN], struct buf *auth)
{
        const struct sign_scheme *scheme = req->scheme ? req->scheme : &aws4;
        const struct uri_pair *sent_date = find_header(req, scheme->date);
        const struct uri_pair date_header = {scheme->date, date};
        const struct uri_pair token_header = {scheme->token, key->token};
        struct header_set set = {0};
        char day[9], signature[2 * SHA256_LEN + 1];

        if (req->nheaders > SIGN_MAX_HEADERS || req->nquery > SIGN_MAX_QUERY ||
            !find_header(req, "host"))
                return -EINVAL;
        if (sent_date && strlen(sent_date->value) != SIGN_DATE_LEN - 1)
                return -EINVAL;
        sign_v4_date(when, date);
        if (sent_date)
                memcpy(date, sent_date->value, SIGN_DATE_LEN);
        memcpy(day, date, 8);
        day[8] = 0;
        for (size_t i = 0; i < req->nheaders; i++)
                header_set_add(&set, &req->headers[i]);
        if (!sent_date)
                header_set_add(&set, &date_header);
        if (key->token && key->token[0] && !find_header(req, scheme->token))
                header_set_add(&set, &token_header);

        const struct scope scope = {scheme,      key->secret,  day,
                                    key->region, key->service, key->cache};
        int err = compute(&scope, req, &set, date, signature);
        if (err)
                return err;
        buf_addf(auth, "%s Credential=%s/%s/%s/%s/%s, SignedHeaders=", scheme->algorithm,
                 key->access, day, key->region, key->service, scheme->end);
        add_header_names(auth, &set);
        return buf_addf(auth, ", Signature=%s", signature);
}

void sign_claim_release(struct sign_claim *c)
{
        freep(&c->text);
        *c = (struct sign_claim){0};
}

/* "ACCESS/20130524/us-east-1/s3/aws4_request", in place. The access key may hold slashes, so the
 * parts are taken from the end. */
static int split_credential(char *text, struct sign_claim *out)
{
        const char **parts[] = {NULL, &out->service, &out->region, &out->day};
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                char *slash = strrchr(text, '/');
                if (!slash)
                        return -EINVAL;
                *slash = 0;
                if (parts[i])
                        *parts[i] = slash + 1;
                else if (strcmp(slash + 1, out->scheme->end) != 0)
                        return -EINVAL;
        }
        out->access = text;
        return 0;
}

static int split_claim(char *fields, struct sign_claim *out)
{
        char *save = NULL, *credential = NULL;
        for (char *s = strtok_r(fields, ", ", &save); s; s = strtok_r(NULL, ", ", &save)) {
                char *value = strchr(s, '=');
                if (!value)
                        return -EINVAL;
                *value++ = 0;
                if (!strcmp(s, "Credential"))
                        credential = value;
                else if (!strcmp(s, "SignedHeaders"))
                        out->signed_headers = value;
                else if (!strcmp(s, "Signature"))
                        out->signature = value;
        }
        if (!credential || !out->signed_headers || !out->signature)
                return -EINVAL;
        return split_credential(credential, out);
}

static bool claims(const char *authorization, const struct sign_scheme *scheme)
{
        size_t n = strlen(scheme->algorithm);
        return !strncmp(authorization, scheme->algorithm, n) && authorization[n] == ' ';
}

int sign_claim_parse(const char *authorization, struct sign_claim *out)
{
        CLEANUP(sign_claim_release) struct sign_claim claim = {0};
        const size_t n = strcspn(authorization, " ") + 1;

        claim.scheme = claims(authorization, &aws4)         ? &aws4
                       : claims(authorization, &sign_goog4) ? &sign_goog4
                                                            : NULL;
        if (!claim.scheme)
                return -EINVAL;
        claim.text = strdup(authorization + n);
        if (!claim.text)
                return -ENOMEM;
        int err = split_claim(claim.text, &claim);
        if (err)
                return err;
        *out = claim;
        claim.text = NULL;
        return 0;
}

static bool list_has(const char *list, const char *name)
{
        size_t n = strlen(name);
        for (const char *s = list; *s; s += strcspn(s, ";"), s += *s == ';')
                if (strcspn(s, ";") == n && !strncasecmp(s, name, n))
                        return true;
        return false;
}

bool sign_claim_covers(const struct sign_claim *c, const char *header)
{
        return list_has(c->signed_headers, header);
}

/* Picks the headers that the claim names; -EACCES when one of them is not there. */
static int select_signed(const struct sign_request *req, const char *list, struct header_set *set)
{
        size_t names = 0, found = 0;
        for (size_t i = 0; i < req->nheaders; i++)
                if (list_has(list, req->headers[i].name))
                        header_set_add(set, &req->headers[i]);
        for (size_t i = 0; i < set->n; i++)
                found += starts_new_name(set, i);
        for (const char *s = list; *s; s++)
                names += *s == ';';
        return found == names + 1 ? 0 : -EACCES;
}

static bool same_text(const char *a, const char *b)
{
        size_t n = strlen(b);
        unsigned char differ = 0;
        if (strlen(a) != n)
                return false;
        for (size_t i = 0; i < n; i++)
                differ |= (unsigned char)(a[i] ^ b[i]);
        return !differ;
}

int sign_v4_verify(const struct sign_request *req, const struct sign_claim *claim,
                   const char *secret)
{
        const struct uri_pair *date = find_header(req, claim->scheme->date);
        struct header_set set = {0};
        char signature[2 * SHA256_LEN + 1];

        if (req->nheaders > SIGN_MAX_HEADERS || req->nquery > SIGN_MAX_QUERY)
                return -EINVAL;
        if (!date || strlen(date->value) != SIGN_DATE_LEN - 1 || strlen(claim->day) != 8 ||
            memcmp(date->value, claim->day, 8) != 0)
                return -EACCES;
        if (!list_has(claim->signed_headers, "host") ||
            !list_has(claim->signed_headers, claim->scheme->date))
                return -EACCES;
        const struct scope scope = {claim->scheme, secret,         claim->day,
                                    claim->region, claim->service, NULL};
        int err = select_signed(req, claim->signed_headers, &set);
        if (!err)
                err = compute(&scope, req, &set, date->value, signature);
        if (err)
                return err;
        return same_text(claim->signature, signature) ? 0 : -EACCES;
}
