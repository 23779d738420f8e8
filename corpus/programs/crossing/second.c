#include "crossing.h"

/* Addresses of functions of every image, in read-only data.  */
const Function second_table[3] = {first_leaf, second_leaf, program_leaf};

static unsigned second_base;

/* Runs before the first library's constructor, which needs it.  */
__attribute__((constructor)) NOIPA static void second_start(void)
{
    second_base = 11;
    BARRIER();
}

NOIPA unsigned second_leaf(unsigned x)
{
    return x * 5 + second_base;
}

NOIPA unsigned second_apply(Function function, unsigned x)
{
    unsigned applied = function(x) * 7;

    BARRIER();
    return applied;
}

NOIPA unsigned second_descend(unsigned levels, unsigned x)
{
    unsigned below = program_descend(levels, x + 2);

    BARRIER();
    return below + levels;
}
