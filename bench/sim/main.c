/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: storesim, an object-store server for demonstrations, tests and measurements. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/log.h"
#include "base/params.h"
#include "bench/sim/store/data.h"
#include "bench/sim/identity/identity_i.h"
#include "bench/sim/store/null.h"
#include "bench/sim/http/limit.h"
#include "bench/sim/http/request_log.h"
#include "bench/sim/http/server.h"
#include "bench/sim/http/tls.h"
#include "bench/sim/options.h"
#include "bench/sim/store/object_store.h"
#include "base/banned.h"

enum {
        BUCKETS_MAX = 64,
        THREADS_MAX = 64,
        CONNECTIONS_MAX = 65536,
        REQUESTS_MAX = 1000000,
        WHY = 512
};

struct options {
        const char *dir, *tls_cert, *tls_key, *faults, *identity, *log, *fill;
        bool null, hns, versioning, content_etags;
        uint64_t quota, name_pause_ns, retention_ns;
        struct s3_options s3;
        struct gs_options gs;
        const char *buckets[BUCKETS_MAX];
        unsigned nbuckets;
        struct server_config server;
        uint64_t total_rate;
        unsigned write_rate, read_rate; /* 0: any */
        uint64_t given;                 /* a bit for each option, from OPT_LISTEN on */
};

static const char usage[] =
        "usage: storesim (--data DIR | --null) --bucket NAME [OPTION ...]\n"
        "\n"
        "Serves objects by the protocol of S3 or Google Cloud Storage; the first line it prints "
        "is\n"
        "\"listening on http://ADDRESS:PORT\". SIGTERM and SIGINT end it.\n"
        "\n"
        "  --listen ADDRESS:PORT   default 127.0.0.1:0; port 0 takes a free one\n"
        "  --bucket NAME           make this bucket if it is not there; may be given again\n"
        "  --protocol s3|gs        default s3; gs: the JSON and XML APIs of Google Cloud Storage\n"
        "  --data DIR              keep objects in files below DIR; they survive a restart\n"
        "  --null                  forget bodies and keep sizes; reads give a fixed pattern\n"
        "                          (PATTERN_NULL of bench/pattern.h)\n"
        "  --fill PREFIX=N[,SIZE]  begin with N objects PREFIX00000000 on, empty without SIZE\n"
        "  --threads N             event loops, 1 to 64, default 2\n"
        "  --connections N         open at once, default 1024; more wait\n"
        "  --rate SIZE             bytes a second of each connection and direction, as 50M\n"
        "  --total-rate SIZE       bytes a second of all connections together, each direction\n"
        "  --request-rate W,R      s3: writes and reads a second of each prefix; more get 503\n"
        "  --ttfb TIME             before the first byte of each reply, as 20ms\n"
        "  --tls-cert FILE --tls-key FILE\n"
        "                          serve HTTPS with this certificate chain and key (PEM)\n"
        "  --access-key ID --secret-key KEY\n"
        "                          verify the signature of every request (or the environment:\n"
        "                          STORESIM_SECRET_KEY); without them anybody may do anything\n"
        "  --region NAME           refuse requests signed for another region; default: any\n"
        "  --deny NAME[,NAME]      refuse what needs these permissions, as s3:PutObject\n"
        "  --clock-skew TIME       this server's clock is ahead, as 1h, or behind, as -1h\n"
        "  --quota SIZE            with --data: refuse what makes more bytes (507)\n"
        "  --domain NAME           s3: the host BUCKET.NAME is that bucket's, too\n"
        "  --base-path PATH        s3: all paths begin with this, as /a/b\n"
        "  --access-point NAME=BUCKET\n"
        "                          s3: an access point of account 123456789012, at the host\n"
        "                          NAME-123456789012.DOMAIN; may be given again\n"
        "  --requester-pays        refuse who does not say that he pays\n"
        "  --session-life TIME     s3: of sessions of directory buckets (NAME--x-s3), default 5m\n"
        "  --read-only-sessions    s3: those sessions may not write\n"
        "  --local-zone            s3: directory buckets are in a Local Zone (no rename, no "
        "append)\n"
        "  --allow-sse-c           s3: objects may be written with a key of the customer's\n"
        "  --copy-if honor|ignore|refuse\n"
        "                          s3: what becomes of a condition on the target of a copy\n"
        "  --if-match honor|ignore|refuse, --if-none-match honor|ignore|refuse\n"
        "                          s3: what becomes of them in what writes an object\n"
        "  --strict-headers        s3: refuse x-amz- headers that the vendor has not\n"
        "  --key-tokens            s3: a list goes on behind a name, encoded if names are\n"
        "  --checksums all|crc64nvme|none\n"
        "                          s3: the checksums of whole objects; none: not of parts, either\n"
        "  --object-lock           s3: refuse what is written without a digest\n"
        "  --radosgw               s3: the ways of Ceph's gateway\n";
