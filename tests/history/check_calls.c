/* SPDX-License-Identifier: Apache-2.0 */
/* check_calls.c: what each call may do, by its result; see check_calls.h. The
 * promises are those of ckptfs(1). */
#include "check_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* After the last sign of a call whose daemon was killed, its request may still
 * be on its way for so long, in a history with faults ten times as long. */
static const int64_t ON_ITS_WAY = 100000000;

/* A file and a copy of it that is made later have the same age for so long: the store's clock has
 * seconds, and the next second may be another server's. */
static const int64_t YOUNG = 3000000000;

/* When what the call did is over. */
static int64_t over(const struct judge *j, const struct call *c)
{
        bool down = c->fate == FATE_DOWN;

        return c->t[3] + (down ? ON_ITS_WAY * (j->h->setting.faulty ? 10 : 1) : 0);
}

/* The calls that are under way at any moment between two times. */
struct around {
        const struct call *at, *end;
        int64_t from;
};

/* The first call that begins at that time or later: a history is sorted by begins. */
static const struct call *first_from(const struct history *h, int64_t when)
{
        unsigned low = 0, high = h->n;

        while (low < high) {
                unsigned mid = low + (high - low) / 2;
                if (h->calls[mid].t[0] < when)
                        low = mid + 1;
                else
                        high = mid;
        }
        return h->calls + low;
}

static struct around calls_around(const struct judge *j, int64_t from, int64_t until)
{
        return (struct around){first_from(j->h, from - j->longest), first_from(j->h, until + 1),
                               from};
}

/* NULL: there are no more. */
static const struct call *next_around(const struct judge *j, struct around *a)
{
        for (; a->at < a->end; a->at++)
                if (over(j, a->at) >= a->from)
                        return a->at++;
        return NULL;
}

static void *more(void *all, unsigned n, unsigned *room, size_t size)
{
        if (n < *room)
                return all;
        *room = *room ? *room * 2 : 1024;
        if (!(all = realloc(all, *room * size)))
                abort();
        return all;
}

static struct op *op_new(struct judge *j, const struct call *c, const char *p, const char *q)
{
        j->ops = more(j->ops, j->nops, &j->ops_room, sizeof *j->ops);
        struct op *op = &j->ops[j->nops++];
        *op = (struct op){.call = c, .value = -1};
        op->p = judge_path(j, p);
        op->q = q ? judge_path(j, q) : op->p;
        judge_join(j, op->p, op->q);
        return op;
}

static void step(struct op *op, enum act act, int64_t from, int64_t until)
{
        op->steps[op->nsteps++] = (struct step){act, from, until, false};
}

/* The call that publishes. */
static void step_last(const struct judge *j, struct op *op, enum act act)
{
        step(op, act, op->call->t[2], over(j, op->call));
}

static void step_maybe(const struct judge *j, struct op *op, enum act act)
{
        step_last(j, op, act);
        op->steps[op->nsteps - 1].optional = true;
}

/* A request is sent again when its reply was lost: one without a condition, and one that wants no
 * file, should what it made have gone. */
static void step_again(const struct judge *j, struct op *op, enum act act)
{
        unsigned times = !j->h->setting.faulty ? 0 : act == ACT_AGAIN ? 1 : 2;

        while (times--)
                step_maybe(j, op, act);
}

static bool is_attribute(const struct call *c)
{
        return c->kind == CALL_CHMOD || c->kind == CALL_XATTR;
}

static bool is_change(const struct call *c)
{
        return c->kind < CALL_READ && c->fate != FATE_KILLED;
}

static bool is_below(const char *name, const char *dir)
{
        size_t n = strlen(dir);

        return !strncmp(name, dir, n) && name[n] == '/';
}

static bool is_of(const struct call *c, const char *name)
{
        return !strcmp(c->name, name) || !strcmp(c->to, name) ||
               (c->kind == CALL_MOVE_DIR && (is_below(name, c->name) || is_below(name, c->to)));
}

/* Whether another host changed the name between the two. */
static bool is_name_changed(const struct judge *j, const struct call *c, const char *name,
                            int64_t from, int64_t until)
{
        struct around around = calls_around(j, from, until);

        for (const struct call *k; (k = next_around(j, &around));)
                if (k->host != c->host && is_change(k) && is_of(k, name))
                        return true;
        return false;
}

