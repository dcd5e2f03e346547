/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_xml.c: any bytes as a document of XML. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/xml.h"
#include "tests/fuzz/fuzz.h"
#include "base/banned.h"

/* The text of each leaf, escaped, reads as itself. */
static int leaf(void *arg, const char *path, const char *text)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;

        (void)arg;
        if (!path || xml_escape(&b, text) || (b.len && strpbrk(b.p, "<>\"'")))
                abort();
        return 0;
}

static int end(void *arg, const char *path)
{
        (void)arg;
        if (!path)
                abort();
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        const struct xml_reader r = {.leaf = leaf, .end = end};

        xml_read(p, n, &r);
        return 0;
}
