/* SPDX-License-Identifier: Apache-2.0 */
/* null.c: see null.h. */
#include "bench/sim/null.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/pattern.h"
#include "base/banned.h"

/* Periods in the memory file. More make longer system calls, fewer stay in the cache. */
enum { REPEATS = 4 };

static struct {
        int fd;
        uint32_t period_crc;
        uint8_t *period; /* to begin a CRC inside it */
} null_state = {.fd = -1};

int null_init(void)
{
        struct pattern p = PATTERN_NULL;

        null_exit();
        null_state.period = malloc(PATTERN_NULL_PERIOD);
        if (!null_state.period)
                return -ENOMEM;
        pattern_fill(&p, 0, null_state.period, PATTERN_NULL_PERIOD);
        null_state.period_crc = crc32c(0, null_state.period, PATTERN_NULL_PERIOD);
        CLEANUP(closep) int fd = memfd_create("storesim-null", MFD_CLOEXEC);
        if (fd < 0)
                return -errno;
        for (int i = 0; i < REPEATS; i++) {
                ssize_t n = write(fd, null_state.period, PATTERN_NULL_PERIOD);
                if (n != PATTERN_NULL_PERIOD)
                        return n < 0 ? -errno : -EIO;
        }
        null_state.fd = TAKE_FD(fd);
        return 0;
}

void null_exit(void)
{
        closep(&null_state.fd);
        null_state.fd = -1;
        free(null_state.period);
        null_state.period = NULL;
}

int null_fd(void)
{
        return null_state.fd;
}

uint64_t null_at(uint64_t off, uint64_t *run)
{
        uint64_t at = off % PATTERN_NULL_PERIOD;

        *run = (uint64_t)REPEATS * PATTERN_NULL_PERIOD - at;
        return at;
}

uint32_t null_crc(uint64_t size)
{
        uint64_t n = size / PATTERN_NULL_PERIOD, len = PATTERN_NULL_PERIOD;
        uint32_t crc = 0, block = null_state.period_crc;

        /* Blocks of 1, 2, 4 ... periods; their order does not matter, all being equal. */
        for (; n; n >>= 1, len *= 2) {
                if (n & 1)
                        crc = crc32c_combine(crc, block, len);
                block = crc32c_combine(block, block, len);
        }
        size_t rest = size % PATTERN_NULL_PERIOD;
        return crc32c_combine(crc, crc32c(0, null_state.period, rest), rest);
}
