/* SPDX-License-Identifier: Apache-2.0 */
/* error_hint.c: see error_hint.h. The words looked for are those of libcurl and OpenSSL; where they
 * change, the general remedy is given. */
#include "store/core/error_hint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/core/ops.h"

#include "base/banned.h"

struct hint {
        const char *said, *remedy;
};

static const char *hint_for(const struct hint *v, size_t n, const char *said, const char *other)
{
        for (size_t i = 0; i < n; i++)
                if (strstr(said, v[i].said))
                        return v[i].remedy;
        return other;
}

const char *error_hint_tls(const char *said)
{
        static const struct hint hints[] = {
                {"has expired", "renew its certificate, or correct the clock here"},
                {"not yet valid", "correct the clock here, or its certificate"},
                {"subject name", "give the name that its certificate is for"},
        };
        return hint_for(hints, sizeof hints / sizeof *hints, said,
                        "set ca_bundle to the PEM file of the authority that signed for it");
}

/* What a server that is spoken to in the wrong way says or does. */
static const char *other_scheme(const char *where, const char *said)
{
        static const struct hint with_tls[] = {
                {"wrong version number", "it speaks no TLS: give http:// in endpoint"},
                {"packet length too long", "it speaks no TLS: give http:// in endpoint"},
                {"TLS handshake took", "where it speaks no TLS, give http:// in endpoint"},
                {"SSL connection timeout", "where it speaks no TLS, give http:// in endpoint"},
        };
        static const struct hint without[] = {
                {"HTTP/0.9", "where it speaks TLS, give https:// in endpoint"},
                {"Empty reply", "where it speaks TLS, give https:// in endpoint"},
                {"reset by peer", "where it speaks TLS, give https:// in endpoint"},
        };
        if (!strncmp(where, "http:", 5))
                return hint_for(without, sizeof without / sizeof *without, said, NULL);
        return hint_for(with_tls, sizeof with_tls / sizeof *with_tls, said, NULL);
}

/* ", or the proxy in https_proxy" where there is one. */
static const char *or_proxy(const struct op *op, char out[64])
{
        const char *name = http_proxy_variable(op->rq.url.p);
        snprintf(out, 64, "%s%s", name ? ", or the proxy in " : "", name ? name : "");
        return out;
}

void error_hint_transport(const char *where, const char *correct, const struct op *op, int err,
                          char *why, size_t nwhy)
{
        const char *said = op->fault.message, *remedy = other_scheme(where, said);
        char proxy[64];

        if (err == -ENOMEM)
                snprintf(why, nwhy, "no memory for a request: end another program");
        else if (op->untrusted)
                snprintf(why, nwhy, "%s cannot be trusted over TLS (%s): %s", where, said,
                         error_hint_tls(said));
        else if (remedy)
                snprintf(why, nwhy, "%s: %s: %s", where, said, remedy);
        else if (err == -EHOSTUNREACH)
                snprintf(why, nwhy, "%s: host unknown (%s): correct %s%s", where, said, correct,
                         or_proxy(op, proxy));
        else if (err == -ECONNREFUSED)
                snprintf(why, nwhy, "%s does not answer (%s): start the server or correct %s%s",
                         where, said, correct, or_proxy(op, proxy));
        else
                snprintf(why, nwhy, "%s: %s (%s): try again, or correct %s%s", where, said,
                         strerror(-err), correct, or_proxy(op, proxy));
}

void error_hint_lost(const struct op *op, char *out, size_t n)
{
        const char *name = http_proxy_variable(op->rq.url.p);

        if (op->untrusted)
                snprintf(out, n, "%s", error_hint_tls(op->fault.message));
        else
                snprintf(out, n, "see 'ckptctl doctor' for where the way to the server fails%s%s",
                         name ? ", and to the proxy in " : "", name ? name : "");
}

void error_hint_stranger(const char *where, const char *kind, const struct op *op, char *why,
                         size_t nwhy)
{
        const struct op_fault *f = &op->fault;
        char proxy[64];

        if (f->status >= 500)
                snprintf(why, nwhy, "%s answers %d%s%s each time: try again later, or see its log",
                         where, f->status, *f->message ? " " : "", f->message);
        else if (strstr(f->message, "HTTPS"))
                snprintf(why, nwhy, "%s answers %d %s: give https:// in endpoint", where, f->status,
                         f->message);
        else
                snprintf(why, nwhy, "%s answers %d%s%s, and not as %s does: correct endpoint%s",
                         where, f->status, *f->message ? " " : "", f->message, kind,
                         or_proxy(op, proxy));
}

void error_hint_copy_text(struct op *op)
{
        const char *text = op->in.p + strspn(op->in.p, " \t\r\n");
        size_t n = strcspn(text, "\r\n");

        if (*text && *text != '<' && *text != '{')
                snprintf(op->fault.message, sizeof op->fault.message, "%.*s",
                         n < 200 ? (int)n : 200, text);
}

void error_hint_permission(struct op_fault *fault, const char *said, const char *before)
{
        const char *at = said ? strstr(said, before) : NULL;

        if (!at)
                return;
        at += strlen(before);
        size_t n = strcspn(at, " \t\r\n\"'");
        if (n < sizeof fault->permission && strcspn(at, ".:") < n)
                snprintf(fault->permission, sizeof fault->permission, "%.*s", (int)n, at);
}
