#include "../runtime/runtime.h"

NOIPA unsigned covered_leaf(unsigned x)
{
    volatile unsigned locals[3];

    for (unsigned i = 0; i < 3; i++)
        locals[i] = x + i;
    return locals[x % 3] * 5;
}

NOIPA unsigned covered_middle(unsigned x)
{
    unsigned value = covered_leaf(x + 1);

    BARRIER();
    return value ^ x;
}
