/* Functions that are called on other stacks, as kernels do it for interrupts:
   the call stack goes on from one stack to the next, up and down in memory.  */

#include "runtime/path.h"

typedef unsigned Function(unsigned);

enum { STACKS = 3, STACK_SIZE = 8192, LEVELS = 6, LEVEL_SIZE = 2048 };

unsigned call_on_stack(Function *function, unsigned argument, void *top);
int main(void);

static _Alignas(16) unsigned char stacks[STACKS][STACK_SIZE];
static struct bench_path path;

/* A function that runs on another stack records call_on_stack as well.  */
#define ENTER_ON_STACK(function)                                               \
    do {                                                                       \
        path.frames[path.depth] = (const void *)call_on_stack;                 \
        path.frames[path.depth + 1] = (const void *)(function);                \
        path.depth = path.depth + 2;                                           \
        bench_path = &path;                                                    \
    } while (0)
#define LEAVE_ON_STACK()                                                       \
    do {                                                                       \
        BARRIER();                                                             \
        bench_path = NULL;                                                     \
        path.depth = path.depth - 2;                                           \
    } while (0)

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 2;
}

NOIPA unsigned nested(unsigned x)
{
    unsigned y;

    ENTER(nested);
    y = leaf(x);
    y += leaf(y);
    LEAVE();
    return y;
}

/* The path is unknown from here until FUNCTION has recorded itself, and again
   from where it has taken itself off.  */
NOIPA unsigned elsewhere(unsigned char *top, Function *function, unsigned argument)
{
    unsigned result;

    ENTER(elsewhere);
    bench_path = NULL;
    result = call_on_stack(function, argument, top);
    bench_path = &path;
    LEAVE();
    return result;
}

NOIPA unsigned once(unsigned x)
{
    unsigned y;

    ENTER_ON_STACK(once);
    y = nested(x);
    y += leaf(y);
    LEAVE_ON_STACK();
    return y;
}

/* Goes on to the stack above the one that it runs on.  */
NOIPA unsigned upwards(unsigned stack)
{
    unsigned y;

    ENTER_ON_STACK(upwards);
    y = nested(stack);
    if (stack + 1 < STACKS)
        y += elsewhere(stacks[stack + 1] + STACK_SIZE, upwards, stack + 1);
    y += leaf(y);
    LEAVE_ON_STACK();
    return y;
}

NOIPA unsigned downwards(unsigned stack)
{
    unsigned y;

    ENTER_ON_STACK(downwards);
    y = nested(stack);
    if (stack > 0)
        y += elsewhere(stacks[stack - 1] + STACK_SIZE, downwards, stack - 1);
    y += leaf(y);
    LEAVE_ON_STACK();
    return y;
}

/* Changes between two stacks, and takes a part of one at each level.  */
NOIPA unsigned recursion(unsigned level)
{
    unsigned char *top = stacks[level % 2] + STACK_SIZE - level / 2 * LEVEL_SIZE;
    unsigned y;

    ENTER_ON_STACK(recursion);
    y = nested(level);
    if (level + 1 < LEVELS)
        y += elsewhere(top, recursion, level + 1);
    y += leaf(y);
    LEAVE_ON_STACK();
    return y;
}

int main(void)
{
    unsigned char *top = stacks[STACKS - 1] + STACK_SIZE;
    unsigned sum = 0;

    bench_path = &path;
    ENTER(main);
    for (unsigned i = 0; i < 10; i++) {
        sum = sum * 31 + elsewhere(stacks[i % STACKS] + STACK_SIZE, once, i);
        sum = sum * 31 + elsewhere(stacks[0] + STACK_SIZE, upwards, 0);
        sum = sum * 31 + elsewhere(top, downwards, STACKS - 1);
        sum = sum * 31 + elsewhere(top, recursion, 0);
    }
    LEAVE();
    bench_path = NULL;
    return bench_check(sum, 0xa6e355e0);
}
