/* SPDX-License-Identifier: Apache-2.0 */
/* test_digest.c: published values of every digest, and combination of CRCs at every split. */
#include "base/digest.h"

#include <string.h>

#include "tests/lib/unit.h"

#include "base/banned.h"

/* RFC 3720, appendix B.4; the last is the check value of the CRC catalogue. */
START_TEST(crc32c_gives_the_published_values)
{
        uint8_t zeros[32] = {0}, ones[32], rising[32], falling[32];
        memset(ones, 0xff, sizeof ones);
        for (int i = 0; i < 32; i++) {
                rising[i] = (uint8_t)i;
                falling[i] = (uint8_t)(31 - i);
        }
        ck_assert_uint_eq(crc32c(0, NULL, 0), 0);
        ck_assert_uint_eq(crc32c(0, zeros, 32), 0x8a9136aaU);
        ck_assert_uint_eq(crc32c(0, ones, 32), 0x62a8ab43U);
        ck_assert_uint_eq(crc32c(0, rising, 32), 0x46dd794eU);
        ck_assert_uint_eq(crc32c(0, falling, 32), 0x113fdb5cU);
        ck_assert_uint_eq(crc32c(0, "123456789", 9), 0xe3069283U);
}
END_TEST

START_TEST(crc32c_goes_on_and_combines_at_every_split)
{
        uint8_t data[1000];
        for (size_t i = 0; i < sizeof data; i++)
                data[i] = (uint8_t)(i * 131 + (i >> 3));
        uint32_t whole = crc32c(0, data, sizeof data);
        for (size_t i = 0; i <= sizeof data; i++) {
                uint32_t a = crc32c(0, data, i), b = crc32c(0, data + i, sizeof data - i);
                ck_assert_uint_eq(crc32c(a, data + i, sizeof data - i), whole);
                ck_assert_uint_eq(crc32c_combine(a, b, sizeof data - i), whole);
        }
}
END_TEST

/* A and 5 TiB of zeros behind it, joined at once or in two steps. */
START_TEST(crc32c_combines_huge_lengths)
{
        const uint64_t half = 5ULL << 39;
        uint32_t a = crc32c(0, "abc", 3), zeros = 0;
        for (uint64_t n = 1, z = crc32c(0, "", 1); n <= half; n <<= 1) {
                if (half & n)
                        zeros = crc32c_combine(zeros, (uint32_t)z, n);
                z = crc32c_combine((uint32_t)z, (uint32_t)z, n);
        }
        uint32_t both = crc32c_combine(zeros, zeros, half);
        uint32_t steps = crc32c_combine(crc32c_combine(a, zeros, half), zeros, half);
        ck_assert_uint_eq(crc32c_combine(a, both, 2 * half), steps);
}
END_TEST

/* The first is the check value of the CRC catalogue (CRC-64/NVME); the others are in the NVM
 * Command Set Specification, "64b CRC Test Cases". */
START_TEST(crc64nvme_gives_the_published_values)
{
        static uint8_t zeros[4096], ones[4096], rising[4096], falling[4096];
        memset(ones, 0xff, sizeof ones);
        for (size_t i = 0; i < sizeof rising; i++) {
                rising[i] = (uint8_t)i;
                falling[i] = (uint8_t)(255 - i);
        }
        ck_assert_uint_eq(crc64nvme(0, NULL, 0), 0);
        ck_assert_uint_eq(crc64nvme(0, "123456789", 9), 0xae8b14860a799888ULL);
        ck_assert_uint_eq(crc64nvme(0, zeros, sizeof zeros), 0x6482d367eb22b64eULL);
        ck_assert_uint_eq(crc64nvme(0, ones, sizeof ones), 0xc0ddba7302eca3acULL);
        ck_assert_uint_eq(crc64nvme(0, rising, sizeof rising), 0x3e729f5f6750449cULL);
        ck_assert_uint_eq(crc64nvme(0, falling, sizeof falling), 0x9a2df64b8e9e517eULL);
}
END_TEST