static bool is_changed(const struct judge *j, const struct call *c, int64_t from, int64_t until)
{
        return is_name_changed(j, c, c->name, from, until);
}

/* Whether another host changed the name that a process of this host gave to the file, which stays
 * open. */
static bool is_moved_and_changed(const struct judge *j, const struct call *c)
{
        struct around around = calls_around(j, c->t[0], c->t[3]);

        for (const struct call *k; (k = next_around(j, &around));) {
                bool moves = k->kind == CALL_MOVE || k->kind == CALL_MOVE_NEW;
                if (moves && k->host == c->host && !strcmp(k->name, c->name) &&
                    is_name_changed(j, c, k->to, k->t[0], c->t[3]))
                        return true;
        }
        return false;
}

/* --- looks --- */

/* What a host did itself it knows at once. */
static int64_t known_from(const struct judge *j, const struct call *c, const char *name)
{
        int64_t from = c->t[0] - j->h->setting.ttl_ns;
        struct around around = calls_around(j, from, c->t[0]);

        for (const struct call *k; (k = next_around(j, &around));) {
                bool own = k->host == c->host && is_change(k) && !k->err && k->t[3] < c->t[0];
                bool tells = !is_attribute(k) && k->kind != CALL_MOVE_DIR;
                if (own && tells && k->t[2] > from && is_of(k, name))
                        from = k->t[2];
        }
        return from;
}

/* Whether a process of the same host writes the file, so that it is seen there
 * and nowhere else. */
static bool is_written_here(const struct judge *j, const struct call *c, const char *name)
{
        struct around around = calls_around(j, c->t[0], c->t[3]);

        for (const struct call *k; (k = next_around(j, &around));)
                if (k->host == c->host && k != c && k->kind < CALL_READ && is_of(k, name))
                        return true;
        return false;
}

/* Whether this host renames something to the name, which it then knows by what it knew by the old
 * name, and until then by what it knew before. */
static bool is_renamed_to(const struct call *k, const char *name)
{
        return !strcmp(k->kind == CALL_REPLACE ? k->name : k->to, name);
}

/* Whether this host renames the file away while the call looks, which goes on by the new name; or
 * removes it. */
static bool is_taken_from(const struct call *k, const struct call *c, const char *name)
{
        bool takes = k->kind == CALL_MOVE || k->kind == CALL_MOVE_NEW || k->kind == CALL_REMOVE;

        return takes && !strcmp(k->name, name) && k->t[3] >= c->t[0];
}

/* Whether this host renamed, renames or removes the name that the call looks at (docs/testing.md).
 */
static bool is_renamed_here(const struct judge *j, const struct call *c, const char *name,
                            enum look_wants wants)
{
        struct around around = calls_around(j, c->t[0] - j->h->setting.ttl_ns, c->t[3]);

        for (const struct call *k; (k = next_around(j, &around));) {
                bool sized =
                        wants == LOOK_SIZE && (is_renamed_to(k, name) || is_taken_from(k, c, name));
                if (k->host == c->host && (k->kind == CALL_MOVE_DIR || sized) && is_of(k, name))
                        return true;
        }
        return false;
}

static void look(struct judge *j, const struct call *c, const char *name, enum look_wants wants,
                 uint64_t size)
{
        if (is_renamed_here(j, c, name, wants))
                return;
        j->looks = more(j->looks, j->nlooks, &j->looks_room, sizeof *j->looks);
        j->looks[j->nlooks++] = (struct look){.call = c,
                                              .path = judge_path(j, name),
                                              .wants = wants,
                                              .size = size,
                                              .from = known_from(j, c, name),
                                              .until = c->t[3]};
}

static unsigned count_name(const char *names, const char *name)
{
        unsigned count = 0;
        size_t n = strlen(name);

        for (const char *at = names; *at; at += strcspn(at, ","), at += *at == ',')
                count += !strncmp(at, name, n) && (at[n] == ',' || !at[n]);
        return count;
}

