/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h: what the fuzz targets share. A target is one program around one parser. Configured with
 * --enable-fuzzing it is driven by libFuzzer (llvm.org/docs/LibFuzzer.html) or by AFL++, which has
 * the same functions called; otherwise fuzz_main.c feeds it the inputs that it is given, so that
 * every build replays the corpus. */
#ifndef CKPTFS_TESTS_FUZZ_H
#define CKPTFS_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* What libFuzzer calls before the first input, in fuzz.c: nothing of this machine reaches the code
 * under test, no credentials of the environment, no files of a home directory; and no log line
 * comes out. Returns 0. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
/* What it calls with each input, in the file of the target. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* A file in memory with these bytes, and its path. The caller closes the descriptor. */
enum { FUZZ_PATH_MAX = 32 };
int fuzz_file(const uint8_t *p, size_t n, char path[FUZZ_PATH_MAX]);

/* The next line of the input as a string, malloc'ed, without its end; "" behind the last. */
char *fuzz_line(const uint8_t **p, size_t *n);
/* The whole input as a string, malloc'ed. */
char *fuzz_text(const uint8_t *p, size_t n);

#endif
