/* Each frame holds the address of the one before it at SP, which SFrame does not
   need: prologues and alloca store it, and it moves as SP moves.  */

#include "runtime/path.h"

typedef unsigned Function(unsigned);

static struct bench_path path;

NOIPA unsigned leaf(unsigned x)
{
    ENTER(leaf);
    x = x * 7 + 2;
    LEAVE();
    return x;
}

NOIPA unsigned with_array(unsigned x)
{
    volatile unsigned words[50];

    ENTER(with_array);
    words[x % 50] = leaf(x);
    x = words[x % 50] + 1;
    LEAVE();
    return x;
}

/* A frame whose offsets do not fit a short displacement.  */
NOIPA unsigned with_large_array(unsigned x)
{
    volatile unsigned words[3000];

    ENTER(with_large_array);
    words[x % 3000] = with_array(x);
    x = words[x % 3000] + 2;
    LEAVE();
    return x;
}

/* SP moves, and the chain with it, once in each turn.  */
NOIPA unsigned with_alloca(unsigned x)
{
    unsigned sum = 0;

    ENTER(with_alloca);
    for (unsigned turn = 0; turn <= x % 4; turn++) {
        volatile unsigned *words = __builtin_alloca((turn + 1) * 16);
        words[turn] = leaf(x + turn);
        sum = sum * 3 + words[turn];
    }
    LEAVE();
    return sum;
}

/* Eight arguments: some of them are on the stack.  */
NOIPA unsigned many_arguments(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f,
                              unsigned g, Function *function)
{
    unsigned sum;

    ENTER(many_arguments);
    sum = function(a + b * 2 + c * 3 + d * 4);
    sum += e * 5 + f * 6 + g * 7;
    LEAVE();
    return sum;
}

NOIPA unsigned descend(unsigned x)
{
    static Function *const functions[] = {leaf, with_array, with_large_array, with_alloca};
    unsigned y;

    ENTER(descend);
    if (x < 3) {
        Function *function = functions[x];
        y = function(x);
    } else if (x % 2 == 0) {
        y = many_arguments(x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, functions[x % 4]);
        y += descend(x - 1);
    } else {
        y = descend(x - 3);
        y += functions[x % 4](x);
    }
    LEAVE();
    return y;
}

int main(void)
{
    unsigned sum = 0;

    bench_path = &path;
    ENTER(main);
    for (unsigned x = 0; x < 14; x++) {
        unsigned value = descend(x);
        sum = sum * 31 + value;
    }
    LEAVE();
    return bench_check(sum + (unsigned)path.depth, 0xffc77c10);
}
