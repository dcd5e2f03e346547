/* SPDX-License-Identifier: Apache-2.0 */
/* drive_calls.c: calls on files, and when each began and ended; see drive.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drive_call.h"
#include "pieces.h"

#include "base/banned.h"

enum { READ_MOST = 64 << 20 };

void path_of(const struct who *w, const char *name, char *path)
{
        snprintf(path, PATH_ROOM, "%s/%d/%s", world->dir, w->host, name);
}

/* All files of a host's directory have one lock, and, in every second history, all others: then who
 * writes a file in place waits for those who read one, which renames may make the same. */
static int lock_of(const char *name)
{
        if (name[0] == 'd' && name[2] == '/' && world->setting.seed % 2)
                return 0;
        if (name[0] == 'd' && name[2] == '/')
                return (name[1] - '0') * (SHARED / 2) + (name[4] - '0');
        return name[0] == 't' ? SHARED + name[1] - '0' : -1;
}

/* --- begin and end --- */

static void take_locks(struct making *m)
{
        for (int i = 0; i < 2; i++) {
                if (m->locks[i] < 0)
                        continue;
                pthread_rwlock_t *lock = &world->files[m->w->host][m->locks[i]];
                if (m->alone)
                        pthread_rwlock_wrlock(lock);
                else
                        pthread_rwlock_rdlock(lock);
        }
}

static void give_locks(const struct making *m)
{
        for (int i = 0; i < 2; i++)
                if (m->locks[i] >= 0)
                        pthread_rwlock_unlock(&world->files[m->w->host][m->locks[i]]);
}

/* Waits until the host has a daemon, and keeps others from replacing that. */
unsigned host_enter(int host)
{
        for (;;) {
                pthread_rwlock_rdlock(&world->up[host]);
                unsigned ups = world->ups[host];
                if (ups % 2 == 0)
                        return ups;
                pthread_rwlock_unlock(&world->up[host]);
                usleep(10000);
        }
}

void host_leave(int host)
{
        pthread_rwlock_unlock(&world->up[host]);
}

struct making call_begin(struct who *w, struct call *c, enum call_kind kind, const char *name,
                         const char *to, bool alone)
{
        struct making m = {.w = w, .c = c, .alone = alone, .locks = {-1, -1}};

        *c = (struct call){.host = w->host, .proc = w->proc, .kind = kind};
        snprintf(c->name, sizeof c->name, "%s", name);
        snprintf(c->to, sizeof c->to, "%s", to ? to : "-");
        snprintf(c->seen, sizeof c->seen, "-");
        m.locks[0] = lock_of(name);
        if (to && lock_of(to) != m.locks[0])
                m.locks[1] = lock_of(to);
        if (m.locks[1] >= 0 && m.locks[1] < m.locks[0]) { /* in one order */
                int l = m.locks[0];
                m.locks[0] = m.locks[1];
                m.locks[1] = l;
        }
        m.ups = host_enter(w->host);
        take_locks(&m);
        c->t[0] = now_ns();
        world->now[w->proc] = *c;
        return m;
}

/* The process that finds the daemon dead waits for the next one: what was under way is over then.
 */
static void wait_until_up(const struct making *m)
{
        while (world->ups[m->w->host] % 2)
                usleep(10000);
}

/* The call is over, and what it says is in *c. Times that it did not come to are those of its end.
 */
void call_end(struct making *m)
{
        struct call *c = m->c;
        bool down = c->err && c->fate == FATE_TOLD && m->ups != world->ups[m->w->host];
        bool began = c->t[2] != 0;

        give_locks(m);
        host_leave(m->w->host);
        if (down) {
                c->fate = began ? FATE_DOWN : FATE_KILLED;
                wait_until_up(m);
                c->t[3] = now_ns();
        }
        if (!c->t[3])
                c->t[3] = now_ns();
        if (!c->t[1])
                c->t[1] = c->t[3];
        if (!c->t[2])
                c->t[2] = began ? c->t[1] : c->t[3];
        history_call_write(m->w->out, c);
        world->made++;
}

static int opened(struct making *m, int flags)
{
        char path[PATH_ROOM];

        path_of(m->w, m->c->name, path);
        int fd = open(path, flags | O_CLOEXEC, 0644);
        if (fd < 0)
                m->c->err = errno;
        m->c->t[1] = now_ns();
        return fd;
}

/* A call of one step: its first and last times are the same. */
void call_one_step(struct call *c, int rc)
{
        c->err = rc ? errno : 0;
        c->t[1] = c->t[3] = now_ns();
        c->t[2] = c->t[0];
}

/* --- bytes --- */

