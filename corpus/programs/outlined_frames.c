/* Calls the functions of outlined_frames.S, and compares what they compute.  */

#include "runtime/path.h"

unsigned outlined(unsigned x);
unsigned outlined_nested(unsigned x);
unsigned outlined_tail(unsigned x);
unsigned outlined_recursion(unsigned levels, unsigned x);

static struct bench_path path;

NOIPA unsigned leaf(unsigned x)
{
    ENTER(leaf);
    x = x * 7 + 2;
    LEAVE();
    return x;
}

static unsigned expected(unsigned levels, unsigned x)
{
    return levels == 0 ? x * 7 + 2 : expected(levels - 1, x + levels) + levels;
}

NOIPA unsigned wrong(unsigned x)
{
    unsigned count = 0;

    ENTER(wrong);
    count += outlined(x) != (x * 7 + 2) + x;
    count += outlined_nested(x) != 2 * (x * 7 + 2) + x + 1;
    count += outlined_tail(x) != x * 7 + 3;
    count += outlined_recursion(x % 5, x) != expected(x % 5, x);
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
    return bench_check(count, 0);
}
