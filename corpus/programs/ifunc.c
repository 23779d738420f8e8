/* Functions whose addresses other functions compute before the program starts:
   of the program's own, and of a library.  */

#include "ifunc/library.h"

NOIPA static unsigned local_one(unsigned x)
{
    return x + 9;
}

NOIPA static unsigned local_two(unsigned x)
{
    return x ^ 9;
}

static volatile int first_is_better = 1;

NOIPA static Function resolve_local(void)
{
    return first_is_better ? local_one : local_two;
}

static unsigned local(unsigned x) __attribute__((ifunc("resolve_local")));

NOIPA static unsigned mix(unsigned x)
{
    unsigned sum = local(x);

    sum ^= chosen(x);
    sum += inner(x) + chosen_pointer(x);
    BARRIER();
    return sum;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 60; i++)
        sum = sum * 31 + mix(i);
    return bench_check(sum + local_two(1) + first_is_better, 0xa9564a25);
}
