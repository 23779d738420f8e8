/* Calls the functions of computed_return.S, and compares what they compute.  */

#include "runtime/path.h"

typedef unsigned Function(unsigned);

unsigned leaf_return(unsigned x);
unsigned frame_return(unsigned x);
unsigned frame_pointer_return(unsigned x);
unsigned call_by_thunk(Function *function, unsigned x);
unsigned jump_by_thunk(Function *function, unsigned x);
unsigned switch_by_return(unsigned x);
unsigned return_by_thunk(unsigned x);

static struct bench_path path;

NOIPA unsigned leaf(unsigned x)
{
    ENTER(leaf);
    x = x * 7 + 2;
    LEAVE();
    return x;
}

/* Thunks jump to the next two. They do not record themselves: nobody calls them.  */

NOIPA unsigned target(unsigned x)
{
    return x * 7 + 2;
}

NOIPA unsigned deeper(unsigned x)
{
    x = switch_by_return(x) + 5;
    x = call_by_thunk(target, x);
    BARRIER();
    return x;
}

NOIPA unsigned repeated(unsigned x)
{
    unsigned value = x;

    for (unsigned i = 0; i <= x % 4; i++)
        value = value * 7 + 2;
    return value;
}

NOIPA unsigned wrong(unsigned x)
{
    static const unsigned char steps[] = {15, 12, 7, 0};
    unsigned switched = (x + steps[x % 4]) * 7 + 2;
    unsigned count = 0;

    ENTER(wrong);
    count += leaf_return(x) != x + steps[x % 4] + 9;
    count += frame_return(x) != repeated(x);
    count += frame_pointer_return(x) != repeated(x);
    count += call_by_thunk(target, x) != x * 7 + 3;
    count += jump_by_thunk(target, x) != x * 7 + 2;
    count += switch_by_return(x) != switched;
    count += return_by_thunk(x) != x + 11;
    count += call_by_thunk(deeper, x) != (switched + 5) * 7 + 4;
    count += jump_by_thunk(deeper, x) != (switched + 5) * 7 + 3;
    LEAVE();
    return count;
}

int main(void)
{
    unsigned count = 0;

    bench_path = &path;
    ENTER(main);
    for (unsigned x = 0; x < 16; x++)
        count += wrong(x);
    LEAVE();
    return bench_check(count + (unsigned)path.depth, 0);
}