START_TEST(crc64nvme_goes_on_and_combines_at_every_split)
{
        uint8_t data[1000];
        for (size_t i = 0; i < sizeof data; i++)
                data[i] = (uint8_t)(i * 131 + (i >> 3));
        uint64_t whole = crc64nvme(0, data, sizeof data);
        for (size_t i = 0; i <= sizeof data; i++) {
                uint64_t a = crc64nvme(0, data, i), b = crc64nvme(0, data + i, sizeof data - i);
                ck_assert_uint_eq(crc64nvme(a, data + i, sizeof data - i), whole);
                ck_assert_uint_eq(crc64nvme_combine(a, b, sizeof data - i), whole);
        }
}
END_TEST

START_TEST(hashes_give_the_published_values)
{
        uint8_t out[SHA256_LEN];
        char hex[2 * SHA256_LEN + 1];
        sha256("abc", 3, out);
        hex_encode(out, SHA256_LEN, hex);
        ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, out); /* RFC 4231, case 2 */
        hex_encode(out, SHA256_LEN, hex);
        ck_assert_str_eq(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        hmac_sha1("Jefe", 4, "what do ya want for nothing?", 28, out); /* RFC 2202, case 2 */
        hex_encode(out, SHA1_LEN, hex);
        ck_assert_str_eq(hex, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
        md5("abc", 3, out); /* RFC 1321 */
        hex_encode(out, MD5_LEN, hex);
        ck_assert_str_eq(hex, "900150983cd24fb0d6963f7d28e17f72");
}
END_TEST

static const struct {
        const char *plain, *text;
} base64s[] = {/* RFC 4648, section 10 */
               {"", ""},
               {"f", "Zg=="},
               {"fo", "Zm8="},
               {"foo", "Zm9v"},
               {"foob", "Zm9vYg=="},
               {"fooba", "Zm9vYmE="},
               {"foobar", "Zm9vYmFy"}};

START_TEST(base64_goes_both_ways)
{
        char text[16], plain[16];
        size_t n = strlen(base64s[_i].plain);
        base64_encode(base64s[_i].plain, n, text);
        ck_assert_str_eq(text, base64s[_i].text);
        ck_assert_int_eq(base64_decode(text, plain, n), (int)n);
        ck_assert_mem_eq(plain, base64s[_i].plain, n);
        if (n)
                ck_assert_int_eq(base64_decode(text, plain, n - 1), -1);
}
END_TEST

START_TEST(bad_base64_is_refused)
{
        static const char *const bad[] = {"Z", "Zg=", "Zg==Zg==", "Z===", "====", "Zg=A", "Zm9 "};
        char out[16];
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
                ck_assert_int_eq(base64_decode(bad[i], out, sizeof out), -1);
}
END_TEST

START_TEST(the_header_form_is_big_endian)
{
        char text[9], wide[13];
        crc32c_base64(crc32c(0, "123456789", 9), text);
        ck_assert_str_eq(text, "4waSgw==");
        crc64nvme_base64(crc64nvme(0, "123456789", 9), wide);
        ck_assert_str_eq(wide, "rosUhgp5mIg=");
}
END_TEST

int main(void)
{
        Suite *s = suite_create("digest");
        TCase *t = tcase_create("digest");
        tcase_add_test(t, crc32c_gives_the_published_values);
        tcase_add_test(t, crc32c_goes_on_and_combines_at_every_split);
        tcase_add_test(t, crc32c_combines_huge_lengths);
        tcase_add_test(t, crc64nvme_gives_the_published_values);
        tcase_add_test(t, crc64nvme_goes_on_and_combines_at_every_split);
        tcase_add_test(t, hashes_give_the_published_values);
        tcase_add_loop_test(t, base64_goes_both_ways, 0, sizeof base64s / sizeof *base64s);
        tcase_add_test(t, bad_base64_is_refused);
        tcase_add_test(t, the_header_form_is_big_endian);
        suite_add_tcase(s, t);
        return unit_main(s);
}
