/* Early exits before the frame is set up, and several exits after it: the
   compiler builds the frame only on the paths that need it, and takes it down
   in the middle of the function.  */

#include "runtime/runtime.h"

NOIPA unsigned leaf(unsigned x)
{
    return x * 3 + 1;
}

/* Half of the calls return without a frame.  */
NOIPA unsigned guarded(unsigned x)
{
    unsigned sum;

    if (x % 2 == 0)
        return x;
    sum = leaf(x);
    BARRIER();
    sum += leaf(sum) * x;
    BARRIER();
    return sum;
}

/* Three exits, each with its own epilogue.  */
NOIPA unsigned exits(unsigned x, unsigned y)
{
    unsigned a, b;

    if (y == 0)
        return 1;
    a = leaf(x);
    BARRIER();
    if (a % 5 == 0) {
        BARRIER();
        return a;
    }
    b = leaf(y);
    b += guarded(a);
    BARRIER();
    if (b % 5 == 0)
        return a + b;
    a ^= guarded(b);
    BARRIER();
    return a * y + b;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 60; i++) {
        sum = sum * 31 + exits(i, i % 4);
        sum += guarded(i);
    }
    return bench_check(sum, 0x736849c6);
}