static uint64_t random_length(struct who *w)
{
        unsigned n = chance(w, 100);

        if (n < 80)
                return PIECE_LEAST + chance(w, 4000);
        return PIECE_LEAST + (n < 96 ? chance(w, 60000) : (2U << 20) + chance(w, 2U << 20));
}

static int put_piece(int fd, unsigned id, unsigned place, uint64_t len)
{
        enum { STEP = 256 << 10 };
        unsigned char *p = malloc(STEP);
        int err = p ? 0 : ENOMEM;

        for (uint64_t at = 0; !err && at < len; at += STEP) {
                size_t n = len - at < STEP ? (size_t)(len - at) : STEP;
                piece_fill(p, n, id, place, len, at);
                ssize_t put = write(fd, p, n);
                err = put < 0 ? errno : put != (ssize_t)n ? EIO : 0;
        }
        free(p);
        return err;
}

static int put_pieces(int fd, const struct call *c)
{
        int err = 0;

        for (unsigned i = 0; !err && i < c->pieces; i++)
                err = put_piece(fd, c->id, c->kind == CALL_APPEND ? ANYWHERE : i, c->len);
        return err;
}

/* Reads what the open file holds. NULL: c->err or c->seen says why. */
static unsigned char *read_all(struct making *m, int fd, uint64_t *n)
{
        struct call *c = m->c;
        struct stat st;

        if (fstat(fd, &st)) {
                c->err = errno;
                return NULL;
        }
        uint64_t room = (uint64_t)st.st_size + PIECE_LEAST;
        size_t step = (size_t)1 << (11 + chance(m->w, 8));
        unsigned char *p = room < READ_MOST ? malloc(room) : NULL;
        for (*n = 0; p;) {
                ssize_t k =
                        pread(fd, p + *n, room - *n < step ? (size_t)(room - *n) : step, (off_t)*n);
                if (k < 0)
                        c->err = errno;
                if (k <= 0)
                        break;
                *n += (uint64_t)k;
                if (*n == room)
                        break;
                if (!chance(m->w, 60))
                        usleep(chance(m->w, 20000));
        }
        if (p && !c->err && *n == (uint64_t)st.st_size)
                return p;
        if (!c->err)
                snprintf(c->seen, sizeof c->seen, "!fstat told %lld bytes, and %llu were read",
                         (long long)st.st_size, (unsigned long long)*n);
        free(p);
        return NULL;
}

/* --- reads --- */

/* Now and then it is read once more, and must still be what it was. */
static void read_again(struct making *m, int fd, const unsigned char *was, uint64_t n)
{
        uint64_t k;

        usleep(chance(m->w, 20000));
        unsigned char *p = read_all(m, fd, &k);
        if (p && (k != n || memcmp(was, p, n) != 0))
                snprintf(m->c->seen, sizeof m->c->seen, "!an open file has become another");
        if (m->c->err == ESTALE) /* it was read whole before */
                m->c->err = 0;
        free(p);
}

void do_read(struct who *w, const char *name)
{
        struct call c;
        struct making m = call_begin(w, &c, CALL_READ, name, NULL, false);
        uint64_t n;
        int fd = opened(&m, O_RDONLY);

        if (fd >= 0) {
                c.t[2] = c.t[1];
                unsigned char *p = read_all(&m, fd, &n);
                if (p)
                        pieces_tell(p, n, c.seen, sizeof c.seen);
                if (p && c.seen[0] != '!' && !chance(w, 8))
                        read_again(&m, fd, p, n);
                free(p);
                if (close(fd) && !c.err)
                        c.err = errno;
        }
        call_end(&m);
}

void do_stat(struct who *w, const char *name)
{
        struct call c;
        struct stat st = {0};
        char path[PATH_ROOM];
        struct making m = call_begin(w, &c, CALL_STAT, name, NULL, false);

        path_of(w, name, path);
        call_one_step(&c, stat(path, &st));
        c.len = (uint64_t)st.st_size;
        call_end(&m);
}

void do_list(struct who *w)
{
        struct call c;
        char path[PATH_ROOM];
        char name[3] = {'d', (char)('0' + chance(w, 2)), 0};
        struct making m = call_begin(w, &c, CALL_LIST, name, NULL, false);
        unsigned keeps = 0;
        size_t at = 0;

        path_of(w, name, path);
        DIR *d = opendir(path);
        errno = d ? 0 : errno;
        for (struct dirent *e; d && (e = readdir(d)); errno = 0) {
                keeps += !strcmp(e->d_name, "keep");
                if (e->d_name[0] != 'f')
                        continue;
                if (at < sizeof c.seen)
                        at += (size_t)snprintf(c.seen + at, sizeof c.seen - at, "%s%.8s",
                                               at ? "," : "", e->d_name);
        }
        call_one_step(&c, errno);
        if (!c.err && keeps != 1)
                snprintf(c.seen, sizeof c.seen, "!a file that is always there is listed %u times",
                         keeps);
        if (d)
                closedir(d);
        call_end(&m);
}

