/* Frame pointers in functions that call nothing: some distributions build so,
   for profilers that follow them.  */

#include "runtime/runtime.h"

NOIPA unsigned leaf(unsigned x)
{
    return x * 2654435761u ^ x >> 5;
}

NOIPA unsigned leaf_with_locals(unsigned x)
{
    volatile unsigned words[50];

    for (unsigned i = 0; i < 50; i++)
        words[i] = x * i;
    return words[x % 50] + words[x % 11];
}

NOIPA unsigned leaf_with_exits(unsigned x, unsigned y)
{
    if (x % 4 == 0)
        return y;
    if (x % 4 == 1)
        return x * y;
    for (unsigned i = 0; i < x / 4; i++)
        if ((y = y * 5 + 3) % 8 == 5)
            return y + i;
    return x + y;
}

NOIPA unsigned leaf_with_arguments(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e,
                                   unsigned f, unsigned g, unsigned h, unsigned i, unsigned j)
{
    return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9 + j * 10;
}

NOIPA unsigned leaf_that_saves(unsigned x)
{
    x += 11;
#if defined(__x86_64__)
    __asm__ volatile("" : "+r"(x) : : "rbx", "r12", "r13", "r14", "r15");
#elif defined(__aarch64__)
    __asm__ volatile("" : "+r"(x) : : "x19", "x20", "x21", "x22", "x23");
#endif
    return x * 3;
}

NOIPA unsigned leaf_with_alloca(unsigned x)
{
    volatile unsigned *words = __builtin_alloca((x % 16 + 1) * 16);

    words[x % 16] = x;
    return words[x % 16] * 5;
}

/* Half of the calls need no frame.  */
NOIPA unsigned early(unsigned x)
{
    unsigned y;

    if (x % 2 == 0)
        return x;
    y = leaf(x);
    BARRIER();
    return y + leaf_that_saves(x);
}

/* Ends in a jump.  */
NOIPA unsigned tail(unsigned x)
{
    unsigned y = leaf(x);

    BARRIER();
    return leaf_with_exits(y % 16, x);
}

NOIPA unsigned caller(unsigned x)
{
    unsigned sum = leaf(x);

    sum = sum * 3 + leaf_with_locals(x);
    sum = sum * 3 + leaf_with_exits(x, sum);
    sum = sum * 3 + leaf_with_arguments(x, 2, 3, 4, 5, 6, 7, 8, sum, 10);
    sum = sum * 3 + leaf_that_saves(x);
    sum = sum * 3 + leaf_with_alloca(x);
    sum = sum * 3 + early(x);
    sum = sum * 3 + tail(x);
    BARRIER();
    return sum;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 30; i++)
        sum = sum * 31 + caller(i);
    return bench_check(sum, 0x6a0a08b4);
}