/* What comes back while a directory is read may be listed once more. */
static bool is_touched(const struct judge *j, const struct call *c, const char *name)
{
        struct around around = calls_around(j, c->t[0], c->t[3]);

        for (const struct call *k; (k = next_around(j, &around));)
                if (is_change(k) && is_of(k, name))
                        return true;
        return false;
}

static void judge_names(struct judge *j, const struct call *c)
{
        unsigned n = j->npaths;

        for (unsigned i = 0; i < n; i++) {
                const char *name = j->paths[i].name;
                if (!is_below(name, c->name) || is_written_here(j, c, name))
                        continue;
                unsigned listed = count_name(c->seen, name + strlen(c->name) + 1);
                look(j, c, name, listed ? LOOK_PRESENT : LOOK_ABSENT, 0);
                if (listed > 1 && !is_touched(j, c, name))
                        judge_wrong(j, c, "a file that was there all the time is listed twice");
        }
}

uint64_t judge_size(struct judge *j, int value)
{
        uint64_t size = 0;

        if (value == NONE || value == A_DIR)
                return 0;
        for (const char *at = contents_text(j->contents, value); *at;) {
                char *end;
                unsigned long id = strtoul(at, &end, 10);
                size += id < j->nlens ? j->lens[id] : 0;
                at = *end ? end + 1 : end;
        }
        return size;
}

/* --- errors --- */

static void wrong_errno(struct judge *j, const struct call *c)
{
        char what[100];

        snprintf(what, sizeof what, "it returned %s, for which there was no reason",
                 strerror(c->err));
        judge_wrong(j, c, what);
}

/* A file that may lie in a directory that is being renamed. */
static bool is_in_tree(const struct call *c)
{
        return c->name[0] == 't';
}

/* Errors that any call on a file may return. Whether that explains it. */
static bool explained(struct judge *j, const struct call *c)
{
        switch (c->err) {
        case ENOENT:
                look(j, c, c->name, LOOK_ABSENT, 0);
                return true;
        case ESTALE:
                return is_changed(j, c, c->t[0], c->t[3]) || is_moved_and_changed(j, c);
        case EIO: /* the reply got lost, and another host was there before it was
                     asked for */
                return j->h->setting.faulty && (is_changed(j, c, c->t[0], c->t[3]) ||
                                                is_name_changed(j, c, c->to, c->t[0], c->t[3]));
        default:
                return false;
        }
}

/* Whether the reply to the call that publishes may have got lost, and another host changed the name
 * before the store was asked again: that one, says the call then, was first, though the call had
 * its effect for a while. */
static bool is_overtaken(const struct judge *j, const struct call *c)
{
        bool copies = c->kind == CALL_MOVE_NEW && !j->h->setting.moves_whole;
        bool is_new = c->kind == CALL_CREATE || copies;
        bool is_edit = c->kind == CALL_APPEND || c->kind == CALL_CHANGE;
        bool was_second = (is_new && c->err == EEXIST) || (is_edit && c->err == ESTALE);

        return j->h->setting.faulty && was_second && c->t[2] < c->t[3] &&
               is_name_changed(j, c, copies ? c->to : c->name, c->t[2], c->t[3]);
}

/* Whether the call may have had its effect all the same. A rename whose old
 * name another host took away, with its directory, has made its copy. */
static bool is_maybe(const struct judge *j, const struct call *c)
{
        bool taken = c->kind == CALL_REPLACE && c->err == ENOENT && is_in_tree(c);

        return c->fate != FATE_TOLD || c->err == EIO || taken || is_overtaken(j, c);
}

static bool has_effect(const struct judge *j, const struct call *c)
{
        return !c->err || is_maybe(j, c);
}

/* --- calls --- */

static void judge_write(struct judge *j, const struct call *c)
{
        bool fresh = c->kind == CALL_CREATE;

        if (c->fate == FATE_TOLD && c->err) {
                bool there = fresh && c->err == EEXIST;
                bool no_dir = c->err == ENOENT && is_in_tree(c);
                if (there)
                        look(j, c, c->name, LOOK_PRESENT, 0);
                else if (!no_dir && (c->err == ENOENT || !explained(j, c)))
                        wrong_errno(j, c);
        }
        if (!has_effect(j, c))
                return;
        struct op *op = op_new(j, c, c->name, NULL);
        op->value = contents_whole(j->contents, c->id, c->pieces);
        op->maybe = is_maybe(j, c);
        step_last(j, op, fresh ? ACT_NEW : ACT_SET);
        step_again(j, op, fresh ? ACT_NEW : ACT_SET);
}

