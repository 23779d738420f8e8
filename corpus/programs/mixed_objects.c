/* One of three objects has no SFrame: backtraces end in its functions.  */

#include "runtime/runtime.h"

unsigned covered_leaf(unsigned x);
unsigned covered_middle(unsigned x);
unsigned bare_leaf(unsigned x);
unsigned bare_middle(unsigned (*function)(unsigned), unsigned x);

NOIPA unsigned through_bare(unsigned x)
{
    unsigned sum = bare_middle(covered_leaf, x);

    BARRIER();
    sum += bare_middle(covered_middle, sum & 15);
    BARRIER();
    return sum;
}

NOIPA unsigned to_bare(unsigned x)
{
    unsigned sum = bare_leaf(x);

    BARRIER();
    sum += covered_middle(sum);
    BARRIER();
    return sum;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 24; i++) {
        sum = sum * 31 + through_bare(i);
        sum = sum * 31 + to_bare(i);
        sum = sum * 31 + covered_middle(i);
    }
    return bench_check(sum, 0x14011a50);
}