static const char usage_more[] = /* C99 wants no longer strings */
        "  --archive-tier ARCHIVE_ACCESS|DEEP_ARCHIVE_ACCESS\n"
        "                          s3: where INTELLIGENT_TIERING objects are\n"
        "  --content-etags         equal bytes have equal ETags\n"
        "  --hns                   gs: buckets have a hierarchical namespace\n"
        "  --zonal                 gs: buckets in a zone take appendable objects alone\n"
        "  --versioning            replaced and deleted versions stay readable\n"
        "  --no-move               gs: no moveTo (404)\n"
        "  --testbench             gs: the ways of the vendor's testbench\n"
        "  --name-pause TIME       gs: a name is changed again only after that, as 1s (429)\n"
        "  --forbid-encryption HOW gs: no new object is encrypted by google, cmek or csek (412)\n"
        "  --retention TIME        gs: an object can be replaced or deleted only after that (403)\n"
        "  --rewrite-chunk SIZE    gs: a call of rewriteTo copies so many bytes\n"
        "  --resume-short SIZE     gs: a chunk of a resumable session keeps so many bytes\n"
        "  --faults FILE           rules that make requests fail (JSON); SIGHUP reads it again\n"
        "  --identity FILE         play the servers that give credentials, as the file says "
        "(JSON)\n"
        "  --log FILE              append a line a request\n"
        "  --help                  print this\n";

static const struct option longs[] = {
        {"listen", required_argument, NULL, OPT_LISTEN},
        {"bucket", required_argument, NULL, OPT_BUCKET},
        {"data", required_argument, NULL, OPT_DATA},
        {"null", no_argument, NULL, OPT_NULL},
        {"fill", required_argument, NULL, OPT_FILL},
        {"threads", required_argument, NULL, OPT_THREADS},
        {"connections", required_argument, NULL, OPT_CONNECTIONS},
        {"rate", required_argument, NULL, OPT_RATE},
        {"total-rate", required_argument, NULL, OPT_TOTAL_RATE},
        {"request-rate", required_argument, NULL, OPT_REQUEST_RATE},
        {"ttfb", required_argument, NULL, OPT_TTFB},
        {"tls-cert", required_argument, NULL, OPT_CERT},
        {"tls-key", required_argument, NULL, OPT_KEY},
        {"access-key", required_argument, NULL, OPT_ACCESS},
        {"secret-key", required_argument, NULL, OPT_SECRET},
        {"region", required_argument, NULL, OPT_REGION},
        {"deny", required_argument, NULL, OPT_DENY},
        {"protocol", required_argument, NULL, OPT_PROTOCOL},
        {"clock-skew", required_argument, NULL, OPT_CLOCK_SKEW},
        {"quota", required_argument, NULL, OPT_QUOTA},
        {"requester-pays", no_argument, NULL, OPT_REQUESTER_PAYS},
        {"session-life", required_argument, NULL, OPT_SESSION_LIFE},
        {"read-only-sessions", no_argument, NULL, OPT_READ_ONLY_SESSIONS},
        {"local-zone", no_argument, NULL, OPT_LOCAL_ZONE},
        {"allow-sse-c", no_argument, NULL, OPT_ALLOW_SSE_C},
        {"copy-if", required_argument, NULL, OPT_COPY_IF},
        {"if-match", required_argument, NULL, OPT_IF_MATCH},
        {"if-none-match", required_argument, NULL, OPT_IF_NONE_MATCH},
        {"strict-headers", no_argument, NULL, OPT_STRICT_HEADERS},
        {"key-tokens", no_argument, NULL, OPT_KEY_TOKENS},
        {"domain", required_argument, NULL, OPT_DOMAIN},
        {"base-path", required_argument, NULL, OPT_BASE_PATH},
        {"access-point", required_argument, NULL, OPT_ACCESS_POINT},
        {"checksums", required_argument, NULL, OPT_CHECKSUMS},
        {"object-lock", no_argument, NULL, OPT_OBJECT_LOCK},
        {"radosgw", no_argument, NULL, OPT_RADOSGW},
        {"archive-tier", required_argument, NULL, OPT_ARCHIVE_TIER},
        {"content-etags", no_argument, NULL, OPT_CONTENT_ETAGS},
        {"hns", no_argument, NULL, OPT_HNS},
        {"zonal", no_argument, NULL, OPT_ZONAL},
        {"versioning", no_argument, NULL, OPT_VERSIONING},
        {"no-move", no_argument, NULL, OPT_NO_MOVE},
        {"testbench", no_argument, NULL, OPT_TESTBENCH},
        {"forbid-encryption", required_argument, NULL, OPT_FORBID_ENCRYPTION},
        {"name-pause", required_argument, NULL, OPT_NAME_PAUSE},
        {"retention", required_argument, NULL, OPT_RETENTION},
        {"rewrite-chunk", required_argument, NULL, OPT_REWRITE_CHUNK},
        {"resume-short", required_argument, NULL, OPT_RESUME_SHORT},
        {"faults", required_argument, NULL, OPT_FAULTS},
        {"identity", required_argument, NULL, OPT_IDENTITY},
        {"log", required_argument, NULL, OPT_LOG},
        {"help", no_argument, NULL, OPT_HELP},
        {NULL, 0, NULL, 0},
};

