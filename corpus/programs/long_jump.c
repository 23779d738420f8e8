/* Jumps that leave several frames at once: a call stack has to notice that the
   frames are gone although none of them returned.  */

#include "runtime/runtime.h"

static void *environment[5];
static volatile unsigned depth_reached;

NOIPA unsigned leaf(unsigned x)
{
    return x * 3 + 1;
}

NOIPA __attribute__((noreturn)) void escape(unsigned x)
{
    depth_reached = leaf(x);
    __builtin_longjmp(environment, 1);
}

/* Comes back the ordinary way from some levels, and not at all from others.  */
NOIPA unsigned descend(unsigned levels, unsigned x)
{
    volatile unsigned words[3];

    words[levels % 3] = leaf(x);
    if (levels == 0 && x % 2 == 1)
        escape(x);
    if (levels > 0)
        words[levels % 3] += descend(levels - 1, x);
    BARRIER();
    return words[levels % 3];
}

NOIPA unsigned attempt(unsigned levels, unsigned x)
{
    volatile unsigned result = 0;

    if (__builtin_setjmp(environment) == 0)
        result = descend(levels, x);
    else
        result = depth_reached + leaf(levels);
    BARRIER();
    return result;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 20; i++)
        sum = sum * 31 + attempt(i % 9, i);
    return bench_check(sum, 0xe292e05f);
}
