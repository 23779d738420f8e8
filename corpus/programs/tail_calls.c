/* Sibling calls: a function that ends in a call jumps instead, and has no frame
   any more when the callee runs.  */

#include "runtime/runtime.h"

typedef unsigned Step(unsigned, unsigned);

NOIPA unsigned leaf(unsigned a, unsigned b)
{
    return a * 5 + b;
}

/* Ends the chains with a frame of its own.  */
NOIPA unsigned finish(unsigned a, unsigned b)
{
    unsigned sum = leaf(a, b);

    sum += leaf(b, a);
    BARRIER();
    return sum;
}

NOIPA unsigned third(unsigned a, unsigned b)
{
    return finish(b + 1, a);
}

/* A frame that is taken down before the jump.  */
NOIPA unsigned second(unsigned a, unsigned b)
{
    unsigned x = leaf(a, b);

    BARRIER();
    return third(x, b);
}

NOIPA unsigned first(unsigned a, unsigned b)
{
    return second(a ^ b, b);
}

static Step *const volatile steps[] = {first, second, third, finish};

/* A jump through a pointer.  */
NOIPA unsigned through_pointer(unsigned a, unsigned b)
{
    return steps[a % 4](a, b);
}

/* Jumps back and forth until the count is used up.  */
NOIPA unsigned pong(unsigned a, unsigned count);

NOIPA unsigned ping(unsigned a, unsigned count)
{
    if (count == 0)
        return finish(a, 1);
    return pong(a * 3, count - 1);
}

NOIPA unsigned pong(unsigned a, unsigned count)
{
    if (count == 0)
        return finish(a, 2);
    return ping(leaf(a, count), count - 1);
}

/* Its SP is away from its FP when the jump through a pointer is made.  */
NOIPA unsigned from_array(unsigned a)
{
    volatile unsigned *words = __builtin_alloca((a + 1) * 32);

    words[0] = a;
    words[0] = through_pointer(a, 11) + words[0];
    return words[0];
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 20; i++) {
        sum = sum * 31 + first(i, 3);
        sum = sum * 31 + through_pointer(i, 7);
        sum = sum * 31 + ping(i, i);
    }
    for (unsigned i = 0; i < 4; i++)
        sum = sum * 31 + from_array(i);
    return bench_check(sum, 0x8b770c88);
}
