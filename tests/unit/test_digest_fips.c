/* SPDX-License-Identifier: Apache-2.0 */
/* test_digest_fips.c: the checksums that stores want, on a machine whose OpenSSL takes only what is
 * approved. A file with that setting stands for such a machine: no provider here is approved, so
 * whatever asks the machine's OpenSSL gets nothing. */
#include "base/digest.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static const char config[] = "openssl_conf = top\n[top]\nproviders = all\nalg_section = which\n"
                             "[all]\ndefault = one\n[one]\nactivate = 1\n"
                             "[which]\ndefault_properties = fips=yes\n";

START_TEST(md5_is_a_checksum_there_too)
{
        static const uint8_t abc[MD5_LEN] = {0x90, 0x01, 0x50, 0x98, 0x3c, 0xd2, 0x4f, 0xb0,
                                             0xd6, 0x96, 0x3f, 0x7d, 0x28, 0xe1, 0x7f, 0x72};
        static const uint8_t none[SHA256_LEN];
        uint8_t sum[SHA256_LEN];

        sha256("abc", 3, sum);
        ck_assert_mem_eq(sum, none, sizeof none); /* the setting is in force */
        md5("abc", 3, sum);
        ck_assert_mem_eq(sum, abc, sizeof abc);
}
END_TEST

int main(void)
{
        char file[] = "/tmp/ckptfs-openssl-XXXXXX";
        Suite *s = suite_create("digest_fips");
        TCase *t = tcase_create("digest_fips");
        CLEANUP(closep) int fd = mkstemp(file);

        if (write(fd, config, sizeof config - 1) != sizeof config - 1)
                return EXIT_FAILURE;
        setenv("OPENSSL_CONF", file, 1);
        tcase_add_test(t, md5_is_a_checksum_there_too);
        suite_add_tcase(s, t);
        int rc = unit_main(s);
        unlink(file);
        return rc;
}
