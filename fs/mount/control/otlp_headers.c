/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_headers.c: see otlp_headers.h. "key1=value1,key2=value2", as the specification has it
 * (OpenTelemetry Protocol Exporter, "Specifying headers via environment variables"): a W3C Baggage
 * without metadata behind semicolons. Values are percent-encoded, or plain where they need no
 * escape. */
#include "mount/control/otlp_headers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text/uri.h"

#include "base/banned.h"

enum { HEADERS_MAX = 32, TEXT_MAX = 8192 };

#define TOKEN "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Those that the export sets itself. */
static bool is_ours(const char *name)
{
        static const char *const ours[] = {"content-type", "content-length", "transfer-encoding",
                                           "host", "expect"};

        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
                if (!strcasecmp(ours[i], name))
                        return true;
        return false;
}

/* Without the blanks at both ends, in place. */
static char *trim(char *s)
{
        s += strspn(s, " \t");
        size_t n = strlen(s);
        while (n && strchr(" \t", s[n - 1]))
                s[--n] = 0;
        return s;
}

/* A value may hold all but what ends a header, or begins another. */
static bool is_value(const char *s)
{
        for (; *s; s++)
                if ((unsigned char)*s < ' ' && *s != '\t')
                        return false;
        return true;
}

/* What is wrong with "name=value", or NULL once it is added. */
static const char *add(struct buf *out, char *pair)
{
        char *equals = strchr(pair, '=');

        if (!equals)
                return "a header without '='";
        *equals = 0;
        char *name = trim(pair), *value = trim(equals + 1);
        if (!*name || name[strspn(name, TOKEN)])
                return "a name that is none of a header";
        if (is_ours(name))
                return "a header that is the export's own";
        if (!*value)
                return "a header without a value"; /* as of a variable that was not set */
        if (uri_decode(value, false) < 0 || !is_value(value))
                return "a value with an escape or a character that cannot be";
        buf_addf(out, "%s: %s", name, value);
        buf_addc(out, 0);
        return NULL;
}

int otlp_headers_add(struct buf *out, char *why, size_t nwhy)
{
        static const char *const variables[] = {"OTEL_EXPORTER_OTLP_METRICS_HEADERS",
                                                "OTEL_EXPORTER_OTLP_HEADERS"};
        const char *name = variables[0], *set = getenv(name), *odd = NULL;

        if (!set || !*set)
                set = getenv(name = variables[1]);
        if (!set || !*set)
                return 0;
        size_t n = strlen(set);
        char *text = n <= TEXT_MAX ? strdup(set) : NULL;
        if (n <= TEXT_MAX && (!text || buf_grow(out, n + HEADERS_MAX + 1))) {
                free(text);
                return -ENOMEM; /* grown once, whoever wipes `out` wipes all */
        }
        if (!text)
                odd = "more than 8192 bytes";
        char *rest = text;
        for (unsigned i = 0; !odd && rest; i++) {
                char *pair = strsep(&rest, ",");
                if (i == HEADERS_MAX)
                        odd = "more than 32 headers";
                else if (*trim(pair))
                        odd = add(out, pair);
        }
        if (text)
                explicit_bzero(text, n);
        free(text);
        if (odd)
                snprintf(why, nwhy, "%s has %s: give NAME=VALUE,..., the values percent-encoded",
                         name, odd);
        return odd ? -EINVAL : out->failed ? -ENOMEM : 0;
}
