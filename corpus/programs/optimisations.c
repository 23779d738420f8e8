/* Frames of several shapes, at levels of optimisation that other programs are
   not compiled with.  */

#include "runtime/runtime.h"

static unsigned volatile state = 7;

NOIPA unsigned leaf(unsigned x)
{
    BARRIER();
    return x * 2654435761u >> 27;
}

/* Leaves early before it needs a frame, or in the middle of a loop.  */
NOIPA unsigned early(unsigned x)
{
    unsigned sum = 0;

    if (x % 4 == 0)
        return x;
    for (unsigned i = 0; i < x; i++) {
        sum += leaf(i);
        BARRIER();
        if (sum > 60)
            return sum;
    }
    return sum + state;
}

/* A loop that is unrolled or not, with a call in it.  */
NOIPA unsigned loops(unsigned x)
{
    volatile unsigned table[8];
    unsigned sum = 0;

    for (unsigned i = 0; i < 8; i++)
        table[i] = x + i;
    for (unsigned i = 0; i < 4; i++) {
        sum = sum * 3 + leaf(table[(x + i) % 8]);
        BARRIER();
    }
    return sum;
}

/* Inlined or not.  */
static unsigned small(unsigned x)
{
    unsigned value = leaf(x) + 1;

    BARRIER();
    return value;
}

NOIPA unsigned inlines(unsigned x)
{
    unsigned sum = small(x);

    sum += small(sum);
    sum += small(sum);
    return sum;
}

NOIPA unsigned selects(unsigned x)
{
    switch (x % 6) {
    case 0:
        return early(x);
    case 1:
        return loops(x) + 1;
    case 2:
        state = state + 1;
        return leaf(x);
    case 3:
        return inlines(x) * 2;
    case 4:
        return x;
    default:
        x = early(x % 8);
        return x + loops(x);
    }
}

NOIPA unsigned with_alloca(unsigned x)
{
    volatile unsigned char *bytes = __builtin_alloca(x % 60 + 16);
    unsigned sum;

    bytes[x % 16] = (unsigned char)x;
    sum = selects(x);
    BARRIER();
    return sum + bytes[x % 16];
}

NOIPA unsigned descend(unsigned levels, unsigned x)
{
    unsigned sum = with_alloca(x);

    BARRIER();
    if (levels != 0)
        sum += descend(levels - 1, x + 5);
    BARRIER();
    return sum;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 12; i++)
        sum = sum * 31 + descend(i % 5, i);
    return bench_check(sum, 0x1b5bddc3);
}
