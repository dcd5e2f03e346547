/* SPDX-License-Identifier: Apache-2.0 */
/* gen_keys.c: prints the table of keys as list items of ckptbench(1). */
#include <stdio.h>

#include "bench/core/keys.h"

#include "base/banned.h"

int main(void)
{
        param_tab_mdoc(&key_tab, stdout);
        return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
