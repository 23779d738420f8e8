/* Pointers to nested functions: the compiler writes a little code on the stack,
   which sets the static chain and jumps.  No section speaks of that code.  The
   stack is the program's own, since it must be executable.  */

#include "runtime/runtime.h"

extern unsigned char executable_stack_end[] __attribute__((visibility("hidden")));

unsigned call_on_stack(unsigned (*function)(unsigned), unsigned argument, void *top);

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 3;
}

NOIPA unsigned apply(unsigned (*function)(unsigned), unsigned x)
{
    unsigned y = function(x);

    BARRIER();
    return y + leaf(x);
}

/* Ends in a jump into the trampoline.  */
NOIPA unsigned apply_last(unsigned (*function)(unsigned), unsigned x)
{
    return function(x + 1);
}

NOIPA unsigned one_level(unsigned x)
{
    unsigned shared = x;

    NOIPA unsigned inner(unsigned y)
    {
        shared = shared * 3 + leaf(y);
        BARRIER();
        return shared;
    }

    unsigned sum = apply(inner, 1);

    sum += apply_last(inner, 2);
    sum += inner(3);
    BARRIER();
    return sum + shared;
}

/* Each level has its trampoline, and calls those of levels further out.  */
NOIPA unsigned levels_of_them(unsigned levels, unsigned (*outer)(unsigned))
{
    unsigned sum = levels;

    NOIPA unsigned level(unsigned y)
    {
        sum += y + (levels % 2 == 0 ? leaf(y) : outer(y + 1));
        BARRIER();
        return sum;
    }

    if (levels == 0)
        sum += apply(outer, 1);
    else
        sum += levels_of_them(levels - 1, level);
    sum += apply(level, levels);
    BARRIER();
    return sum;
}

NOIPA unsigned on_this_stack(unsigned x)
{
    unsigned sum = one_level(x);

    sum = sum * 3 + levels_of_them(x, leaf);
    BARRIER();
    return sum;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 8; i++)
        sum = sum * 31 + call_on_stack(on_this_stack, i, executable_stack_end);
    return bench_check(sum, 0x56c7bca0);
}
