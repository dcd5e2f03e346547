/* SPDX-License-Identifier: Apache-2.0 */
/* xml.h: the XML of stores, whole replies in memory. expat is used here and nowhere else. */
#ifndef CKPTFS_BASE_XML_H
#define CKPTFS_BASE_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { XML_DEPTH_MAX = 16, XML_SIZE_MAX = 16 << 20 };

/* What a reader is told. Paths are element names from the root, without namespace prefixes, joined
 * by '/': "ListBucketResult/Contents/Key". Strings are borrowed. A return other than 0 stops the
 * reading and is returned by xml_read(). Either may be NULL. */
struct xml_reader {
        /* An element without elements inside ended; `text` is all its text, entities resolved. */
        int (*leaf)(void *arg, const char *path, const char *text);
        /* An element with elements inside ended. */
        int (*end)(void *arg, const char *path);
        void *arg;
};

/* Reads a document. 0, what a function returned, -EBADMSG (not well-formed, deeper than
 * XML_DEPTH_MAX, a document type or entity declared), -EFBIG (over XML_SIZE_MAX) or -ENOMEM. Does
 * not block; thread-safe. */
int xml_read(const void *p, size_t n, const struct xml_reader *r);

/* Appends `text` with the five special characters and control characters escaped, to go between
 * tags or quotes. 0 or -ENOMEM. */
int xml_escape(struct buf *b, const char *text);

/* Whether an XML 1.0 document can hold the text, escaped: of the control characters it has tab and
 * the ends of lines alone, and neither U+FFFE nor U+FFFF. */
bool xml_fits(const char *text);

/* Servers write such characters all the same, as "&#x1;". Puts U+FFFD in their places, so that the
 * rest can be read; the new length. */
size_t xml_mend(char *p, size_t n);

#endif
