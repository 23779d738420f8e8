/* Direct recursion, many levels deep.  */

#include "runtime/runtime.h"

NOIPA unsigned leaf(unsigned x)
{
    return x * x + 1;
}

NOIPA unsigned descend(unsigned levels, unsigned x)
{
    unsigned below;

    if (levels == 0)
        below = leaf(x);
    else
        below = descend(levels - 1, x + levels);
    BARRIER();
    return below * 3 + levels;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 12; i++)
        sum = sum * 17 + descend(24, i);
    return bench_check(sum, 0x09d64332);
}
