/* SPDX-License-Identifier: Apache-2.0 */
/* coll_large N: N values of each of the ranks that mpirun started are gathered, and summed and
 * scattered, in one request and, with a low limit of what one request carries, in several. */
#include "bench/coll/coll_mpi.c"

#include "base/banned.h"

static void check(bool good, const char *what)
{
        if (good)
                return;
        fprintf(stderr, "coll_large: %s is wrong\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
        struct coll c = {.ops = &coll_mpi};
        const size_t limits[] = {INT_MAX, 1};

        check(argc == 2 && !mpi_init(&c, &argc, &argv), "the start");
        const size_t n = strtoul(argv[1], NULL, 10);
        float *all = malloc(c.ranks * n * sizeof *all), *mine = malloc(n * sizeof *mine);
        check(all && mine, "the memory");
        for (size_t k = 0; k < 2; k++) {
                most_together = limits[k];
                for (size_t i = 0; i < n; i++)
                        mine[i] = (float)(c.rank * 7 + i % 1000);
                memset(all, 0, c.ranks * n * sizeof *all);
                check(!mpi_gather(&c, mine, n * sizeof *mine, all), "the status of a gather");
                for (size_t i = 0; i < c.ranks * n; i++)
                        check(all[i] == (float)(i / n * 7 + i % n % 1000), "what was gathered");
                check(!mpi_sum_scatter(&c, all, mine, n), "the status of a sum");
                for (size_t i = 0; i < n; i++)
                        check(mine[i] == (float)(c.ranks * (c.rank * 7 + i % 1000)), "the sum");
        }
        free(all);
        free(mine);
        mpi_finish(&c, true);
        return 0;
}
