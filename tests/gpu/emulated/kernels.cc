/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.cc: the kernels of training, and what runs them on a processor. */
#include <cstdio>
#include <cstdlib>

#include <setjmp.h>
#include <ucontext.h>

#include "bench/train/math/math_kernels.cu"

namespace
{

constexpr unsigned THREADS_MAX = 1024, STACK = 256 << 10;

/* Threads that wait for each other: a warp, or a block. */
struct meeting {
        unsigned size, came, number;
};

struct fiber {
        jmp_buf at;
        char *stack;
        bool done;
};

fiber fibers[THREADS_MAX];
jmp_buf scheduler;
const std::function<void()> *running;
meeting block_meeting, warp_meetings[THREADS_MAX / WARP];
int flags[THREADS_MAX];
float values[THREADS_MAX];
size_t moves; /* threads that ended, and meetings that were complete */
bool alone;   /* no thread of this kernel waits for others: it needs no stack of its own */

[[noreturn]] void die(const char *why)
{
        fprintf(stderr, "emulated: %s\n", why);
        abort();
}

void give_way()
{
        if (!_setjmp(fibers[threadIdx.x].at))
                _longjmp(scheduler, 1);
}

void meet(meeting &m)
{
        const unsigned number = m.number;

        if (alone)
                die("a thread waits for others, the first of the launch did not");
        if (++m.came == m.size) {
                m.came = 0;
                m.number++;
                moves++;
        }
        while (m.number == number)
                give_way();
}

/* A fiber is used for one thread after the other. */
void run_fiber()
{
        for (;;) {
                (*running)();
                fibers[threadIdx.x].done = true;
                moves++;
                give_way();
        }
}

void make_fiber(fiber &f)
{
        ucontext_t begin, here;

        f.stack = static_cast<char *>(malloc(STACK));
        if (!f.stack || getcontext(&begin))
                die("no memory");
        begin.uc_stack.ss_sp = f.stack;
        begin.uc_stack.ss_size = STACK;
        begin.uc_link = nullptr;
        makecontext(&begin, run_fiber, 0);
        if (!_setjmp(scheduler))
                swapcontext(&here, &begin);
}

void go_on(fiber &f)
{
        if (!f.stack)
                make_fiber(f);
        else if (!_setjmp(scheduler))
                _longjmp(f.at, 1);
}

/* Each thread as far as it comes; whether one is not at its end. */
bool turn()
{
        bool left = false;

        for (unsigned i = 0; i < blockDim.x; i++) {
                threadIdx.x = i;
                if (!fibers[i].done)
                        go_on(fibers[i]);
                left |= !fibers[i].done;
        }
        return left;
}

void run_block()
{
        block_meeting = {blockDim.x, 0, 0};
        for (unsigned i = 0; i < blockDim.x; i++) {
                warp_meetings[i / WARP] = {WARP, 0, 0};
                fibers[i].done = false;
        }
        for (size_t before = moves; turn(); before = moves)
                if (moves == before)
                        die("threads of a block wait for others that do not come");
}

void run_block_alone()
{
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)
                (*running)();
}

} // namespace

emulated_index threadIdx, blockIdx, blockDim, gridDim;

void __syncthreads()
{
        meet(block_meeting);
}

int __syncthreads_or(int v)
{
        int any = 0;

        flags[threadIdx.x] = v;
        meet(block_meeting);
        for (unsigned i = 0; i < blockDim.x; i++)
                any |= flags[i];
        meet(block_meeting);
        return any;
}

float __shfl_xor_sync(unsigned mask, float v, int other)
{
        meeting &warp = warp_meetings[threadIdx.x / WARP];

        if (mask != 0xffffffffU)
                die("a part of a warp");
        values[threadIdx.x] = v;
        meet(warp);
        v = values[threadIdx.x ^ static_cast<unsigned>(other)];
        meet(warp);
        return v;
}

void emulated_launch(unsigned blocks, unsigned threads, const std::function<void()> &kernel)
{
        if (!blocks || !threads || threads > THREADS_MAX || threads % WARP)
                die("a launch of no threads, of too many, or of part of a warp");
        running = &kernel;
        gridDim.x = blocks;
        blockDim.x = threads;
        alone = false;
        for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
                const size_t before = moves;
                if (alone)
                        run_block_alone();
                else
                        run_block();
                alone |= moves == before + blockDim.x;
        }
}
