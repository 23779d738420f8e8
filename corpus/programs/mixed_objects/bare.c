#include "../runtime/runtime.h"

NOIPA unsigned bare_leaf(unsigned x)
{
    volatile unsigned locals[6];

    locals[x % 6] = x * 3;
    return locals[x % 6] + 1;
}

NOIPA unsigned bare_middle(unsigned (*function)(unsigned), unsigned x)
{
    unsigned value = function(x);

    value += bare_leaf(x);
    BARRIER();
    return value;
}