static int set_number(const char *option, const char *text, unsigned max, unsigned *out)
{
        char *end, remedy[64];

        errno = 0;
        unsigned long n = strtoul(text, &end, 10);
        if (errno || *end || *text < '0' || *text > '9' || !n || n > max) {
                snprintf(remedy, sizeof remedy, "give 1 to %u", max);
                return option_bad(option, text, remedy);
        }
        *out = (unsigned)n;
        return 0;
}

static int add_bucket(struct options *o, const char *name)
{
        if (!object_store_bucket_name_ok(name))
                return option_bad("bucket", name,
                                  "give 3 to 63 letters a-z, digits, dots and hyphens");
        if (o->nbuckets == BUCKETS_MAX)
                return option_complain("too many --bucket: give at most 64");
        o->buckets[o->nbuckets++] = name;
        return 0;
}

/* WRITES,READS */
static int set_request_rate(struct options *o, char *value)
{
        char *reads = strchr(value, ',');

        if (!reads)
                return option_bad("request-rate", value,
                                  "give writes and reads a second, as 3500,5500");
        *reads = 0;
        int err = set_number("request-rate", value, REQUESTS_MAX, &o->write_rate);
        *reads++ = ',';
        return err ? err : set_number("request-rate", reads, REQUESTS_MAX, &o->read_rate);
}

static int set_shape(struct options *o, int opt, char *value)
{
        uint64_t *rate = opt == OPT_RATE ? &o->server.rate : &o->total_rate;

        if (opt == OPT_REQUEST_RATE)
                return set_request_rate(o, value);
        if (opt != OPT_TTFB)
                return parse_size(value, rate) || !*rate
                               ? option_bad(opt == OPT_RATE ? "rate" : "total-rate", value,
                                            "give bytes a second, as 50M")
                               : 0;
        return fault_parse_duration(value, &o->server.ttfb_ns)
                       ? option_bad("ttfb", value, "give a time, as 20ms")
                       : 0;
}

static int set_protocol(struct options *o, const char *name)
{
        static const struct protocol *const known[] = {&protocol_s3, &protocol_gs};

        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
                if (strcmp(known[i]->name, name))
                        continue;
                o->server.protocol = known[i];
                return 0;
        }
        return option_bad("protocol", name, "give s3 or gs");
}

static int set_skew(const char *value, long *seconds)
{
        bool behind = *value == '-';
        int err = option_seconds("clock-skew", value + behind, seconds);

        if (!err && behind)
                *seconds = -*seconds;
        return err;
}

static int set_size(const char *option, const char *text, uint64_t *out)
{
        return parse_size(text, out) || !*out ? option_bad(option, text, "give bytes, as 1M") : 0;
}

