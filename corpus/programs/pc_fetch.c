/* Calls the functions of pc_fetch.S, and compares what they compute.  */

#include "runtime/path.h"

unsigned pc_in_leaf(unsigned x);
unsigned pc_in_frame(unsigned x);
unsigned pc_in_loop(unsigned x);
unsigned pc_on_stack(unsigned x);

static struct bench_path path;

NOIPA unsigned leaf(unsigned x)
{
    ENTER(leaf);
    x = x * 7 + 2;
    LEAVE();
    return x;
}

NOIPA unsigned wrong(unsigned x)
{
    unsigned looped = x;
    unsigned count = 0;

    ENTER(wrong);
    for (unsigned i = 0; i <= x % 8; i++)
        looped = looped * 7 + 2;
    count += pc_in_leaf(x) != x;
    count += pc_in_frame(x) != x * 7 + 2;
    count += pc_in_loop(x) != looped;
    count += pc_on_stack(x) != x * 7 + 2;
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
