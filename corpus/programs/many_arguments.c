/* More arguments than registers, and structures passed by value: the caller's
   stack holds an outgoing area, which some ABIs push and pop around the call.  */

#include "runtime/runtime.h"

struct block {
    unsigned words[14];
};

struct pair {
    uint64_t first;
    uint64_t second;
};

NOIPA unsigned leaf(unsigned x)
{
    return x ^ x << 3;
}

NOIPA unsigned twelve(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f,
                      unsigned g, unsigned h, unsigned i, unsigned j, unsigned k, unsigned l)
{
    unsigned sum = leaf(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f);

    BARRIER();
    return sum + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l;
}

NOIPA unsigned odd_count(uint64_t a, unsigned b, uint64_t c, unsigned short d, uint64_t e,
                         unsigned char f, uint64_t g, unsigned h, uint64_t i, unsigned char j,
                         uint64_t k)
{
    unsigned sum = leaf((unsigned)(a + c + e + g + i + k));

    BARRIER();
    return sum + b + d + f + h + j;
}

NOIPA unsigned by_value(struct block block, struct pair pair)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 14; i++)
        sum = sum * 3 + block.words[i];
    sum += leaf((unsigned)(pair.first - pair.second));
    BARRIER();
    return sum;
}

NOIPA struct block returned(unsigned seed)
{
    struct block block;

    for (unsigned i = 0; i < 14; i++)
        block.words[i] = leaf(seed + i);
    BARRIER();
    return block;
}

NOIPA unsigned caller(unsigned x)
{
    struct pair pair = {x * 5, x};
    unsigned sum = twelve(x, 1, 2, 3, 4, 5, 6, 7, 8, x + 9, 10, 11);

    sum ^= odd_count(x, 2, 3, 4, 5, 6, 7, 8, x, 10, 11);
    sum += by_value(returned(x), pair);
    sum ^= twelve(sum, sum, x, x, 1, 1, 2, 2, 3, 3, 4, x);
    BARRIER();
    return sum;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 10; i++)
        sum = sum * 31 + caller(i);
    return bench_check(sum, 0x31c62cd9);
}
