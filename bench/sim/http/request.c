/* SPDX-License-Identifier: Apache-2.0 */
/* request.c: what the protocols share. See request.h. */
#include "bench/sim/http/request.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/sim/store/object.h"
#include "base/banned.h"

/* SHA-256 of more would hold up the other connections of the thread for too long. */
enum { SHA256_BODY_MAX = 8 << 20, SERIAL_DIGITS = 8 };

void request_header(struct request *x, const char *name, const char *value)
{
        buf_addf(&x->headers, "%s: %s\r\n", name, value);
}

const char *request_in(const struct request *x, const char *header)
{
        char name[64];

        if (x->google && !strncmp(header, "x-amz-", 6)) {
                snprintf(name, sizeof name, "x-goog-%s", header + 6);
                const char *value = http_header(&x->rq, name);
                if (value)
                        return value;
        }
        return http_header(&x->rq, header);
}

struct sign_request request_signed(const struct request *x, struct uri_pair *headers)
{
        for (unsigned i = 0; i < x->rq.nheaders; i++)
                headers[i] = (struct uri_pair){x->rq.headers[i].name, x->rq.headers[i].value};
        return (struct sign_request){.method = x->rq.method,
                                     .path = x->rq.path,
                                     .query = x->query,
                                     .nquery = x->nquery,
                                     .headers = headers,
                                     .nheaders = x->rq.nheaders};
}

int request_range(struct request *x, const struct object *o)
{
        x->off = 0;
        x->len = o->size;
        int ranged = http_range(http_header(&x->rq, "range"), o->size, &x->off, &x->len);
        if (ranged < 0)
                buf_addf(&x->headers, "Content-Range: bytes */%llu\r\n",
                         (unsigned long long)o->size);
        else if (ranged)
                buf_addf(&x->headers, "Content-Range: bytes %llu-%llu/%llu\r\n",
                         (unsigned long long)x->off, (unsigned long long)(x->off + x->len - 1),
                         (unsigned long long)o->size);
        return ranged;
}

unsigned request_page_max(const struct request *x, unsigned max)
{
        const struct fault *f = &x->fault;

        return f->what == FAULT_SHORT_PAGE && f->entries < max ? f->entries : max;
}

void request_add_token(struct buf *b, const char *p, size_t n)
{
        static atomic_uint serial;

        buf_addf(b, "%0*x", SERIAL_DIGITS,
                 atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed));
        for (size_t i = 0; i < n; i++)
                buf_addf(b, "%02x", (unsigned char)p[i]);
}

char *request_read_token(const char *token)
{
        size_t n = strlen(token);
        CLEANUP(freep) char *text = malloc(n / 2 + 1);

        if (!text || n % 2 || n < SERIAL_DIGITS || strspn(token, "0123456789abcdef") != n)
                return NULL;
        token += SERIAL_DIGITS;
        n -= SERIAL_DIGITS;
        for (size_t i = 0; i < n / 2; i++) {
                char hex[3] = {token[2 * i], token[2 * i + 1], 0};
                text[i] = (char)strtoul(hex, NULL, 16);
        }
        text[n / 2] = 0;
        return TAKE_PTR(text);
}

/* Cloud Storage, "Object name requirements": "Object names cannot contain Carriage Return or Line
 * Feed characters", and in buckets with a hierarchical namespace the names of folder and base "can
 * have a maximum size of 512 bytes" each; "About folders": "object names can contain at most 50
 * slashes". */
const char *request_google_name(const char *key, bool has_folders)
{
        enum { NAME_MAX_FLAT = 1024, NAME_MAX_FOLDER = 512, DEPTH_MAX = 50 };
        const char *base = strrchr(key, '/');
        size_t folder = base ? (size_t)(base + 1 - key) : 0, depth = 0;

        for (const char *p = key; (p = strchr(p, '/')); p++)
                depth++;
        if (strlen(key) > NAME_MAX_FLAT)
                return "The object name is too long.";
        if (strpbrk(key, "\r\n"))
                return "Disallowed unicode characters present in object name.";
        if (has_folders && (folder > NAME_MAX_FOLDER || strlen(key + folder) > NAME_MAX_FOLDER))
                return "The folder name or the base name of the object is too long.";
        return has_folders && depth > DEPTH_MAX ? "The object name has too many folders." : NULL;
}

void said_by_hash(struct said *said, const char *hash, char text[80])
{
        char *save = NULL;

        if (!hash)
                return;
        snprintf(text, 80, "%s", hash);
        for (char *p = strtok_r(text, ", ", &save); p; p = strtok_r(NULL, ", ", &save)) {
                if (!strncasecmp(p, "crc32c=", 7))
                        said->crc32c = p + 7;
                else if (!strncasecmp(p, "md5=", 4))
                        said->md5 = p + 4;
        }
}

/* The name of the error that the bytes at p call for, or NULL. */
static const char *compare(const struct said *said, const void *p, size_t n, uint32_t crc)
{
        uint8_t sum[SHA256_LEN], want[SHA256_LEN];
        char text[2 * SHA256_LEN + 1];

        if (said->md5) {
                if (base64_decode(said->md5, want, sizeof want) != MD5_LEN)
                        return "InvalidDigest";
                md5(p, n, sum);
                if (memcmp(sum, want, MD5_LEN))
                        return "BadDigest";
        }
        if (said->crc32c) {
                crc32c_base64(crc, text);
                if (strcmp(text, said->crc32c))
                        return "BadDigest";
        }
        if (said->crc64nvme) {
                crc64nvme_base64(crc64nvme(0, p, n), text);
                if (strcmp(text, said->crc64nvme))
                        return "BadDigest";
        }
        if (said->sha256 && strlen(said->sha256) == 2 * SHA256_LEN && n <= SHA256_BODY_MAX) {
                sha256(p, n, sum);
                hex_encode(sum, sizeof sum, text);
                if (strcmp(text, said->sha256))
                        return "XAmzContentSHA256Mismatch";
        }
        return NULL;
}

const char *request_differs(struct request *x, const struct said *said, int *err)
{
        const void *p;

        *err = 0;
        if (x->to == BODY_TEXT)
                return compare(said, x->text.p, x->text.len, crc32c(0, x->text.p, x->text.len));
        if (x->to != BODY_INTAKE || data_is_null(x->intake.data))
                return NULL; /* the bytes are gone */
        *err = intake_map(&x->intake, &p);
        if (*err)
                return "";
        const char *code = compare(said, p, x->intake.len, x->intake.crc);
        intake_unmap(&x->intake, p);
        return code;
}
