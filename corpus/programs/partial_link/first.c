#include "../runtime/runtime.h"

unsigned leaf(unsigned x);
unsigned second(unsigned x);

/* Both objects have a function of that name.  */
NOIPA static unsigned step(unsigned x)
{
    volatile unsigned locals[20];

    locals[x % 20] = leaf(x);
    BARRIER();
    return locals[x % 20] + 2;
}

NOIPA unsigned first(unsigned x)
{
    unsigned sum = step(x);

    BARRIER();
    if (x != 0)
        sum += second(x / 2);
    BARRIER();
    return sum;
}
