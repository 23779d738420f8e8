/* Register save areas without gaps: saved registers, and the backchain where
   there is one, are at the top of each frame (s390x).  */

#include "runtime/runtime.h"

NOIPA unsigned leaf(unsigned x)
{
    volatile unsigned locals[4];

    locals[x % 4] = x * 5;
    return locals[x % 4] + 1;
}

NOIPA unsigned saves_few(unsigned x)
{
    unsigned sum = leaf(x);

    BARRIER();
    return sum ^ x;
}

/* More values live across calls than a few registers hold.  */
NOIPA unsigned saves_many(unsigned a, unsigned b, unsigned c, unsigned d)
{
    unsigned e = a * b, f = b * c, g = c * d, h = d * a, sum;

    OPAQUE(e);
    OPAQUE(f);
    OPAQUE(g);
    OPAQUE(h);
    sum = saves_few(a);
    BARRIER();
    sum += leaf(b) + e + f + g + h;
    BARRIER();
    return sum + a + b + c + d;
}

NOIPA unsigned with_array(unsigned x)
{
    volatile unsigned char bytes[700];

    bytes[x % 700] = (unsigned char)saves_many(x, x + 1, x + 2, x + 3);
    BARRIER();
    return bytes[x % 700] * 3u;
}

NOIPA unsigned with_alloca(unsigned x)
{
    volatile unsigned char *bytes = __builtin_alloca(x % 90 + 8);

    bytes[x % 8] = (unsigned char)with_array(x);
    BARRIER();
    return bytes[x % 8] + 1u;
}

NOIPA unsigned many_arguments(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f,
                              unsigned g)
{
    unsigned sum = with_alloca(a + g);

    BARRIER();
    return sum + a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7;
}

NOIPA unsigned descend(unsigned levels)
{
    unsigned sum = many_arguments(levels, 1, 2, 3, 4, 5, 6);

    BARRIER();
    if (levels != 0)
        sum += descend(levels - 1);
    BARRIER();
    return sum;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 7; i++)
        sum = sum * 31 + descend(i % 5);
    return bench_check(sum, 0xf0a10eca);
}