static void judge_change(struct judge *j, const struct call *c)
{
        if (c->fate == FATE_TOLD && c->err && !explained(j, c))
                wrong_errno(j, c);
        if (!has_effect(j, c))
                return;
        struct op *op = op_new(j, c, c->name, NULL);
        op->maybe = is_maybe(j, c);
        if (c->kind == CALL_CHANGE)
                op->value = contents_of_text(j->contents, c->seen);
        else if (strcmp(c->seen, "-") != 0)
                op->after = (unsigned)strtoul(c->seen, NULL, 10);
        step(op, ACT_TAKE, c->t[0], c->t[1]);
        step_last(j, op, ACT_PUBLISH);
}

static void judge_remove(struct judge *j, const struct call *c)
{
        if (c->fate == FATE_TOLD && c->err && !explained(j, c))
                wrong_errno(j, c);
        if (!has_effect(j, c))
                return;
        struct op *op = op_new(j, c, c->name, NULL);
        op->maybe = is_maybe(j, c);
        step_last(j, op, ACT_CLEAR);
        step_again(j, op, ACT_CLEAR);
}

/* Whether another host changed the attributes meanwhile, which makes another version. */
static bool is_chmodded(const struct judge *j, const struct call *c)
{
        struct around around = calls_around(j, c->t[0], over(j, c));

        for (const struct call *k; (k = next_around(j, &around));) {
                bool below = c->kind == CALL_MOVE_DIR && is_below(k->name, c->name);
                if (is_attribute(k) && k->host != c->host && (below || !strcmp(k->name, c->name)))
                        return true;
        }
        return false;
}

/* A store reads what it copies before the copy is there, which only those see who change the old
 * name in between: two hosts that rename two files onto each other may swap them. */
static void copy_steps(struct judge *j, struct op *op)
{
        if (!is_changed(j, op->call, op->call->t[0], over(j, op->call))) {
                step_last(j, op, ACT_COPY);
                return;
        }
        step_last(j, op, ACT_TAKE);
        step_last(j, op, ACT_PASTE);
}

/* Where the store renames in one step, so does the call; else it copies and
 * then deletes what it has copied. */
static void move_steps(struct judge *j, struct op *op)
{
        if (j->h->setting.moves_whole) {
                step_last(j, op, ACT_MOVE);
                return;
        }
        copy_steps(j, op);
        if (!op->only_new)
                step_again(j, op, ACT_AGAIN);
        step_last(j, op, ACT_DROP);
        op->steps[op->nsteps - 1].optional = is_chmodded(j, op->call);
}

/* Whether another host gave something the same name while the reply to this call may have got
 * lost: where the store renames in one step, and another host had taken the file away, what that
 * one has brought there is taken for what the call was to bring, if it is the same file
 * (docs/testing.md). */
static bool is_doubled(const struct judge *j, const struct call *c)
{
        struct around around = calls_around(j, c->t[0], c->t[3]);

        if (!j->h->setting.faulty || !j->h->setting.moves_whole)
                return false;
        for (const struct call *k; (k = next_around(j, &around));) {
                bool moves = k->kind == CALL_MOVE || k->kind == CALL_MOVE_NEW;
                if (moves && k->host != c->host && !k->err && !strcmp(k->to, c->to))
                        return true;
        }
        return false;
}

static void judge_move(struct judge *j, const struct call *c)
{
        bool fresh = c->kind == CALL_MOVE_NEW;

        if (c->fate == FATE_TOLD && c->err) {
                if (fresh && c->err == EEXIST)
                        look(j, c, c->to, LOOK_PRESENT, 0);
                else if (!explained(j, c))
                        wrong_errno(j, c);
        }
        /* The old name was taken away while it was copied, or another host changed the copy. */
        bool late =
                (c->err == ENOENT && !j->h->setting.moves_whole) || (c->err && is_overtaken(j, c));
        if (!has_effect(j, c) && !late)
                return;
        struct op *op = op_new(j, c, c->name, c->to);
        op->maybe = is_maybe(j, c) || late || is_doubled(j, c);
        op->only_new = fresh;
        if (late) {
                copy_steps(j, op);
                step_last(j, op, ACT_UNCOPY);
        } else {
                move_steps(j, op);
        }
}

