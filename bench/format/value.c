/* SPDX-License-Identifier: Apache-2.0 */
/* value.c: what is in the values that unpickle() made; see unpickle.h. */
#include <errno.h>
#include <string.h>

#include "bench/format/unpickle.h"

#include "base/banned.h"

const struct value *value_get(const struct value *v, const char *key)
{
        if (v && v->kind == VALUE_CALL)
                v = value_at(v, 2);
        if (!v || v->kind != VALUE_DICT || v->n > 2 * VALUE_FIELDS)
                return NULL;
        for (size_t i = 0; i + 1 < v->n; i += 2)
                if (value_is_text(v->v[i], key))
                        return v->v[i + 1];
        return NULL;
}

const struct value *value_at(const struct value *v, size_t i)
{
        bool holds = v && (v->kind == VALUE_TUPLE || v->kind == VALUE_LIST ||
                           v->kind == VALUE_CALL || v->kind == VALUE_STORED);
        return holds && i < v->n ? v->v[i] : NULL;
}

bool value_is_text(const struct value *v, const char *text)
{
        return v && v->kind == VALUE_TEXT && v->n == strlen(text) && !memcmp(v->text, text, v->n);
}

bool value_is_global(const struct value *v, const char *module, const char *name)
{
        return v && v->kind == VALUE_GLOBAL && value_is_text(v->v[0], module) &&
               value_is_text(v->v[1], name);
}

bool value_is_call(const struct value *v, const char *module, const char *name)
{
        return v && v->kind == VALUE_CALL && value_is_global(v->v[0], module, name);
}

int value_uint(const struct value *v, uint64_t *out)
{
        if (!v || v->kind != VALUE_INT || v->i < 0)
                return -EBADMSG;
        *out = (uint64_t)v->i;
        return 0;
}
