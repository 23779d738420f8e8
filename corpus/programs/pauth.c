/* Signed return addresses, with either key: what the stack holds is no address
   until the signature is taken off.  */

#include "runtime/runtime.h"

#define KEY_B __attribute__((target("branch-protection=pac-ret+leaf+b-key")))
#define NOT_LEAVES __attribute__((target("branch-protection=pac-ret")))
#define UNSIGNED __attribute__((target("branch-protection=none")))

unsigned sign_and_save(unsigned x);
unsigned sign_with_b(unsigned x);
unsigned sign_late(unsigned x);
unsigned sign_twice(unsigned x);
unsigned sign_with_zero(unsigned x);

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

/* Signed only where the return address is saved: this one is not.  */
NOIPA NOT_LEAVES unsigned leaf_of_others(unsigned x)
{
    return x * 11 + 4;
}

NOIPA NOT_LEAVES unsigned not_a_leaf(unsigned x)
{
    unsigned y = leaf_of_others(x);

    BARRIER();
    return y + x;
}

/* The signed address stays where it is, and SP does not.  */
NOIPA unsigned with_alloca(unsigned x)
{
    unsigned sum = 0;

    for (unsigned turn = 1; turn <= x; turn++) {
        volatile unsigned *words = __builtin_alloca(turn * 16);

        words[turn] = not_a_leaf(turn);
        sum = sum * 3 + words[turn];
    }
    BARRIER();
    return sum;
}

NOIPA KEY_B unsigned with_alloca_b(unsigned x)
{
    volatile unsigned *words = __builtin_alloca((x + 1) * 8);

    words[x] = with_alloca(x);
    words[x] += leaf_b(x);
    BARRIER();
    return words[x];
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 14; i++) {
        sum = sum * 31 + descend(i, i);
        sum += descend_b(i, i);
    }
    for (unsigned i = 0; i < 6; i++) {
        sum = sum * 31 + with_alloca_b(i);
        sum += sign_and_save(i);
        sum = sum * 31 + sign_with_b(i);
        sum += sign_late(i);
        sum = sum * 31 + sign_twice(i);
        sum += sign_with_zero(i);
    }
    return bench_check(sum, 0x4a4c61c0);
}