/* Whether the file may be as young as a copy of it that the call makes. */
static bool is_young(const struct judge *j, const struct call *c, const char *name)
{
        struct around around = calls_around(j, c->t[0] - YOUNG, over(j, c));

        for (const struct call *k; (k = next_around(j, &around));)
                if (k != c && k->kind < CALL_READ && is_of(k, name))
                        return true;
        return false;
}

/* Whether a file may keep its old name below a directory that is renamed (docs/testing.md). Where
 * copies are made, and another host has taken one away before the old name is deleted, this may be
 * a file that came back. Where the store renames in one step, and the reply to that is lost, what
 * another host has put by the old name since may have come after that step. */
static bool may_stay_below(const struct judge *j, const struct call *c, const char *name,
                           const char *to)
{
        if (j->h->setting.moves_whole)
                return j->h->setting.faulty && is_name_changed(j, c, name, c->t[0], over(j, c));
        return is_young(j, c, name) && is_name_changed(j, c, to, c->t[0], over(j, c));
}

/* Whether another host put something where the directory was to be, which ends the rename: what
 * has its new name by then goes back. */
static bool goes_back(const struct judge *j, const struct call *c)
{
        struct around around = calls_around(j, c->t[0], over(j, c));

        if (c->fate != FATE_TOLD || !c->err)
                return false;
        for (const struct call *k; (k = next_around(j, &around));) {
                bool there = is_below(k->name, c->to) || is_below(k->to, c->to) ||
                             !strcmp(k->name, c->to) || !strcmp(k->to, c->to);
                if (k->host != c->host && is_change(k) && there)
                        return true;
        }
        return false;
}

/* Whether another host gave it other attributes under its new name. Where that makes another
 * version, it is not what is taken back, and stays. */
static bool has_other_attributes(const struct judge *j, const struct call *c, const char *name)
{
        struct around around = calls_around(j, c->t[0], over(j, c));

        for (const struct call *k; (k = next_around(j, &around));)
                if (k->host != c->host && (k->kind == CALL_CHMOD || k->kind == CALL_XATTR) &&
                    !strcmp(k->name, name))
                        return true;
        return false;
}

static void back_steps(struct judge *j, struct op *op)
{
        step_maybe(j, op, j->h->setting.moves_whole ? ACT_MOVE : ACT_COPY);
        step_last(j, op, j->h->setting.moves_whole ? ACT_BACK : ACT_UNCOPY);
}

/* Each file below by itself: others see it under its old name, under both, or
 * under the new one. */
static void judge_move_dir(struct judge *j, const struct call *c)
{
        unsigned n = j->npaths;
        bool told = c->fate == FATE_TOLD;

        /* What others put there meanwhile stays, so that a directory may be there
         * already. */
        if (told && c->err && c->err != ENOTEMPTY && c->err != ENOENT && c->err != EEXIST &&
            !(j->h->setting.faulty && c->err == EIO))
                wrong_errno(j, c);
        bool back = !has_effect(j, c);
        if (back && !goes_back(j, c))
                return;
        for (unsigned i = 0; i < n; i++) {
                char to[2 * NAME_MOST];
                if (!is_below(j->paths[i].name, c->name))
                        continue;
                snprintf(to, sizeof to, "%s%s", c->to, j->paths[i].name + strlen(c->name));
                struct op *op = op_new(j, c, j->paths[i].name, to);
                op->if_there = true;
                op->maybe = is_maybe(j, c);
                if (back)
                        back_steps(j, op);
                else
                        move_steps(j, op);
                bool stays = back ? !j->h->setting.moves_whole && has_other_attributes(j, c, to)
                                  : may_stay_below(j, c, j->paths[i].name, to);
                if (stays)
                        op->steps[op->nsteps - 1].optional = true;
        }
}

