/* SPDX-License-Identifier: Apache-2.0 */
/* plot.c: see plot.h. The script goes to gnuplot's standard input, the picture comes back from its
 * standard output; no file is made. */
#include "bench/report/plot.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"

#include "base/banned.h"

extern char **environ;

enum { NOT_FOUND = 127, SVG_MAX = 4 << 20 };

/* Told apart without colour by their lightness, too. */
static const char *const colours[PLOT_SERIES_MAX] = {"#1b5e83", "#e8963a", "#7fb5c9", "#9c3d54"};

static const char band_colour[] = "#f6dfc0";

/* Texts of a user stand in the script: what could end a string or start a command is dropped. */
static void add_word(struct buf *b, const char *s)
{
        for (; *s; s++)
                if (isalnum((unsigned char)*s) || strchr(" ._-=:/,%+()", *s))
                        buf_addc(b, *s == '_' ? '-' : *s);
}

static void add_data(struct buf *b, const struct plot *p)
{
        buf_adds(b, "$d << END_OF_DATA\n");
        for (size_t i = 0; i < p->npoints; i++) {
                if (p->label) {
                        buf_addc(b, '"');
                        add_word(b, p->label[i]);
                        buf_addc(b, '"');
                } else {
                        buf_addf(b, "%.9g", p->x[i]);
                }
                for (size_t s = 0; s < p->nseries; s++)
                        buf_addf(b, " %.9g", p->v[i * p->nseries + s]);
                for (size_t s = 0; s < p->nseries && p->kind == PLOT_SPREAD; s++)
                        buf_addf(b, " %.9g %.9g", p->low[i * p->nseries + s],
                                 p->high[i * p->nseries + s]);
                buf_addc(b, '\n');
        }
        buf_adds(b, "END_OF_DATA\n");
}

static void add_title(struct buf *b, const struct plot *p, size_t s)
{
        buf_adds(b, " title \"");
        add_word(b, p->series[s]);
        buf_addf(b, "\" lc rgb \"%s\"", colours[s]);
}

/* The size of the figures above bars, so that none covers its neighbour's bar: five characters in
 * the room of a bar. A plot has some 520 pixels, half a group of which is free at either end.
 * 0: there is no room for what can be read. */
static size_t figure_size(const struct plot *p)
{
        enum { ROOM = 520, MOST = 13, LEAST = 8 };
        size_t size = ROOM / ((p->npoints + 1) * (p->nseries + 1)) / 3;

        return size > MOST ? MOST : size < LEAST ? 0 : size;
}

static void add_bars(struct buf *b, const struct plot *p)
{
        size_t size = p->kind == PLOT_BARS ? figure_size(p) : 0;

        for (size_t s = 0; s < p->nseries; s++) {
                buf_adds(b, s ? ", '' " : "plot $d ");
                buf_addf(b, "using %zu%s", s + 2, s ? "" : ":xtic(1)");
                add_title(b, p, s);
        }
        /* the middle of bar s of a group that is nseries bars and one gap wide */
        for (size_t s = 0; s < p->nseries && size; s++) {
                double at = ((double)s - ((double)p->nseries - 1) / 2) / ((double)p->nseries + 1);
                buf_addf(b,
                         ", '' using ($0%+.4f):%zu:($%zu > 0 ? sprintf(\"%%.3g\", $%zu) : \"\") "
                         "with labels offset 0,0.6 font \",%zu\" notitle",
                         at, s + 2, s + 2, s + 2, size);
        }
        buf_addc(b, '\n');
}

static void add_curves(struct buf *b, const struct plot *p)
{
        bool lines = p->kind == PLOT_LINES;

        for (size_t s = 0; s < p->nseries; s++) {
                size_t range = 2 + p->nseries + 2 * s;
                /* points of different series at the same x stand a little apart */
                double at = ((double)s - ((double)p->nseries - 1) / 2) * 0.12;
                buf_adds(b, s ? ", '' " : "plot $d ");
                if (lines)
                        buf_addf(b, "using 1:%zu", s + 2);
                else
                        buf_addf(b, "using ($1%+.4f):%zu:%zu:%zu", at, s + 2, range, range + 1);
                buf_adds(b, lines ? " with lines lw 1.5" : " with yerrorbars pt 7 ps 0.5 lw 1.5");
                buf_addf(b, " lc rgb \"%s\" title \"", colours[s]);
                add_word(b, p->series[s]);
                buf_addc(b, '"');
        }
        if (p->band) { /* nothing but its place in the key */
                buf_addf(b, ", NaN with filledcurves lc rgb \"%s\" title \"", band_colour);
                add_word(b, p->band);
                buf_addc(b, '"');
        }
        buf_addc(b, '\n');
}

static void add_bands(struct buf *b, const struct plot *p)
{
        for (size_t i = 0; p->band && i < p->nbands && i < PLOT_BANDS_MAX; i++)
                buf_addf(b,
                         "set object rectangle from %.9g, graph 0 to %.9g, graph 1 behind fc rgb "
                         "\"%s\" fs solid noborder\n",
                         p->band_from[i], p->band_to[i], band_colour);
}

