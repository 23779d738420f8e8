/* Calls the functions of discarded_return.S, and compares what they compute.  */

#include "runtime/path.h"

unsigned outer_small(unsigned x);
unsigned outer_frame(unsigned x);
unsigned outer_frame_pointer(unsigned x);
unsigned outer_two(unsigned x);
unsigned by_jump(unsigned x);
unsigned with_arguments(unsigned x);

static struct bench_path path;

/* What a function gives that adds NORMAL if its callee returns to it, and
   whose callee adds DROPPED if it does not.  */
NOIPA unsigned expected(unsigned x, unsigned normal, unsigned dropped)
{
    ENTER(expected);
    x = x * 3 + (x % 2 == 0 ? normal : dropped);
    LEAVE();
    return x;
}

NOIPA unsigned wrong(unsigned x)
{
    unsigned count = 0;
    unsigned value;

    ENTER(wrong);
    value = outer_small(x);
    count += value != expected(x, 100, 1);
    value = outer_frame(x);
    count += value != expected(x, 200, 2);
    value = outer_frame_pointer(x);
    count += value != expected(x, 300, 3);
    value = outer_two(x);
    count += value != expected(x, 450, 4);
    value = by_jump(x);
    count += value != expected(x, 5, 5);
    value = with_arguments(x);
    count += value != expected(x, 6, 6);
    LEAVE();
    return count;
}

int main(void)
{
    unsigned count = 0;

    bench_path = &path;
    ENTER(main);
    for (unsigned x = 0; x < 20; x++)
        count += wrong(x);
    LEAVE();
    return bench_check(count + (unsigned)path.depth, 0);
}
