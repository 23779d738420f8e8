/* A program of which every function records itself, and nothing else goes on:
   recursion, calls through pointers, and the same function at several depths.  */

#include "runtime/path.h"

typedef unsigned Function(unsigned);

static struct bench_path path;

NOIPA unsigned mark(unsigned x)
{
    ENTER(mark);
    x = x * 5 + (unsigned)path.depth;
    LEAVE();
    return x;
}

NOIPA unsigned factorial(unsigned n)
{
    unsigned product = 1;

    ENTER(factorial);
    if (n < 2)
        mark(n);
    else
        product = n * factorial(n - 1);
    LEAVE();
    return product;
}

NOIPA unsigned fibonacci(unsigned n)
{
    unsigned sum;

    ENTER(fibonacci);
    sum = n;
    if (n >= 2) {
        sum = fibonacci(n - 1);
        sum += fibonacci(n - 2);
    }
    LEAVE();
    return sum;
}

NOIPA unsigned apply(Function *function, unsigned x)
{
    unsigned y;

    ENTER(apply);
    y = function(x);
    LEAVE();
    return y;
}

NOIPA unsigned twice(unsigned x)
{
    unsigned y;

    ENTER(twice);
    y = apply(mark, x);
    y = apply(mark, y);
    LEAVE();
    return y;
}

NOIPA unsigned loop(unsigned count)
{
    Function *const steps[] = {mark, factorial, twice, fibonacci};
    unsigned sum = 0;

    ENTER(loop);
    for (unsigned i = 0; i < count; i++)
        sum = sum * 7 + steps[i % 4](i % 6);
    LEAVE();
    return sum;
}

int main(void)
{
    unsigned sum;

    bench_path = &path;
    ENTER(main);
    sum = factorial(10);
    sum += loop(28);
    sum += apply(loop, 8);
    sum += loop(0);
    LEAVE();
    return bench_check(sum + (unsigned)path.depth, 0x503c801e);
}