/* Many or long labels are slanted and get room below. */
static void add_size(struct buf *b, const struct plot *p)
{
        size_t longest = 0, all = 0;

        for (size_t i = 0; p->label && i < p->npoints; i++) {
                size_t n = strlen(p->label[i]);
                all += n + 2;
                longest = n > longest ? n : longest;
        }
        bool slant = all > 55;
        size_t room = slant ? longest * 3 : 0; /* pixels: half the text, at 30 degrees */
        buf_addf(b, "set terminal svg size 620,%zu dynamic font \"sans-serif,13\" name \"%s\"\n",
                 330 + room, p->id);
        if (slant)
                buf_addf(b, "set xtics rotate by -30\nset bmargin %.1f\nset rmargin 8\n",
                         2 + (double)room / 15);
}

static void add_axes(struct buf *b, const struct plot *p)
{
        if (p->label) {
                buf_addf(b,
                         "set style data histogram\nset style histogram %s\n"
                         "set style fill solid 1.0 noborder\nset boxwidth %s\n",
                         p->kind == PLOT_STACKED ? "rowstacked" : "clustered gap 1",
                         p->kind == PLOT_STACKED ? "0.6" : "0.9");
        } else {
                buf_adds(b, "set xlabel \"");
                add_word(b, p->x_unit);
                buf_adds(b, "\"\nset datafile missing \"nan\"\n");
                if (p->kind == PLOT_SPREAD)
                        buf_addf(b, "set xrange [%g:%g]\nset xtics 1\n", p->x[0] - 0.5,
                                 p->x[p->npoints - 1] + 0.5);
                if (p->kind == PLOT_SPREAD && p->npoints > 16)
                        buf_adds(b, "set xtics autofreq\n");
        }
        buf_addf(b,
                 "set border 1 lc rgb \"#8a939b\"\nset grid ytics lc rgb \"#dfe3e6\" lw 1\n"
                 "set ytics scale 0\nset xtics scale 0\n%s"
                 "set key %s\n",
                 !strcmp(p->unit, "percent") ? "set yrange [0:100]\n"
                                             : "set yrange [0:*]\nset offsets 0,0,graph 0.12,0\n",
                 p->nseries > 1 || p->band ? "outside top horizontal left Left reverse samplen 1.2"
                                           : "off");
        buf_adds(b, "set ylabel \"");
        add_word(b, p->unit);
        buf_adds(b, "\"\n");
}

static void add_script(struct buf *b, const struct plot *p)
{
        add_size(b, p);
        add_axes(b, p);
        add_bands(b, p);
        add_data(b, p);
        if (p->label)
                add_bars(b, p);
        else
                add_curves(b, p);
}

struct pipes {
        int in[2], out[2];
};

static void close_pipes(const struct pipes *p)
{
        closep(&p->in[0]);
        closep(&p->in[1]);
        closep(&p->out[0]);
        closep(&p->out[1]);
}

static int spawn_gnuplot(const struct pipes *p, pid_t *pid)
{
        static char name[] = "gnuplot", option[] = "--default-settings";
        char *const argv[] = {name, option, NULL};
        posix_spawn_file_actions_t fa;

        posix_spawn_file_actions_init(&fa);
        posix_spawn_file_actions_adddup2(&fa, p->in[0], STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&fa, p->out[1], STDOUT_FILENO);
        posix_spawn_file_actions_addopen(&fa, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        int err = posix_spawnp(pid, name, &fa, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&fa);
        return -err;
}

static int read_all(int fd, struct buf *out)
{
        char part[16384];
        ssize_t n;
        while ((n = read(fd, part, sizeof part)) != 0) {
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (out->len + (size_t)n > SVG_MAX || buf_add(out, part, (size_t)n))
                        return -ENOMEM;
        }
        return 0;
}

static int run_gnuplot(const struct buf *script, struct buf *svg)
{
        CLEANUP(close_pipes) struct pipes p = {{-1, -1}, {-1, -1}};
        pid_t pid;
        int status;

        if (pipe2(p.in, O_CLOEXEC) || pipe2(p.out, O_CLOEXEC))
                return -errno;
        int err = spawn_gnuplot(&p, &pid);
        if (err)
                return err;
        close(TAKE_FD(p.in[0]));
        close(TAKE_FD(p.out[1]));
        signal(SIGPIPE, SIG_IGN);
        /* gnuplot reads to the end before it draws, so a script within a pipe's 64 KiB, or one that
         * it keeps reading, cannot block both sides */
        err = fd_write(p.in[1], script->p, script->len);
        close(TAKE_FD(p.in[1]));
        if (!err)
                err = read_all(p.out[0], svg);
        close(TAKE_FD(p.out[0]));
        if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
                return -EIO;
        if (WEXITSTATUS(status) == NOT_FOUND)
                return -ENOENT;
        return err ? err : WEXITSTATUS(status) ? -EIO : 0;
}

int plot_svg(const struct plot *p, struct buf *out)
{
        CLEANUP(buf_release) struct buf script = BUF_INIT;
        CLEANUP(buf_release) struct buf svg = BUF_INIT;

        add_script(&script, p);
        if (script.failed)
                return -ENOMEM;
        int err = run_gnuplot(&script, &svg);
        if (err)
                return err;
        /* in a page there is no place for the XML declaration and the document type */
        const char *begin = strstr(svg.p, "<svg"), *end = strstr(svg.p, "</svg>");
        if (!begin || !end)
                return -EIO;
        return buf_add(out, begin, (size_t)(end - begin) + strlen("</svg>"));
}
