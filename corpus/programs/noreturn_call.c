/* Functions whose last instruction is a call that never returns.  The return
   address is then the first byte of the next function, whose frame has a
   different shape: an unwinder that looks up the return address itself, and
   not the call before it, takes the wrong rows.  */

#include "runtime/runtime.h"

/* What the stages hand over: without arguments nothing comes between ALIGN_CALL
   and the call.  */
static volatile unsigned total;

/* Makes the six-byte call that follows end where s390x, which aligns functions
   whatever the flags say, lets the next function start.  */
#if defined(__s390x__)
#define ALIGN_CALL() __asm__ volatile(".balign 8, 7\n\tnopr %%r7" ::: "memory")
#else
#define ALIGN_CALL() BARRIER()
#endif

NOIPA unsigned leaf(unsigned x)
{
    total = total + x;
    return x * 3;
}

/* Ends the program.  */
NOIPA __attribute__((noreturn)) void finish(void)
{
    unsigned bits = leaf(total);

    for (unsigned i = 0; i < 400; i++)
        bits = bits * 31 + leaf(i);
    bench_exit(bench_check(bits ^ total, 0x73eb3f43));
}

/* No array; the next function has one.  */
NOIPA __attribute__((noreturn)) void stage_three(void)
{
    leaf(7);
    ALIGN_CALL();
    finish();
}

NOIPA unsigned after_stage_three(unsigned x)
{
    volatile unsigned words[50];

    words[x % 50] = leaf(x);
    BARRIER();
    return words[x % 50];
}

/* An array; the next function has none, and no frame at all when optimised.  */
NOIPA __attribute__((noreturn)) void stage_two(void)
{
    volatile unsigned words[40];
    unsigned index = total % 40;

    words[index] = after_stage_three(total);
    total = words[index];
    ALIGN_CALL();
    stage_three();
}

NOIPA unsigned after_stage_two(unsigned x)
{
    return x + 5;
}

/* A small frame; the next function has a large one.  */
NOIPA __attribute__((noreturn)) void stage_one(void)
{
    total = after_stage_two(total);
    ALIGN_CALL();
    stage_two();
}

NOIPA unsigned after_stage_one(unsigned x)
{
    volatile unsigned words[300];

    words[x % 300] = leaf(x);
    BARRIER();
    return words[x % 300];
}

int main(void)
{
    after_stage_one(3);
    stage_one();
}
