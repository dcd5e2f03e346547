/* SPDX-License-Identifier: Apache-2.0 */
/* test_xml.c: what a reader of replies is told, and what it is spared. */
#include "base/text/xml.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static int add_leaf(void *arg, const char *path, const char *text)
{
        return buf_addf(arg, "%s=%s;", path, text);
}

static int add_end(void *arg, const char *path)
{
        return buf_addf(arg, "/%s;", path);
}

static int read_text(const char *text, struct buf *b)
{
        struct xml_reader r = {add_leaf, add_end, b};
        return xml_read(text, strlen(text), &r);
}

static const struct {
        const char *doc, *told;
} docs[] = {
        {"<A/>", "A=;"},
        {"<?xml version=\"1.0\"?><A xmlns='http://x/'><B>1</B>\n <C> 2 &amp; &#x41;</C></A>",
         "A/B=1;A/C= 2 & A;/A;"},
        {"<s:A xmlns:s='u'><s:B><s:C>x</s:C></s:B><s:B></s:B></s:A>", "A/B/C=x;/A/B;A/B=;/A;"},
        {"<A>lost<B>k&lt;e&gt;y&#10;</B>lost</A>", "A/B=k<e>y\n;/A;"},
        {"<A><![CDATA[<x>]]>y</A>", "A=<x>y;"},
        {"<A>\xe1\x88\xb4</A>", "A=\xe1\x88\xb4;"},
};

START_TEST(leaves_and_ends_are_told_in_order)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        ck_assert_int_eq(read_text(docs[_i].doc, &b), 0);
        ck_assert_str_eq(b.p, docs[_i].told);
}
END_TEST

START_TEST(what_is_no_reply_is_refused)
{
        static const char *const bad[] = {
                "",
                "no",
                "<A>",
                "<A></B>",
                "<A/><B/>",
                "<A>&undefined;</A>",
                "<!DOCTYPE A [<!ENTITY x 'y'>]><A>&x;</A>",
                "<!DOCTYPE A SYSTEM 'file:///etc/passwd'><A/>",
                "<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>",
        };
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                CLEANUP(buf_release) struct buf b = BUF_INIT;
                ck_assert_int_eq(read_text(bad[i], &b), -EBADMSG);
        }
        struct xml_reader none = {0};
        ck_assert_int_eq(xml_read("", XML_SIZE_MAX + 1, &none), -EFBIG);
}
END_TEST

static int refuse(void *arg, const char *path, const char *text)
{
        (void)text;
        ++*(int *)arg;
        return strcmp(path, "A/B") ? 0 : -ECANCELED;
}

START_TEST(a_reader_may_stop)
{
        int calls = 0;
        struct xml_reader r = {refuse, NULL, &calls};
        const char doc[] = "<A><X/><B/><C/></A>";
        ck_assert_int_eq(xml_read(doc, strlen(doc), &r), -ECANCELED);
        ck_assert_int_eq(calls, 2);
}
END_TEST

START_TEST(escaped_text_comes_back)
{
        CLEANUP(buf_release) struct buf doc = BUF_INIT, b = BUF_INIT;
        const char key[] = "a<b>&\"c'\n\r\t%+ \xe1\x88\xb4";
        buf_adds(&doc, "<K>");
        ck_assert_int_eq(xml_escape(&doc, key), 0);
        buf_adds(&doc, "</K>");
        ck_assert_int_eq(read_text(doc.p, &b), 0);
        ck_assert_int_eq(strncmp(b.p + 2, key, strlen(key)), 0);
}
END_TEST

static const struct {
        const char *text, *mended; /* NULL: as it is */
        bool fits;
} odd[] = {
        {"a\tb\r\n&amp;&#xA;&#10;\x7f", NULL, true},
        {"\xef\xbf\xbd \xef\xbe\xbe \xef\xbf", NULL, true},
        {"a\x01z", NULL, false},
        {"\xef\xbf\xbe\xef\xbf\xbf", "\xef\xbf\xbd\xef\xbf\xbd", false},
        {"a&#x1;b&#31;&#x0000001F;c&#xfffe;&lt;",
         "a\xef\xbf\xbd"
         "b\xef\xbf\xbd\xef\xbf\xbd"
         "c\xef\xbf\xbd&lt;",
         true},
        {"&#x1", NULL, true},
        {"&#;&#x;&#x20;&", NULL, true},
};

START_TEST(characters_that_xml_does_not_have_are_replaced)
{
        char text[80];

        snprintf(text, sizeof text, "%s", odd[_i].text);
        size_t n = xml_mend(text, strlen(text));
        text[n] = 0;
        ck_assert_str_eq(text, odd[_i].mended ? odd[_i].mended : odd[_i].text);
        ck_assert_int_eq(xml_fits(odd[_i].text), odd[_i].fits);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("xml");
        TCase *t = tcase_create("xml");
        tcase_add_loop_test(t, leaves_and_ends_are_told_in_order, 0, sizeof docs / sizeof *docs);
        tcase_add_test(t, what_is_no_reply_is_refused);
        tcase_add_test(t, a_reader_may_stop);
        tcase_add_test(t, escaped_text_comes_back);
        tcase_add_loop_test(t, characters_that_xml_does_not_have_are_replaced, 0,
                            sizeof odd / sizeof *odd);
        suite_add_tcase(s, t);
        return unit_main(s);
}
