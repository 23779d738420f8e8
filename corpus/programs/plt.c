/* Calls between functions of one shared object go through its procedure linkage
   table, which has unwind rows of its own.  */

#include "runtime/runtime.h"

#define EXPORT __attribute__((visibility("default"))) NOIPA

EXPORT unsigned leaf(unsigned x)
{
    return x * 3 + 1;
}

EXPORT unsigned scale(unsigned x)
{
    unsigned scaled = leaf(x) * 7;

    BARRIER();
    return scaled;
}

EXPORT unsigned mix(unsigned x, unsigned y)
{
    unsigned mixed = scale(x);

    mixed ^= scale(y);
    mixed += leaf(x);
    BARRIER();
    return mixed;
}

EXPORT unsigned descend(unsigned levels, unsigned x)
{
    unsigned below = levels == 0 ? mix(x, 2) : descend(levels - 1, x + 1);

    BARRIER();
    return below + levels;
}

/* The address of a function that is also called directly.  */
static unsigned (*const volatile pointer)(unsigned) = scale;

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 30; i++) {
        sum = sum * 31 + descend(3, i);
        sum += pointer(i);
    }
    return bench_check(sum, 0xebb59105);
}
