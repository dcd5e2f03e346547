/* SPDX-License-Identifier: Apache-2.0 */
/* no_memory.h: lets a calloc() of the test's program find no memory. Sanitizers have an allocator
 * of their own: what needs this is left out there. */
#ifndef CKPTFS_TEST_NO_MEMORY_H
#define CKPTFS_TEST_NO_MEMORY_H

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define NO_MEMORY 1

#include <stddef.h>

/* The so many-th calloc() from now on fails; 0: none does. */
static unsigned no_memory_at;

void *__libc_calloc(size_t n, size_t size);

void *calloc(size_t n, size_t size)
{
        return no_memory_at && !--no_memory_at ? NULL : __libc_calloc(n, size);
}
#endif

#endif