static void judge_mkdir(struct judge *j, const struct call *c)
{
        if (c->fate == FATE_TOLD && c->err == EEXIST)
                look(j, c, c->name, LOOK_PRESENT, 0);
        else if (c->fate == FATE_TOLD && c->err)
                wrong_errno(j, c);
        if (!has_effect(j, c))
                return;
        struct op *op = op_new(j, c, c->name, NULL);
        op->value = A_DIR;
        op->maybe = is_maybe(j, c);
        step_last(j, op, ACT_NEW);
        step_again(j, op, ACT_NEW);
}

static void judge_rmdir(struct judge *j, const struct call *c)
{
        bool full = c->name[0] == 'd'; /* with a file that stays */

        if (full) {
                if (c->fate == FATE_TOLD && c->err != ENOTEMPTY)
                        judge_wrong(j, c, "a directory with a file in it was removed");
                return;
        }
        judge_remove(j, c);
}

static void judge_read(struct judge *j, const struct call *c)
{
        if (c->seen[0] == '!') {
                judge_wrong(j, c, c->seen + 1);
        } else if (c->err && (c->err != ENOENT || j->h->setting.ttl_ns)) {
                if (!explained(j, c))
                        wrong_errno(j, c);
        } else { /* where each look asks the store, that there is no file is as good
                    as bytes */
                struct op *op = op_new(j, c, c->name, NULL);
                op->value = contents_of_text(j->contents, c->err ? "-" : c->seen);
                step(op, ACT_SEE, c->t[0], c->t[1]);
        }
}

static void judge_stat(struct judge *j, const struct call *c)
{
        if (c->err ? !explained(j, c) : false)
                wrong_errno(j, c);
        else if (!c->err)
                look(j, c, c->name, c->name[0] == 'm' ? LOOK_PRESENT : LOOK_SIZE, c->len);
}

static void judge_list(struct judge *j, const struct call *c)
{
        if (c->err)
                wrong_errno(j, c);
        else if (c->seen[0] == '!')
                judge_wrong(j, c, c->seen + 1);
        else
                judge_names(j, c);
}

static void judge_attribute(struct judge *j, const struct call *c)
{
        if (c->err && !explained(j, c))
                wrong_errno(j, c);
}

static void judge_call(struct judge *j, const struct call *c)
{
        static void (*const judges[])(struct judge *, const struct call *) = {
                [CALL_PUT] = judge_write,         [CALL_REPLACE] = judge_write,
                [CALL_CREATE] = judge_write,      [CALL_APPEND] = judge_change,
                [CALL_CHANGE] = judge_change,     [CALL_REMOVE] = judge_remove,
                [CALL_MOVE] = judge_move,         [CALL_MOVE_NEW] = judge_move,
                [CALL_MOVE_DIR] = judge_move_dir, [CALL_MKDIR] = judge_mkdir,
                [CALL_RMDIR] = judge_rmdir,       [CALL_CHMOD] = judge_attribute,
                [CALL_XATTR] = judge_attribute,   [CALL_READ] = judge_read,
                [CALL_STAT] = judge_stat,         [CALL_LIST] = judge_list,
        };

        if (c->kind != CALL_RESTART)
                judges[c->kind](j, c);
}

void judge_calls(struct judge *j)
{
        const struct history *h = j->h;

        for (unsigned i = 0; i < h->n; i++) {
                const struct call *c = &h->calls[i];
                if (c->id >= j->nlens)
                        j->nlens = c->id + 1;
                if (over(j, c) - c->t[0] > j->longest)
                        j->longest = over(j, c) - c->t[0];
                if (c->kind != CALL_LIST && c->kind != CALL_MOVE_DIR && c->kind != CALL_RESTART)
                        judge_path(j, c->name);
        }
        if (!(j->lens = calloc(j->nlens + 1, sizeof *j->lens)))
                abort();
        for (unsigned i = 0; i < h->n; i++)
                if (h->calls[i].id)
                        j->lens[h->calls[i].id] = h->calls[i].len;
        for (unsigned i = 0; i < h->n; i++) {
                const struct call *c = &h->calls[i];
                /* What a daemon that died says of what is there says nothing. */
                bool ignored =
                        c->fate == FATE_KILLED || (c->fate != FATE_TOLD && c->kind >= CALL_CHMOD);
                if (!ignored)
                        judge_call(j, c);
        }
}
