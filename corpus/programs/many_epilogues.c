/* Functions with many returns: each takes down what is there of the frame by
   then, and behind each the rows go back to what they were.  */

#include "runtime/runtime.h"

NOIPA unsigned leaf(unsigned x)
{
    return x * 9 + 5;
}

NOIPA unsigned other(unsigned a, unsigned b)
{
    return a ^ b * 3;
}

/* Each return has other registers to restore.  */
NOIPA unsigned by_stages(unsigned a, unsigned b, unsigned c, unsigned d, unsigned x)
{
    unsigned p, q, r, s;

    if (x == 0)
        return a;
    p = leaf(a);
    BARRIER();
    if (x == 1)
        return p;
    q = leaf(b) + p;
    BARRIER();
    if (x == 2)
        return q;
    r = leaf(c) + q * p;
    BARRIER();
    if (x == 3)
        return r;
    s = leaf(d) + r * q;
    BARRIER();
    if (x == 4)
        return s;
    return leaf(x) + p + q * 3 + r * 5 + s * 7;
}

/* Returns out of loops, with and without a call on the way.  */
NOIPA unsigned out_of_loops(const unsigned *words, unsigned count, unsigned wanted)
{
    for (unsigned i = 0; i < count; i++)
        if (words[i] == wanted)
            return i;
    for (unsigned i = 0; i < count; i++) {
        unsigned x = leaf(words[i]);

        BARRIER();
        if (x == wanted)
            return x + i;
        for (unsigned j = 0; j < i; j++) {
            if (other(words[j], x) == wanted)
                return j * 3 + x;
            BARRIER();
        }
    }
    return wanted;
}

/* Some ends are jumps to other functions.  */
NOIPA unsigned some_tails(unsigned a, unsigned b, unsigned x)
{
    unsigned y;

    if (x == 0)
        return leaf(a);
    if (x == 1)
        return other(b, a);
    y = leaf(a);
    BARRIER();
    if (x == 2)
        return leaf(y);
    if (x == 3)
        return y;
    y += other(y, b);
    BARRIER();
    if (x == 4)
        return other(y, b);
    if (x == 5)
        return by_stages(y, b, a, x, y % 6);
    return y + leaf(b);
}

/* A frame for one case of the switch, none for others.  */
NOIPA unsigned cases(unsigned x, unsigned a, unsigned b)
{
    unsigned y;

    switch (x) {
    case 0:
        return a;
    case 1:
        return b + 1;
    case 2:
        y = leaf(a);
        BARRIER();
        return y + a;
    case 3:
        y = leaf(a) + leaf(b);
        BARRIER();
        return y * a + b;
    case 4:
        return other(a, b);
    case 5: {
        volatile unsigned words[24];

        words[b % 24] = leaf(a);
        BARRIER();
        return words[b % 24];
    }
    case 6:
        y = some_tails(a, b, b % 7);
        BARRIER();
        if (y % 2 == 0)
            return y;
        y += leaf(y);
        BARRIER();
        return y;
    default:
        return x * 2;
    }
}

/* Frames whose size is known only at run time, left early.  */
NOIPA unsigned variable_and_early(unsigned count, unsigned x)
{
    unsigned sum = 0;

    if (count == 0)
        return x;

    volatile unsigned words[count];

    for (unsigned i = 0; i < count; i++) {
        words[i] = leaf(x + i);
        if (words[i] % 8 == 1)
            return words[i];
        sum += words[i];
    }
    BARRIER();
    if (sum % 2 == 0)
        return leaf(sum);
    return sum;
}

int main(void)
{
    static const unsigned words[] = {3, 1, 4, 1, 5, 9, 2, 6};
    unsigned sum = 0;

    for (unsigned i = 0; i < 24; i++) {
        sum = sum * 31 + by_stages(i, sum, 3, 4, i % 6);
        sum = sum * 31 + out_of_loops(words, 8, i);
        sum = sum * 31 + out_of_loops(words, 8, i * 9 + 5);
        sum = sum * 31 + out_of_loops(words, 8, other(words[i % 4], leaf(words[4 + i % 4])));
        for (unsigned x = 0; x < 8; x++) {
            sum = sum * 31 + some_tails(i, sum, x);
            sum = sum * 31 + cases(x, i, sum);
        }
        sum = sum * 31 + variable_and_early(i % 7, sum);
    }
    return bench_check(sum, 0x81b180ba);
}
