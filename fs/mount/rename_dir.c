/* SPDX-License-Identifier: Apache-2.0 */
/* rename_dir.c: see rename.h; directories. */
#include "mount/rename.h"

#include <errno.h>

#include "base/banned.h"

void rename_dir(struct rename *r)
{
        rename_end(r, -EOPNOTSUPP);
}
