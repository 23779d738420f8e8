/* Nested functions that jump into a function that encloses them: the frames
   between are left at once, and no function of a library helps.  */

#include "runtime/runtime.h"

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 3;
}

/* Leaves one frame.  */
NOIPA unsigned out_of_one(unsigned x)
{
    __label__ out;
    unsigned sum = x;

    NOIPA void inner(unsigned y)
    {
        sum += leaf(y);
        if (y % 2 == 0)
            goto out;
        BARRIER();
    }

    inner(x);
    inner(x + 1);
    sum += 1000;
out:
    sum += leaf(sum);
    BARRIER();
    return sum;
}

/* Leaves as many frames as there are, or none.  */
NOIPA unsigned out_of_many(unsigned levels)
{
    __label__ out;
    unsigned visits = 0;

    NOIPA unsigned descend(unsigned level)
    {
        unsigned below;

        visits += leaf(level);
        if (level == 0) {
            if (levels % 3 == 2)
                return visits;
            goto out;
        }
        below = descend(level - 1);
        BARRIER();
        return below + 1;
    }

    descend(levels);
    visits += 1000;
out:
    visits ^= leaf(visits);
    BARRIER();
    return visits;
}

/* The function that is jumped into has more stack than at its start.  */
NOIPA unsigned into_variable(unsigned count)
{
    __label__ again;
    volatile unsigned turns = 0;
    volatile unsigned words[count + 1];

    NOIPA void inner(unsigned y)
    {
        words[turns % (count + 1)] = leaf(y);
        if (turns < count)
            goto again;
        BARRIER();
    }

    words[0] = count;
    words[count] = count;
again:
    turns++;
    inner(turns);
    BARRIER();
    return words[0] + words[count] + turns;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 10; i++) {
        sum = sum * 31 + out_of_one(i);
        sum = sum * 31 + out_of_many(i);
        sum = sum * 31 + into_variable(i);
    }
    return bench_check(sum, 0x97eedac3);
}
