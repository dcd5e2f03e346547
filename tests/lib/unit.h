/* SPDX-License-Identifier: Apache-2.0 */
/* unit.h: the main() of a libcheck program, reporting in TAP. */
#ifndef CKPTFS_TESTS_UNIT_H
#define CKPTFS_TESTS_UNIT_H

#include <check.h>
#include <stdlib.h>

/* Runs the suite; libcheck writes TAP to standard output. */
static inline int unit_main(Suite *s)
{
        SRunner *sr = srunner_create(s);
        srunner_set_tap(sr, "-");
        srunner_run_all(sr, CK_SILENT);
        int failed = srunner_ntests_failed(sr);
        srunner_free(sr);
        return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
