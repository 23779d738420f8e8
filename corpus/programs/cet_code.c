/* Functions as they are with control-flow protection: each that can be called
   or jumped to indirectly begins with a landing instruction, and return
   addresses may be signed.  */

#include "runtime/runtime.h"

typedef unsigned Function(unsigned);

NOIPA unsigned leaf(unsigned x)
{
    return x * 3 + 1;
}

/* Locals, but no call.  */
NOIPA unsigned leaf_with_locals(unsigned x)
{
    volatile unsigned words[40];

    for (unsigned i = 0; i < 40; i++)
        words[i] = x + i;
    return words[x % 40] + words[x % 7];
}

NOIPA unsigned framed(unsigned x)
{
    volatile unsigned words[40];

    words[x % 40] = leaf(x);
    BARRIER();
    return words[x % 40] + leaf_with_locals(x) * 3;
}

/* Larger than what an instruction can add to SP or save at once.  */
NOIPA unsigned large_frame(unsigned x)
{
    volatile unsigned words[2000];

    words[x % 2000] = framed(x);
    words[1999 - x % 1000] = leaf(x);
    BARRIER();
    return words[x % 2000] + words[1999 - x % 1000];
}

/* Half of the calls return without a frame.  */
NOIPA unsigned shrink_wrapped(unsigned x)
{
    unsigned y;

    if (x % 2 == 0)
        return x + 5;
    y = leaf(x);
    BARRIER();
    if (x % 3 == 0)
        return y;
    y += leaf(y) * x;
    BARRIER();
    return y;
}

NOIPA unsigned variable(unsigned x)
{
    unsigned sum = 0;

    for (unsigned turn = 1; turn <= x % 8; turn++) {
        volatile unsigned *words = __builtin_alloca(turn * 24);

        words[turn] = leaf(turn);
        sum = sum * 3 + words[turn];
    }
    BARRIER();
    return sum;
}

/* A jump through a table.  */
NOIPA unsigned through_table(unsigned x)
{
    unsigned y = leaf(x);

    BARRIER();
    switch (x % 8) {
    case 0:
        return y ^ 0x100;
    case 1:
        return leaf_with_locals(y);
    case 2:
        y += leaf(1);
        break;
    case 3:
        y *= leaf(2);
        break;
    case 4:
        y -= framed(3);
        break;
    case 5:
        y ^= leaf(4);
        break;
    case 6:
        y |= leaf(5);
        break;
    default:
        y += 77;
        break;
    }
    BARRIER();
    return y + leaf(y);
}

/* A jump to a label whose address is in a variable.  */
NOIPA unsigned through_labels(unsigned x)
{
    static const void *const labels[] = {&&add, &&multiply, &&call, &&out};
    unsigned y = x, turns = 0;

next:
    goto *labels[(y + turns) % 4];
add:
    y += 7;
    if (++turns < 20)
        goto next;
multiply:
    y *= 3;
    if (++turns < 20)
        goto next;
call:
    y += leaf(y);
    if (++turns < 20)
        goto next;
out:
    BARRIER();
    return y;
}

static Function *const volatile functions[] = {leaf, framed, shrink_wrapped, variable,
                                               through_table, through_labels, large_frame};

NOIPA unsigned through_pointers(unsigned x)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++) {
        sum = sum * 31 + functions[i](x + i);
        BARRIER();
    }
    return sum;
}

/* Ends in a jump through a pointer.  */
NOIPA unsigned tail_pointer(unsigned x)
{
    unsigned y = leaf(x);

    BARRIER();
    return functions[x % 7](y % 64);
}

NOIPA unsigned descend(unsigned levels, unsigned x)
{
    unsigned below = levels == 0 ? shrink_wrapped(x) : descend(levels - 1, x * 3 + 1);

    BARRIER();
    return below + levels;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 16; i++) {
        sum = sum * 31 + through_pointers(i);
        sum = sum * 31 + tail_pointer(i);
        sum = sum * 31 + descend(i, i);
    }
    return bench_check(sum, 0x8a5ad1c4);
}
