/* SPDX-License-Identifier: Apache-2.0 */
/* control_proto.h: what `ckptctl` and a running mount say to each other, and where.
 *
 * Each mount listens on a socket in a directory of its user. A connection carries one request, a
 * line "WORD" or "WORD ARGUMENT", and its reply: "ok" and then lines of fields separated by tabs,
 * or "error" and the reason. The last line is "end", so that a reply that was cut short is told
 * from a whole one. Names are written by control_add_printable(), so they hold neither tab nor
 * newline. */
#ifndef CKPTFS_BASE_CONTROL_PROTO_H
#define CKPTFS_BASE_CONTROL_PROTO_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum {
        CONTROL_REQUEST_MAX = 4096,   /* bytes of a request, its newline included */
        CONTROL_REPLY_MAX = 16 << 20, /* bytes of a reply that a client takes */
        CONTROL_PATH_MAX = 108,       /* of a socket's path, as sun_path has it */
        CONTROL_LOOK_MS = 5000 /* a daemon that does not reply in this time is not waited for */
};

enum control_word {
        CONTROL_MOUNT, /* what is mounted where */
        CONTROL_STATUS,
        CONTROL_STATS,
        CONTROL_FILES,
        CONTROL_CREDENTIALS,
        CONTROL_OPTIONS,  /* what the mount was given, and its device */
        CONTROL_RELOAD,   /* reads the options anew */
        CONTROL_SET,      /* the same, and takes those of its argument, a list as -o has it */
        CONTROL_DRAIN,    /* its argument is on or off: nothing is opened for writing */
        CONTROL_LOGLEVEL, /* its argument is a word of the option log_level */
        CONTROL_WORDS
};

struct control_request {
        enum control_word word;
        unsigned level; /* of CONTROL_LOGLEVEL: the index of the word; of CONTROL_DRAIN: on */
        char options[CONTROL_REQUEST_MAX]; /* of CONTROL_SET */
};

/* The word as a request has it. */
const char *control_word_name(enum control_word word);

/* Reads a request of n bytes, without its newline: 0, or -EINVAL with one line in `why`. */
int control_request_parse(const char *text, size_t n, struct control_request *out, char *why,
                          size_t nwhy);

/* The directory of the user's sockets: `given` unless that is empty, else /run/ckptfs for root, and
 * for others ckptfs in XDG_RUNTIME_DIR or in /run/user/UID. 0, or -ENAMETOOLONG. */
int control_dir(const char *given, char out[CONTROL_PATH_MAX]);
#define CONTROL_DIR_ROOT  "/run/ckptfs"
#define CONTROL_DIR_USERS "/run/user" /* UID/ckptfs */

/* Connects to the socket without waiting for its owner: a descriptor that does not block, or a
 * negative errno, of which -ECONNREFUSED says that nobody listens any more. */
int control_connect(const char *path);

/* Appends the text with control characters and backslashes as \ooo. */
void control_add_printable(struct buf *b, const char *text);
/* Makes of such a text what it was made of, in its place. */
void control_read_printable(char *text);

#endif
