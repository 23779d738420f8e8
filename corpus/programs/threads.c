/* Threads that a program makes itself, by clone: they begin on a stack of their
   own, within the function that has made the system call, and nobody has called
   them.  */

#include "runtime/signals.h"

enum { THREADS = 3, STACK_SIZE = 4096 };

/* spawn_thread makes the system call.  What it finds on a new stack in the place
   of a return address is 0.  */
long spawn_thread(unsigned char *top, void (*function)(unsigned), unsigned argument);

enum {
#if defined(__x86_64__)
    SCHED_YIELD = 24
#elif defined(__aarch64__)
    SCHED_YIELD = 124
#elif defined(__s390x__)
    SCHED_YIELD = 158
#endif
};

static _Alignas(16) unsigned char stacks[THREADS][STACK_SIZE];
static volatile unsigned results[THREADS];
static volatile unsigned finished;

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 3;
}

NOIPA unsigned descend(unsigned depth, unsigned x)
{
    unsigned y;

    if (depth == 0)
        return leaf(x);
    y = descend(depth - 1, x * 3 + depth);
    BARRIER();
    return y + leaf(depth);
}

/* The first function that a thread calls.  */
NOIPA void work(unsigned number)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 4; i++)
        sum = sum * 31 + descend(i + number, i);
    results[number] = sum;
    finished = finished + 1;
    BARRIER();
}

NOIPA void wait_for(unsigned count)
{
    while (finished < count)
        bench_system_call(SCHED_YIELD, 0, 0, 0, 0);
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < THREADS; i++)
        /* Zeroes are above: a save area for s390x, and what a return address would be.  */
        sum += spawn_thread(stacks[i] + STACK_SIZE - 512, work, i) <= 0;
    wait_for(THREADS);
    sum += descend(4, 2);
    wait_for(THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        sum = sum * 31 + results[i];
    return bench_check(sum, 0x0d49bc43);
}
