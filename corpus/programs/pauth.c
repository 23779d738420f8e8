/* Signed return addresses, with either key: what the stack holds is no address
   until the signature is taken off.  */

#include "runtime/runtime.h"

#define KEY_B __attribute__((target("branch-protection=pac-ret+leaf+b-key")))
#define UNSIGNED __attribute__((target("branch-protection=none")))

NOIPA unsigned leaf(unsigned x)
{
    return x * 3 + 1;
}

NOIPA KEY_B unsigned leaf_b(unsigned x)
{
    return x * 5 + 2;
}

NOIPA UNSIGNED unsigned leaf_unsigned(unsigned x)
{
    return x ^ 0x55;
}

NOIPA unsigned descend(unsigned levels, unsigned x);

NOIPA KEY_B unsigned descend_b(unsigned levels, unsigned x)
{
    unsigned below = levels == 0 ? leaf_b(x) : descend(levels - 1, x + 3);

    below = below * 3 + leaf(levels);
    BARRIER();
    return below;
}

/* A frame of another shape, between the signed ones, and not signed itself.  */
NOIPA UNSIGNED unsigned middle(unsigned levels, unsigned x)
{
    volatile unsigned words[20];

    words[levels % 20] = leaf_unsigned(x);
    BARRIER();
    return descend_b(levels, words[levels % 20]) + words[levels % 20];
}

NOIPA unsigned descend(unsigned levels, unsigned x)
{
    unsigned below = levels == 0 ? leaf(x) : middle(levels - 1, x + 1);

    BARRIER();
    return below * 5 + levels;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 14; i++) {
        sum = sum * 31 + descend(i, i);
        sum += descend_b(i, i);
    }
    return bench_check(sum, 0x883a908e);
}
