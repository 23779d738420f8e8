/* Optimised as a whole when it is linked: functions of one source are inlined
   into another, and frames are those of what is left.  */

#include "lto/parts.h"

NOIPA unsigned leaf(unsigned x)
{
    BARRIER();
    return x * 2654435761u >> 27;
}

NOIPA static unsigned through_inlined(unsigned x)
{
    unsigned sum = inlined(x);

    BARRIER();
    sum += chain_one(sum & 7);
    BARRIER();
    return sum;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 30; i++) {
        sum = sum * 31 + through_inlined(i);
        sum = sum * 31 + kept(i, leaf);
    }
    return bench_check(sum, 0xc0fea5c3);
}