/* --- writes --- */

void call_bytes(struct who *w, struct call *c)
{
        c->id = ++world->ids;
        c->pieces = 1 + chance(w, 3);
        c->len = random_length(w);
}

/* The call that publishes. */
static void publish(struct call *c, int (*how)(int), int fd)
{
        c->t[2] = now_ns();
        if (how(fd))
                c->err = errno;
        c->t[3] = now_ns();
}

static int flags_of(enum call_kind kind)
{
        return kind == CALL_PUT      ? O_WRONLY | O_CREAT | O_TRUNC
               : kind == CALL_CREATE ? O_WRONLY | O_CREAT | O_EXCL
                                     : O_WRONLY | O_APPEND;
}

void call_write(struct making *m)
{
        int fd = opened(m, flags_of(m->c->kind));

        if (fd < 0)
                return;
        m->c->err = put_pieces(fd, m->c);
        if (m->c->err)
                close(fd);
        else
                publish(m->c, close, fd);
}

void do_write(struct who *w, enum call_kind kind, const char *name)
{
        struct call c;
        struct making m = call_begin(w, &c, kind, name, NULL, true);

        call_bytes(w, &c);
        call_write(&m);
        call_end(&m);
}

/* Two calls of one descriptor: an fsync publishes the first, and the close the second. */
void do_append_twice(struct who *w, const char *name)
{
        struct call c, second;
        struct making m = call_begin(w, &c, CALL_APPEND, name, NULL, true);
        int fd = opened(&m, O_WRONLY | O_APPEND);

        call_bytes(w, &c);
        if (fd >= 0) {
                c.err = put_pieces(fd, &c);
                if (!c.err)
                        publish(&c, fsync, fd);
        }
        second = c;
        struct making next = m;
        if (fd < 0 || c.err) {
                if (fd >= 0)
                        close(fd);
                call_end(&m);
                return;
        }
        /* The locks and the host stay those of the first until the second ends. */
        history_call_write(w->out, &c);
        next.c = &second;
        call_bytes(w, &second);
        memcpy(second.t, (int64_t[4]){c.t[2], c.t[3], 0, 0}, sizeof second.t);
        snprintf(second.seen, sizeof second.seen, "%u", c.id);
        second.err = put_pieces(fd, &second);
        if (second.err)
                close(fd);
        else
                publish(&second, close, fd);
        call_end(&next);
}

void do_change(struct who *w, const char *name)
{
        struct call c;
        struct making m = call_begin(w, &c, CALL_CHANGE, name, NULL, true);
        uint64_t n, at, len;
        int fd = opened(&m, O_RDWR);

        if (fd < 0) {
                call_end(&m);
                return;
        }
        unsigned char *p = read_all(&m, fd, &n);
        if (p)
                pieces_tell(p, n, c.seen, sizeof c.seen);
        if (p && c.seen[0] != '!') {
                unsigned pieces = 1;
                for (const char *s = c.seen; *s; s++)
                        pieces += *s == ',';
                c.id = ++world->ids;
                c.pieces = chance(w, pieces);
                pieces_find(p, c.pieces, &at, &len);
                c.len = len;
                piece_fill(p + at, (size_t)len, c.id, c.pieces, len, 0);
                if (pwrite(fd, p + at, (size_t)len, (off_t)at) != (ssize_t)len)
                        c.err = errno;
        }
        if (p && !c.err && c.id)
                publish(&c, close, fd);
        else
                close(fd);
        free(p);
        call_end(&m);
}

void do_replace(struct who *w, const char *name)
{
        struct call c;
        char tmp[PATH_ROOM], path[PATH_ROOM];
        struct making m = call_begin(w, &c, CALL_REPLACE, name, NULL, false);

        call_bytes(w, &c);
        path_of(w, name, path);
        snprintf(tmp, sizeof tmp, "%s/%d/%.3stmp%u", world->dir, w->host, name, c.id);
        if (name[0] == 't')
                snprintf(tmp, sizeof tmp, "%s/%d/%.4stmp%u", world->dir, w->host, name, c.id);
        int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        c.err = fd < 0 ? errno : put_pieces(fd, &c);
        if (fd >= 0 && close(fd) && !c.err)
                c.err = errno;
        c.t[1] = now_ns();
        if (!c.err) {
                c.t[2] = c.t[1];
                if (rename(tmp, path))
                        c.err = errno;
                c.t[3] = now_ns();
        }
        call_end(&m);
}
