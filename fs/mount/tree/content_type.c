/* SPDX-License-Identifier: Apache-2.0 */
/* content_type.c: see content_type.h. The table is part of the
 * program, not the machine's: all hosts of a bucket give a name the same type. Types are those that
 * IANA has registered, or what servers commonly say where it has none. */
#include "mount/tree/content_type.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/banned.h"

/* What is not here, as .safetensors, .pt, .npy and .bin, is application/octet-stream, which stores
 * say of an object that was given none. */
static const struct {
        const char *suffix, *type;
} types[] = {
        {"7z", "application/x-7z-compressed"},
        {"arrow", "application/vnd.apache.arrow.file"},
        {"bz2", "application/x-bzip2"},
        {"css", "text/css"},
        {"csv", "text/csv"},
        {"flac", "audio/flac"},
        {"gif", "image/gif"},
        {"gz", "application/gzip"},
        {"htm", "text/html"},
        {"html", "text/html"},
        {"ipynb", "application/x-ipynb+json"},
        {"jpeg", "image/jpeg"},
        {"jpg", "image/jpeg"},
        {"js", "text/javascript"},
        {"json", "application/json"},
        {"jsonl", "application/jsonl"},
        {"log", "text/plain"},
        {"md", "text/markdown"},
        {"mp3", "audio/mpeg"},
        {"mp4", "video/mp4"},
        {"parquet", "application/vnd.apache.parquet"},
        {"pdf", "application/pdf"},
        {"png", "image/png"},
        {"svg", "image/svg+xml"},
        {"tar", "application/x-tar"},
        {"tgz", "application/gzip"},
        {"tif", "image/tiff"},
        {"tiff", "image/tiff"},
        {"tsv", "text/tab-separated-values"},
        {"txt", "text/plain"},
        {"wav", "audio/vnd.wave"},
        {"webm", "video/webm"},
        {"webp", "image/webp"},
        {"xml", "application/xml"},
        {"yaml", "application/yaml"},
        {"yml", "application/yaml"},
        {"zip", "application/zip"},
        {"zst", "application/zstd"},
};

static const char *by_suffix(const char *name)
{
        const char *dot = strrchr(name, '.');

        if (!dot || dot == name)
                return NULL;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
                if (!strcasecmp(types[i].suffix, dot + 1))
                        return types[i].type;
        return NULL;
}

const char *content_type_of(const char *said, const char *name)
{
        if (!strcmp(said, "auto"))
                return by_suffix(name);
        return *said && strcmp(said, "none") ? said : NULL;
}

int content_type_check(const char *said, char *why, size_t nwhy)
{
        static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                    "!#$&-^_.+";
        enum { TYPE_MAX = 127 };

        if (!*said || !strcmp(said, "none") || !strcmp(said, "auto"))
                return 0;
        size_t n = strspn(said, token), rest = said[n] == '/' ? strspn(said + n + 1, token) : 0;
        bool is_type = n && rest && strlen(said) <= TYPE_MAX;
        const char *more = is_type ? said + n + 1 + rest : "";
        is_type = is_type && (!*more || *more == ';');
        for (; is_type && *more; more++)
                is_type = *more >= ' ' && *more < 0x7f;
        if (is_type)
                return 0;
        snprintf(why, nwhy,
                 "content_type '%s' is no media type: give auto, none, or one as text/plain", said);
        return -EINVAL;
}
