/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_json.c: any bytes as JSON, and as the records that a mount keeps at the store. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/record/recovery_record.h"
#include "base/record/rename_journal.h"
#include "base/text/json.h"
#include "tests/fuzz/fuzz.h"
#include "base/banned.h"

static char why[512];

/* What was read can be written, and is read again then. */
static void tree(const char *p, size_t n)
{
        CLEANUP(json_freep) struct json *j = NULL, *again = NULL;

        if (json_parse("input", p, n, &j, why, sizeof why))
                return;
        CLEANUP(freep) char *text = json_print(j);
        if (!text || json_parse("again", text, strlen(text), &again, why, sizeof why))
                abort();
        json_wipe(j);
}

static void recovery(const char *p, size_t n)
{
        struct recovery_record k = {0}, again = {0};

        if (!recovery_record_parse("input", p, n, &k, why, sizeof why)) {
                CLEANUP(freep) char *text = recovery_record_print(&k);
                if (!text ||
                    recovery_record_parse("again", text, strlen(text), &again, why, sizeof why) ||
                    (k.upload && again.nparts != k.nparts))
                        abort();
        }
        recovery_record_release(&k);
        recovery_record_release(&again);
}

static void journal(const char *p, size_t n)
{
        struct rename_journal i = {0}, again = {0};

        if (!rename_journal_parse("input", p, n, &i, why, sizeof why)) {
                CLEANUP(freep) char *text = rename_journal_print(&i);
                if (!text ||
                    rename_journal_parse("again", text, strlen(text), &again, why, sizeof why) ||
                    strcmp(again.from, i.from) || strcmp(again.to, i.to))
                        abort();
        }
        rename_journal_release(&i);
        rename_journal_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        tree((const char *)p, n);
        recovery((const char *)p, n);
        journal((const char *)p, n);
        return 0;
}