/* What makes the buckets of either protocol behave otherwise. */
static int set_odd_option(struct options *o, int opt, char *value)
{
        switch (opt) {
        case OPT_CLOCK_SKEW:
                return set_skew(value, &o->server.service.clock_skew_s);
        case OPT_QUOTA:
                return set_size("quota", value, &o->quota);
        case OPT_ZONAL:
                o->gs.zonal = true;
                o->hns = true;
                return 0;
        case OPT_HNS:
                o->hns = true;
                return 0;
        case OPT_VERSIONING:
                o->versioning = true;
                return 0;
        case OPT_CONTENT_ETAGS:
                o->content_etags = true;
                return 0;
        case OPT_NO_MOVE:
                o->gs.no_move = true;
                return 0;
        case OPT_TESTBENCH:
                o->gs.testbench = true;
                return 0;
        case OPT_FORBID_ENCRYPTION:
                if (strcmp(value, "google") && strcmp(value, "cmek") && strcmp(value, "csek"))
                        return option_bad("forbid-encryption", value, "give google, cmek or csek");
                o->gs.forbidden = value;
                return 0;
        case OPT_NAME_PAUSE:
                return fault_parse_duration(value, &o->name_pause_ns)
                               ? option_bad("name-pause", value, "give a time, as 1s")
                               : 0;
        case OPT_RETENTION:
                return fault_parse_duration(value, &o->retention_ns)
                               ? option_bad("retention", value, "give a time, as 1h")
                               : 0;
        case OPT_REWRITE_CHUNK:
                return set_size("rewrite-chunk", value, &o->gs.rewrite_chunk);
        case OPT_RESUME_SHORT:
                return set_size("resume-short", value, &o->gs.resume_short);
        default:
                return option_s3(&o->s3, opt, value);
        }
}

static int set_option(struct options *o, int opt, char *value)
{
        switch (opt) {
        case OPT_PROTOCOL:
                return set_protocol(o, value);
        case OPT_LISTEN:
                o->server.listen = value;
                return 0;
        case OPT_BUCKET:
                return add_bucket(o, value);
        case OPT_DATA:
                o->dir = value;
                return 0;
        case OPT_NULL:
                o->null = true;
                return 0;
        case OPT_FILL:
                o->fill = value;
                return 0;
        case OPT_THREADS:
                return set_number("threads", value, THREADS_MAX, &o->server.threads);
        case OPT_CONNECTIONS:
                return set_number("connections", value, CONNECTIONS_MAX, &o->server.connections);
        case OPT_RATE:
        case OPT_TOTAL_RATE:
        case OPT_REQUEST_RATE:
        case OPT_TTFB:
                return set_shape(o, opt, value);
        case OPT_CERT:
                o->tls_cert = value;
                return 0;
        case OPT_KEY:
                o->tls_key = value;
                return 0;
        case OPT_ACCESS:
                o->server.service.access_key = value;
                return 0;
        case OPT_SECRET:
                o->server.service.secret_key = value;
                return 0;
        case OPT_REGION:
                o->server.service.region = value;
                return 0;
        case OPT_DENY:
                o->server.service.denied = value;
                return 0;
        case OPT_FAULTS:
                o->faults = value;
                return 0;
        case OPT_IDENTITY:
                o->identity = value;
                return 0;
        case OPT_LOG:
                o->log = value;
                return 0;
        default:
                return set_odd_option(o, opt, value);
        }
}

static const char *name_of(int opt)
{
        const struct option *l = longs;

        while (l->val != opt)
                l++;
        return l->name;
}

static bool has(const struct options *o, int opt)
{
        return o->given & UINT64_C(1) << (opt - OPT_LISTEN);
}

/* An option that would change nothing is one that was meant otherwise. */
static int check_effects(const struct options *o)
{
        static const struct {
                int opt;
                const struct protocol *of;
        } one_sided[] = {
                {OPT_REQUEST_RATE, &protocol_s3},
                {OPT_SESSION_LIFE, &protocol_s3},
                {OPT_READ_ONLY_SESSIONS, &protocol_s3},
                {OPT_LOCAL_ZONE, &protocol_s3},
                {OPT_ALLOW_SSE_C, &protocol_s3},
                {OPT_COPY_IF, &protocol_s3},
                {OPT_IF_MATCH, &protocol_s3},
                {OPT_IF_NONE_MATCH, &protocol_s3},
                {OPT_STRICT_HEADERS, &protocol_s3},
                {OPT_KEY_TOKENS, &protocol_s3},
                {OPT_DOMAIN, &protocol_s3},
                {OPT_BASE_PATH, &protocol_s3},
                {OPT_ACCESS_POINT, &protocol_s3},
                {OPT_CHECKSUMS, &protocol_s3},
                {OPT_OBJECT_LOCK, &protocol_s3},
                {OPT_RADOSGW, &protocol_s3},
                {OPT_ARCHIVE_TIER, &protocol_s3},
                {OPT_HNS, &protocol_gs},
                {OPT_ZONAL, &protocol_gs},
                {OPT_NO_MOVE, &protocol_gs},
                {OPT_TESTBENCH, &protocol_gs},
                {OPT_FORBID_ENCRYPTION, &protocol_gs},
                {OPT_NAME_PAUSE, &protocol_gs},
                {OPT_RETENTION, &protocol_gs},
                {OPT_REWRITE_CHUNK, &protocol_gs},
                {OPT_RESUME_SHORT, &protocol_gs},
        };
        char why[WHY];

        for (size_t i = 0; i < sizeof one_sided / sizeof *one_sided; i++) {
                if (!has(o, one_sided[i].opt) || one_sided[i].of == o->server.protocol)
                        continue;
                snprintf(why, sizeof why,
                         "--%s does nothing here: leave it out, or give --protocol %s",
                         name_of(one_sided[i].opt), one_sided[i].of->name);
                return option_complain(why);
        }
        if (has(o, OPT_QUOTA) && o->null)
                return option_complain("--quota does nothing with --null, which keeps no bytes: "
                                       "leave it out, or give --data DIR");
        return 0;
}

