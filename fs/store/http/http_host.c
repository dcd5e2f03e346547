/* SPDX-License-Identifier: Apache-2.0 */
/* http_host.c: what the host in a URL is: this machine, a metadata server, or one that a proxy may
 * lead to. */
#include "store/http/http.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

int http_url_host(const char *url, char *out, size_t n)
{
        const char *at = strstr(url, "://");
        at = at ? at + 3 : url;
        size_t len = strcspn(at, "/?#");
        const char *user = memrchr(at, '@', len);

        if (user) {
                len -= (size_t)(user + 1 - at);
                at = user + 1;
        }
        if (*at == '[') {
                const char *end = memchr(at, ']', len);
                len = end ? (size_t)(end - ++at) : 0;
        } else {
                const char *port = memchr(at, ':', len);
                len = port ? (size_t)(port - at) : len;
        }
        if (!len || len >= n)
                return -EINVAL;
        for (size_t i = 0; i < len; i++)
                out[i] = (char)tolower((unsigned char)at[i]);
        out[len] = 0;
        return 0;
}

static bool is_net(const char *host, uint32_t net, unsigned bits)
{
        struct in_addr a;
        return inet_pton(AF_INET, host, &a) == 1 && ntohl(a.s_addr) >> (32 - bits) == net;
}

bool http_on_this_machine(const char *url)
{
        char host[256];
        struct in6_addr a;

        if (http_url_host(url, host, sizeof host))
                return false;
        return !strcmp(host, "localhost") || is_net(host, 127, 8) ||
               (inet_pton(AF_INET6, host, &a) == 1 && IN6_IS_ADDR_LOOPBACK(&a));
}

/* Every vendor's metadata server has an address of the local link, which no router leads to;
 * Amazon's of IPv6 are below fd00:ec2. */
static bool is_metadata_server(const char *url)
{
        enum { LINK_LOCAL = 169 << 8 | 254 };
        static const uint8_t amazon[] = {0xfd, 0x00, 0x0e, 0xc2};
        char host[256];
        struct in6_addr a;

        if (http_url_host(url, host, sizeof host))
                return false;
        if (inet_pton(AF_INET6, host, &a) == 1)
                return IN6_IS_ADDR_LINKLOCAL(&a) || !memcmp(&a, amazon, sizeof amazon);
        return is_net(host, LINK_LOCAL, 16) || !strcmp(host, "metadata.google.internal");
}

bool http_goes_direct(const char *url)
{
        return http_on_this_machine(url) || is_metadata_server(url);
}

const char *http_proxy_variable(const char *url)
{
        static const char *const plain[] = {"http_proxy", "all_proxy", "ALL_PROXY"};
        static const char *const tls[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
        bool https = !strncmp(url, "https:", 6);
        size_t n = https ? sizeof tls / sizeof *tls : sizeof plain / sizeof *plain;

        for (size_t i = 0; i < n && !http_goes_direct(url); i++) {
                const char *name = https ? tls[i] : plain[i], *value = getenv(name);
                if (value && *value)
                        return name;
        }
        return NULL;
}
