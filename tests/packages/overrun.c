/* SPDX-License-Identifier: Apache-2.0 */
/* overrun.c: does harm as a defect would, built as the programs are: tests/packages/hardened.sh
 * looks at what ends it. Whoever gets to the end says so and exits with 0. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/banned.h"

/* Writes behind a block whose size is known only when the program runs. */
static int heap(size_t n)
{
        char *block = malloc(n);
        if (!block)
                return 2;
        memset(block, 'x', n + 1);
        int last = block[n];
        free(block);
        return last != 'x';
}

__attribute__((noinline)) static void fill(volatile char *to, size_t n)
{
        for (size_t i = 0; i < n; i++)
                to[i] = 'x';
}

/* Writes behind a variable, over what the function needs to return. */
static int stack(size_t n)
{
        char variable[16];
        fill(variable, sizeof variable + n);
        return variable[0] != 'x';
}

/* PAGE is as large as those of any machine. */
enum { PAGE = 64 << 10, STACK = 1 << 20, FRAME = 512 << 10 };

/* A frame so large that its far end is beyond the page that guards the stack. */
__attribute__((noinline)) static void *frame(void *arg)
{
        char variable[FRAME];
        fill(variable, 1);
        return variable[0] == 'x' ? arg : NULL;
}

/* Writes into what lies below the guard of a thread's stack, which is n bytes less than the frame
 * of its function. */
static int clash(size_t n)
{
        char *memory = mmap(NULL, STACK + PAGE + STACK, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        pthread_attr_t attr;
        pthread_t thread;

        if (memory == MAP_FAILED || mprotect(memory + STACK, PAGE, PROT_NONE) != 0 ||
            pthread_attr_init(&attr) != 0 ||
            pthread_attr_setstack(&attr, memory + STACK + PAGE, FRAME - n) != 0 ||
            pthread_create(&thread, &attr, frame, memory) != 0 || pthread_join(thread, NULL) != 0)
                return 2;
        return memchr(memory, 'x', STACK) == NULL;
}

int main(int argc, char **argv)
{
        static const struct {
                const char *name;
                int (*harm)(size_t n);
                size_t n;
        } ways[] = {{"heap", heap, 20}, {"stack", stack, 64}, {"clash", clash, 256 << 10}};

        for (size_t i = 0; argc == 2 && i < sizeof ways / sizeof *ways; i++)
                if (strcmp(argv[1], ways[i].name) == 0) {
                        volatile size_t n = ways[i].n; /* not known to the compiler */
                        int rc = ways[i].harm(n);
                        puts(rc == 0 ? "done" : "not done");
                        return rc;
                }
        return 2;
}
