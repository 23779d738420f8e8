/* Functions that call nothing: without a frame, with locals, and with saved
   registers.  */

#include "runtime/runtime.h"

/* No stack at all when optimised.  */
NOIPA unsigned leaf(unsigned x)
{
    return x * 2654435761u ^ x >> 7;
}

/* Locals in memory: below the stack pointer where the ABI has a red zone.  */
NOIPA unsigned leaf_with_locals(unsigned x)
{
    volatile unsigned slots[6];

    for (unsigned i = 0; i < 6; i++)
        slots[i] = x + i * i;
    return slots[x % 6] + slots[(x + 3) % 6];
}

/* Registers that belong to the caller are saved and restored.  */
NOIPA unsigned leaf_that_saves(unsigned x)
{
    x += 11;
#if defined(__x86_64__)
    __asm__ volatile("" : "+r"(x) : : "rbx", "r12", "r13", "r14");
#elif defined(__aarch64__)
    __asm__ volatile("" : "+r"(x) : : "x19", "x20", "x21", "x22");
#elif defined(__s390x__)
    __asm__ volatile("" : "+r"(x) : : "r6", "r7", "r8", "r9");
#endif
    return x * 3;
}

NOIPA unsigned caller(unsigned x)
{
    unsigned sum = leaf(x);

    sum += leaf_with_locals(x);
    BARRIER();
    sum ^= leaf_that_saves(sum);
    BARRIER();
    return sum + x;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 60; i++)
        sum = sum * 31 + caller(i);
    return bench_check(sum, 0x3db91156);
}
