/* Nested functions, called directly: the frame that encloses them comes in the
   static chain register, and the frames between need not be adjacent.  */

#include "runtime/runtime.h"

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 3;
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

    unsigned sum = inner(1);

    sum += inner(2);
    BARRIER();
    return sum + shared;
}

/* The chain goes through frames that the innermost function does not use.  */
NOIPA unsigned three_levels(unsigned x)
{
    unsigned outermost = x;

    NOIPA unsigned second(unsigned y)
    {
        unsigned own = y;

        NOIPA unsigned third(unsigned z)
        {
            NOIPA unsigned fourth(unsigned w)
            {
                outermost += leaf(w);
                own ^= outermost;
                BARRIER();
                return own + z;
            }

            unsigned sum = fourth(z + 1);

            BARRIER();
            return sum * 3 + own;
        }

        unsigned sum = third(own) + third(outermost);

        BARRIER();
        return sum;
    }

    unsigned sum = second(x + 1);

    BARRIER();
    return sum + outermost;
}

/* Recursion of the nested function, all levels in one enclosing frame.  */
NOIPA unsigned recursive(unsigned levels)
{
    unsigned visits = 0;

    NOIPA unsigned descend(unsigned level)
    {
        unsigned below;

        visits++;
        below = level == 0 ? leaf(visits) : descend(level - 1);
        BARRIER();
        return below + level * visits;
    }

    unsigned sum = descend(levels);

    BARRIER();
    return sum * 5 + visits;
}

/* Recursion of the enclosing function: each level has its own.  */
NOIPA unsigned through_both(unsigned levels)
{
    unsigned mine = levels;

    NOIPA unsigned inner(unsigned y)
    {
        unsigned below = mine == 0 ? leaf(y) : through_both(mine - 1);

        mine += below;
        BARRIER();
        return below * 3 + y;
    }

    unsigned sum = inner(levels + 1);

    BARRIER();
    return sum + mine;
}

/* Arguments on the stack, beside the chain in its register.  */
NOIPA unsigned with_many(unsigned x)
{
    unsigned shared = x;

    NOIPA unsigned inner(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f,
                         unsigned g, unsigned h, unsigned i, unsigned j)
    {
        volatile unsigned *words = __builtin_alloca((a % 8 + 1) * 16);

        words[a % 8] = leaf(a + b + c + d + e + f);
        shared += words[a % 8];
        BARRIER();
        return shared + g + h * 3 + i * 5 + j * 7;
    }

    unsigned sum = inner(x, 2, 3, 4, 5, 6, 7, 8, 9, 10);

    sum ^= inner(10, 9, 8, 7, 6, 5, 4, 3, 2, x);
    BARRIER();
    return sum;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 10; i++) {
        sum = sum * 31 + one_level(i);
        sum = sum * 31 + three_levels(i);
        sum = sum * 31 + recursive(i);
        sum = sum * 31 + through_both(i);
        sum = sum * 31 + with_many(i);
    }
    return bench_check(sum, 0x4df41655);
}
