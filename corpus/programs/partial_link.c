/* Two of the program's objects are linked into one before the program is.  */

#include "runtime/runtime.h"

unsigned first(unsigned x);
unsigned second(unsigned x);

NOIPA unsigned leaf(unsigned x)
{
    BARRIER();
    return x * 2654435761u >> 27;
}

NOIPA static unsigned own(unsigned x)
{
    unsigned sum = first(x);

    BARRIER();
    sum = sum * 3 + second(x);
    BARRIER();
    return sum;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 25; i++)
        sum = sum * 31 + own(i);
    return bench_check(sum, 0xde223bb7);
}
