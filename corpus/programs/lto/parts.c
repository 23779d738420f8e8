#include "parts.h"

unsigned inlined(unsigned x)
{
    unsigned value = leaf(x + 1);

    BARRIER();
    return value + 1;
}

NOIPA unsigned kept(unsigned x, unsigned (*function)(unsigned))
{
    volatile unsigned locals[30];

    locals[x % 30] = function(x);
    BARRIER();
    locals[x % 30] += inlined(x);
    BARRIER();
    return locals[x % 30];
}

unsigned chain_two(unsigned x)
{
    volatile unsigned locals[10];

    locals[x % 10] = inlined(x);
    BARRIER();
    return locals[x % 10] ^ 3;
}

unsigned chain_one(unsigned x)
{
    unsigned sum = chain_two(x) * 3;

    BARRIER();
    return sum + kept(x, leaf);
}
