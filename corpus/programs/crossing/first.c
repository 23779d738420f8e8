#include "crossing.h"

unsigned first_state = 7;

/* Its place is known when the program starts, and not before.  */
static __thread unsigned first_calls __attribute__((tls_model("initial-exec"))) = 3;

/* Runs before the program does.  */
__attribute__((constructor)) NOIPA static void first_start(void)
{
    first_state += second_leaf(1);
    BARRIER();
}

NOIPA unsigned first_leaf(unsigned x)
{
    return x * 3 + first_state;
}

NOIPA unsigned first_mix(unsigned x)
{
    unsigned mixed = second_leaf(x);

    mixed ^= second_apply(program_leaf, x);
    mixed += first_leaf(mixed);
    first_state += first_calls++;
    BARRIER();
    return mixed;
}

/* A jump through the procedure linkage table, where it is optimised.  */
NOIPA unsigned first_tail(unsigned x)
{
    return second_leaf(x + 5);
}

NOIPA unsigned first_descend(unsigned levels, unsigned x)
{
    unsigned below = second_descend(levels, x + 1);

    BARRIER();
    return below ^ levels;
}

/* Called and taken the address of: one slot serves both.  */
NOIPA Function first_address(void)
{
    return first_leaf;
}
