/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_control.c: any line as a request to a running mount, and as a name in its reply. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/control/control_proto.h"
#include "tests/fuzz/fuzz.h"
#include "base/banned.h"

/* What is understood begins with its word; the reason of what is not is one line. */
static void request(const char *text)
{
        struct control_request rq;
        char why[128] = "";
        size_t n = strlen(text);

        if (control_request_parse(text, n, &rq, why, sizeof why)) {
                if (!*why || strchr(why, '\n'))
                        abort();
                return;
        }
        const char *word = control_word_name(rq.word);
        if (rq.word >= CONTROL_WORDS || strncmp(text, word, strlen(word)) != 0 || rq.level > 3)
                abort();
}

static void name(const char *text)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;

        control_add_printable(&b, text);
        for (const char *p = b.p; *p; p++)
                if ((unsigned char)*p < ' ' || *p == 0x7f)
                        abort();
        control_read_printable(b.p);
        if (strcmp(b.p, text) != 0)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        while (n) {
                CLEANUP(freep) char *line = fuzz_line(&p, &n);
                request(line);
                name(line);
        }
        return 0;
}
