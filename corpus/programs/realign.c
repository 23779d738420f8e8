/* Locals with more alignment than the stack has.  On amd64 the CFA is then kept
   in memory that a register points to.  */

#include "runtime/runtime.h"

#if defined(__x86_64__)
#define REALIGN __attribute__((force_align_arg_pointer))
#else
#define REALIGN
#endif

NOIPA unsigned leaf(const volatile unsigned *words)
{
    return words[0] * 3 + (uintptr_t)words % 64;
}

NOIPA unsigned aligned(unsigned x)
{
    _Alignas(64) volatile unsigned words[16];
    unsigned sum;

    words[0] = x;
    sum = leaf(words);
    BARRIER();
    return sum + words[0];
}

/* Alignment, a size known only at run time, and arguments on the stack.  */
NOIPA unsigned aligned_and_variable(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e,
                                    unsigned f, unsigned g, unsigned count, unsigned h, unsigned i)
{
    _Alignas(64) volatile unsigned words[16];
    volatile unsigned more[count];
    unsigned sum;

    words[0] = a + b + c + d;
    more[count - 1] = e + f + g + h + i;
    sum = leaf(words);
    BARRIER();
    sum += more[count - 1];
    sum += aligned(sum);
    BARRIER();
    return sum;
}

NOIPA REALIGN unsigned realigned(unsigned x)
{
    unsigned sum = aligned(x);

    sum += aligned_and_variable(x, 1, 2, 3, 4, 5, 6, x + 1, 8, 9);
    BARRIER();
    return sum;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 30; i++)
        sum = sum * 31 + realigned(i);
    return bench_check(sum, 0x34a8b1dd);
}