static int check_options(struct options *o)
{
        struct service *s = &o->server.service;
        int err = check_effects(o);

        if (err)
                return err;
        if (!s->secret_key && s->access_key)
                s->secret_key = getenv("STORESIM_SECRET_KEY");
        if (!o->dir == !o->null)
                return option_complain(
                        o->null ? "--data and --null exclude each other: give one"
                                : "nowhere to keep objects: give --data DIR or --null");
        if (!o->nbuckets)
                return option_complain("no bucket: give --bucket NAME");
        if (!s->access_key != !s->secret_key)
                return option_complain("half a key: give --access-key and --secret-key");
        if (!o->tls_cert != !o->tls_key)
                return option_complain("half of TLS: give --tls-cert and --tls-key");
        return 0;
}

/* 0, 1 when there is nothing to do, or a negative errno; said already. */
static int parse_options(int argc, char **argv, struct options *o)
{
        int opt, err = 0;

        *o = (struct options){.s3 = {.session_s = 300},
                              .server = {.listen = "127.0.0.1:0",
                                         .threads = 2,
                                         .connections = 1024,
                                         .protocol = &protocol_s3}};
        opterr = 0; /* what is wrong is one line, said here */
        while (!err && (opt = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
                if (opt == OPT_HELP) {
                        fputs(usage, stdout);
                        fputs(usage_more, stdout);
                        return 1;
                }
                if (opt == '?' || opt == ':') {
                        fprintf(stderr, "storesim: %s %s: see storesim --help\n", argv[optind - 1],
                                opt == ':' ? "lacks its value" : "is not an option");
                        return -EINVAL;
                }
                o->given |= UINT64_C(1) << (opt - OPT_LISTEN);
                err = set_option(o, opt, optarg);
        }
        if (err)
                return err;
        if (optind < argc) {
                fprintf(stderr, "storesim: '%s' is no option: see storesim --help\n", argv[optind]);
                return -EINVAL;
        }
        return check_options(o);
}

/* What has to be let go of in the reverse order. */
struct parts {
        struct data *data;
        struct object_store *objects;
        struct faults *faults;
        struct identity *identity;
        struct issues *sessions;
        struct tls_server *tls;
        struct request_log *log;
        struct prefix_rates *rates;
        struct line up, down;
        struct server *server;
};

static void parts_release(struct parts *p)
{
        server_stop(p->server);
        request_log_close(p->log);
        prefix_rates_free(p->rates);
        tls_server_close(p->tls);
        issues_free(p->sessions);
        identity_close(p->identity);
        faults_close(p->faults);
        object_store_close(p->objects);
        data_close(p->data);
        null_exit();
}

static int open_store(const struct options *o, struct parts *p, char *why, size_t nwhy)
{
        int err = o->null ? null_init() : 0;

        if (err)
                snprintf(why, nwhy, "no memory for the pattern: %s", strerror(-err));
        if (!err)
                err = data_open(o->dir, &p->data, why, nwhy);
        if (err)
                return err;
        data_set_quota(p->data, o->quota);
        err = object_store_open(p->data, &p->objects);
        if (!err && o->versioning)
                object_store_enable_versions(p->objects);
        if (!err && o->content_etags)
                object_store_use_content_etags(p->objects);
        if (!err)
                object_store_pace_names(p->objects, o->name_pause_ns);
        if (!err)
                object_store_retain(p->objects, o->retention_ns);
        if (!err && o->hns)
                err = object_store_use_folders(p->objects);
        for (unsigned i = 0; !err && i < o->nbuckets; i++) {
                err = object_store_add_bucket(p->objects, o->buckets[i]);
                if (err == -EEXIST)
                        err = 0;
        }
        if (err)
                snprintf(why, nwhy, "%s: %s: give --data a directory that is whole and writable",
                         o->dir ? o->dir : "memory", strerror(-err));
        if (!err && o->fill && (err = object_store_fill(p->objects, o->buckets[0], o->fill)))
                snprintf(
                        why, nwhy,
                        "--fill %s: %s: give a prefix and how many, as dir/f=1000, and with --null "
                        "a size, as dir/f=4,1G",
                        o->fill, strerror(-err));
        return err;
}

static int start(struct options *o, struct parts *p, char *why, size_t nwhy)
{
        int err = open_store(o, p, why, nwhy);

        if (!err && o->faults)
                err = faults_open(o->faults, &p->faults, why, nwhy);
        if (!err)
                err = issues_new(NULL, &p->sessions);
        if (!err && o->identity)
                err = identity_open(o->identity, &p->identity, why, nwhy);
        if (!err && o->tls_cert)
                err = tls_server_open(o->tls_cert, o->tls_key, &p->tls, why, nwhy);
        if (!err && o->log) {
                err = request_log_open(o->log, &p->log);
                if (err)
                        snprintf(why, nwhy, "%s: %s: give --log a file that can be written", o->log,
                                 strerror(-err));
        }
        if (!err && o->write_rate && !(p->rates = prefix_rates_new(o->write_rate, o->read_rate)))
                err = -ENOMEM;
        if (err)
                return err;
        p->up.rate = p->down.rate = o->total_rate;
        o->server.up = &p->up;
        o->server.down = &p->down;
        o->server.rates = p->rates;
        o->server.service.s3 = &o->s3;
        o->server.service.gs = &o->gs;
        o->server.service.sessions = p->sessions;
        o->server.service.scheme = p->tls ? "https" : "http";
        o->server.service.objects = p->objects;
        o->server.service.identity = p->identity;
        o->server.service.store = o->server.protocol;
        if (p->identity)
                o->server.protocol = &protocol_identity;
        o->server.service.faults = p->faults;
        o->server.tls = p->tls;
        o->server.log = p->log;
        return server_start(&o->server, &p->server, why, nwhy);
}

/* Until SIGTERM or SIGINT; they are blocked in all threads. */
static void serve(struct parts *p, const sigset_t *signals)
{
        char why[WHY];

        for (;;) {
                int sig = sigwaitinfo(signals, NULL);
                if (sig == SIGTERM || sig == SIGINT)
                        return;
                if (sig != SIGHUP || !p->faults)
                        continue;
                if (faults_reload(p->faults, why, sizeof why))
                        log_warn("%s; the rules before stay", why);
                else
                        server_wake(p->server);
        }
}

/* A connection needs two descriptors at the most. */
static void raise_limit(void)
{
        struct rlimit r;

        if (!getrlimit(RLIMIT_NOFILE, &r)) {
                r.rlim_cur = r.rlim_max;
                setrlimit(RLIMIT_NOFILE, &r);
        }
}

int main(int argc, char **argv)
{
        CLEANUP(parts_release) struct parts p = {.data = NULL};
        struct options o;
        sigset_t signals;
        char why[WHY] = "out of memory";

        fd_take_standard();
        int rc = parse_options(argc, argv, &o);
        if (rc)
                return rc < 0 ? 2 : fd_flush_output("storesim") ? EXIT_FAILURE : EXIT_SUCCESS;
        log_open("storesim", "stderr", LOG_LEVEL_INFO);
        sigemptyset(&signals);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGHUP);
        sigprocmask(SIG_BLOCK, &signals, NULL);
        signal(SIGPIPE, SIG_IGN);
        raise_limit();
        if (start(&o, &p, why, sizeof why)) {
                option_complain(why);
                return EXIT_FAILURE;
        }
        printf("listening on %s://%s\n", p.tls ? "https" : "http", server_address(p.server));
        if (fflush(stdout)) {
                option_complain("standard output cannot be written: the address would be lost");
                return EXIT_FAILURE;
        }
        serve(&p, &signals);
        return EXIT_SUCCESS;
}
