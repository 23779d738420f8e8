/* A hundred thousand frames of one function, more than a walker that counts its
   steps may expect. There is not much else in it: each level costs time.  */

#include "runtime/runtime.h"

static unsigned reached;

NOIPA void bottom(void)
{
    reached++;
}

NOIPA void descend(unsigned levels)
{
    if (levels > 0)
        descend(levels - 1);
    else
        bottom();
    BARRIER();
}

int main(void)
{
    descend(100000);
    return bench_check(reached, 1);
}
