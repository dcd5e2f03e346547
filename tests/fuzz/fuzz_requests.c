/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_requests.c: whole requests to the simulator, through a connection of it: S3's and Google's,
 * with their XML and JSON, batches, uploads, and the servers that give credentials, with forms,
 * tokens and signed requests. The first line says which, "s3", "gs" or "identity". Then come
 * requests with a line "%%" between them: a request line, header lines, an empty line and the body.
 * Host and length are added. UPLOAD in a request becomes the id of the upload that was begun last.
 * Every reply is HTTP, and a body of XML can be read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text/xml.h"
#include "bench/sim/http/conn.h"
#include "bench/sim/identity/identity_i.h"
#include "bench/sim/store/null.h"
#include "bench/sim/store/object_store.h"
#include "tests/fuzz/fuzz.h"
#include "base/banned.h"

enum { UPLOAD_MAX = 200, STEPS = 200 };

static const char given[] =
        "{\"oauth2.token\":{\"email\":\"e\"},\"gsts.token\":{\"audience\":\"//a\"},"
        "\"sso.token\":{\"refresh_token\":\"r\",\"once\":true},\"sts\":{}}";

struct peer {
        struct conn *conn;
        int fd;
        char upload[UPLOAD_MAX]; /* "": none was begun */
};

static void need(bool is_so)
{
        if (!is_so)
                abort();
}

/* What the simulator works on; made once, but for the objects. */
static struct server_config *config(const char *what)
{
        static struct line up, down;
        static struct s3_options s3 = {.session_s = 300};
        static struct gs_options gs;
        static struct server_config cfg = {.up = &up, .down = &down, .service = {.scheme = "http"}};
        struct service *s = &cfg.service;

        if (!s->identity) {
                char path[FUZZ_PATH_MAX], why[256];
                int fd = fuzz_file((const uint8_t *)given, sizeof given - 1, path);
                need(!identity_open(path, &s->identity, why, sizeof why));
                close(fd);
                need(!issues_new(NULL, &s->sessions) && !null_init());
                s->s3 = &s3;
                s->gs = &gs;
        }
        cfg.protocol = !strcmp(what, "gs")         ? &protocol_gs
                       : !strcmp(what, "identity") ? &protocol_identity
                                                   : &protocol_s3;
        s->store = &protocol_s3;
        return &cfg;
}

/* --- requests --- */

/* The text with the id in the places that wait for one. */
static void add_text(struct buf *to, const char *text, const char *upload)
{
        static const char word[] = "UPLOAD";

        for (const char *at; *upload && (at = strstr(text, word)); text = at + sizeof word - 1) {
                buf_add(to, text, (size_t)(at - text));
                buf_adds(to, upload);
        }
        buf_adds(to, text);
}

/* The next request of the input as it goes over the wire. */
static void next_request(const uint8_t **p, size_t *n, const char *upload, struct buf *to)
{
        CLEANUP(buf_release) struct buf head = BUF_INIT, body = BUF_INIT;
        bool in_head = true;

        while (*n) {
                CLEANUP(freep) char *line = fuzz_line(p, n);
                if (!strcmp(line, "%%"))
                        break;
                if (in_head && !*line) {
                        in_head = false;
                        continue;
                }
                add_text(in_head ? &head : &body, line, upload);
                buf_adds(in_head ? &head : &body, in_head ? "\r\n" : "\n");
        }
        buf_add(to, head.p, head.len);
        buf_addf(to, "Host: 127.0.0.1\r\nContent-Length: %zu\r\n\r\n", body.len);
        buf_add(to, body.p, body.len);
        need(!to->failed && !head.failed && !body.failed);
}

/* --- replies --- */

static int note_upload(void *arg, const char *path, const char *text)
{
        struct peer *peer = arg;

        if (!strcmp(path, "InitiateMultipartUploadResult/UploadId") && strlen(text) < UPLOAD_MAX)
                snprintf(peer->upload, sizeof peer->upload, "%s", text);
        return 0;
}

/* All that has come: the first reply counts, since a body that is cut off makes no other. */
static void look_at(struct peer *peer, const struct buf *reply)
{
        struct xml_reader reader = {.leaf = note_upload, .arg = peer};
        const char *body = strstr(reply->p, "\r\n\r\n");

        if (!reply->len)
                return;
        need(!strncmp(reply->p, "HTTP/1.1 ", 9) && reply->p[9] >= '1' && reply->p[9] <= '5' &&
             body);
        body += 4;
        size_t n = reply->len - (size_t)(body - reply->p);
        const char *type = strcasestr(reply->p, "content-type: application/xml");
        const char *len = strcasestr(reply->p, "content-length: ");
        if (!n || !type || type > body || !len || len > body || strtoul(len + 16, NULL, 10) != n)
                return;
        CLEANUP(freep) char *xml = fuzz_text((const uint8_t *)body, n);
        need(!xml_read(xml, xml_mend(xml, n), &reader));
}

static void take_replies(struct peer *peer, struct buf *reply)
{
        char piece[8192];
        ssize_t n;

        while ((n = recv(peer->fd, piece, sizeof piece, MSG_DONTWAIT)) > 0)
                need(!buf_add(reply, piece, (size_t)n));
}

/* Whether the connection goes on. */
static bool exchange(struct peer *peer, const struct buf *request)
{
        CLEANUP(buf_release) struct buf reply = BUF_INIT;
        uint64_t now = clock_ns();
        size_t sent = 0;

        for (unsigned i = 0; i < STEPS; i++) {
                ssize_t n = send(peer->fd, request->p + sent, request->len - sent,
                                 MSG_DONTWAIT | MSG_NOSIGNAL);
                sent += n > 0 ? (size_t)n : 0;
                enum step step = conn_run(peer->conn, now);
                take_replies(peer, &reply);
                if (step == STEP_CLOSE || step == STEP_RESET ||
                    (step == STEP_IN && sent == request->len)) {
                        look_at(peer, &reply);
                        return step == STEP_IN;
                }
                now = peer->conn->wake_ns > now ? peer->conn->wake_ns : now + 1;
        }
        return false;
}

static bool connect_to(struct peer *peer, const struct server_config *cfg)
{
        static char scratch[CONN_SCRATCH];
        int fds[2];

        need(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds));
        peer->fd = fds[0];
        peer->conn = conn_new(cfg, fds[1], scratch);
        return peer->conn;
}

static void hang_up(struct peer *peer)
{
        conn_free(TAKE_PTR(peer->conn));
        close(peer->fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        CLEANUP(freep) char *what = fuzz_line(&p, &n);
        struct server_config *cfg = config(what);
        struct peer peer = {.fd = -1};
        struct data *data;
        char why[256];

        need(!data_open(NULL, &data, why, sizeof why));
        need(!object_store_open(data, &cfg->service.objects));
        need(!object_store_add_bucket(cfg->service.objects, "bkt"));
        if (!strcmp(what, "gs"))
                need(!object_store_use_folders(cfg->service.objects));
        need(connect_to(&peer, cfg));
        while (n) {
                CLEANUP(buf_release) struct buf request = BUF_INIT;
                next_request(&p, &n, peer.upload, &request);
                if (exchange(&peer, &request))
                        continue;
                hang_up(&peer);
                need(connect_to(&peer, cfg));
        }
        hang_up(&peer);
        object_store_close(cfg->service.objects);
        data_close(data);
        return 0;
}
