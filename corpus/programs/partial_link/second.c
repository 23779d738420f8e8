#include "../runtime/runtime.h"

unsigned leaf(unsigned x);
unsigned first(unsigned x);

NOIPA static unsigned step(unsigned x)
{
    unsigned value = leaf(x * 3);

    BARRIER();
    return value ^ 9;
}

NOIPA unsigned second(unsigned x)
{
    unsigned sum = step(x);

    BARRIER();
    if (x != 0)
        sum += first(x / 2);
    BARRIER();
    return sum + step(sum & 3);
}
