/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_yaml.c: any bytes as a file of options, and any line as a list of -o. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/params.h"
#include "base/text/conf.h"
#include "tests/fuzz/fuzz.h"
#include "base/banned.h"

/* Each refusal is one line. */
static void one_line(int err, const char *why)
{
        if (err && (!*why || strchr(why, '\n')))
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        char path[FUZZ_PATH_MAX], why[1024] = "";
        struct params of;

        if (params_init(&of))
                abort();
        int fd = fuzz_file(p, n, path);
        one_line(conf_read_params(path, &of, why, sizeof why), why);
        close(fd);
        CLEANUP(freep) char *line = fuzz_line(&p, &n);
        *why = 0;
        one_line(params_set_list(&of, line, why, sizeof why), why);
        params_release(&of);
        return 0;
}
