/* A program that keeps its own call path, so that a call stack can be checked
   without any unwind data: at every instruction between ENTER and LEAVE of a
   function, call_path[0] to call_path[call_depth - 1] are the functions that
   are active, main first.  */

#include "runtime/runtime.h"

typedef unsigned Function(unsigned);

volatile unsigned call_depth;
const void *volatile call_path[64];

#define ENTER(function)                                                        \
    do {                                                                       \
        call_path[call_depth] = (const void *)(function);                      \
        call_depth = call_depth + 1;                                           \
    } while (0)
#define LEAVE()                                                                \
    do {                                                                       \
        BARRIER();                                                             \
        call_depth = call_depth - 1;                                           \
    } while (0)

int main(void);

NOIPA unsigned mark(unsigned x)
{
    ENTER(mark);
    x = x * 5 + call_depth;
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

    ENTER(main);
    sum = factorial(10);
    sum += loop(28);
    sum += apply(loop, 8);
    sum += loop(0);
    LEAVE();
    return bench_check(sum + call_depth, 0x503c801e);
}
