/* Code in two places, 31 GiB apart: starts of functions relative to .sframe that
   need more than 32 bits.  */

#include "runtime/runtime.h"

unsigned far_descend(unsigned levels, unsigned (*function)(unsigned));
unsigned far_leaf(unsigned x);

NOIPA unsigned near_leaf(unsigned x)
{
    volatile unsigned locals[3];

    locals[x % 3] = x * 7;
    return locals[x % 3] + 1;
}

NOIPA unsigned near_middle(unsigned x)
{
    unsigned sum = far_descend(x % 6, near_leaf);

    BARRIER();
    sum = sum * 3 + far_leaf(x);
    BARRIER();
    return sum;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 30; i++) {
        sum = sum * 31 + near_middle(i);
        sum = sum * 31 + far_descend(i % 3, near_middle);
    }
    return bench_check(sum, 0x97e4d76a);
}
