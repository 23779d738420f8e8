/* Hot and cold parts of a function, which the compiler puts into different
   sections: the cold part has an FDE of its own, and is entered by a jump, with
   whatever frame the hot part has by then.  */

#include "runtime/runtime.h"

#define COLD __attribute__((noipa, cold))

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static unsigned reports;

NOIPA unsigned leaf(unsigned x)
{
    return x * 5 + 2;
}

COLD unsigned report(unsigned x)
{
    reports++;
    return x ^ 0x5a;
}

/* The hot part has no frame, the cold part makes one.  */
NOIPA unsigned frame_in_cold(unsigned x)
{
    if (UNLIKELY(x % 8 == 3)) {
        unsigned y = report(x);

        BARRIER();
        return y + x;
    }
    return x + 1;
}

/* The cold part has the hot part's frame, and returns by itself.  */
NOIPA unsigned returns_in_cold(unsigned x)
{
    unsigned y = leaf(x), z = leaf(y);

    BARRIER();
    if (UNLIKELY(z % 8 == 4)) {
        z += report(y);
        BARRIER();
        return z * 3 + report(x);
    }
    return y + z + leaf(x);
}

/* The cold part goes back into the loop.  */
NOIPA unsigned back_from_cold(unsigned x)
{
    unsigned sum = x;

    for (unsigned i = 0; i < x; i++) {
        sum = sum * 3 + leaf(i);
        if (UNLIKELY(sum % 16 == 7)) {
            sum += report(sum);
            sum ^= report(i);
            sum = report(sum) * 7;
        }
    }
    BARRIER();
    return sum;
}

/* Two ways into the cold part: with and without a frame.  */
NOIPA unsigned two_ways_in(unsigned x, unsigned y)
{
    unsigned sum;

    if (UNLIKELY(x % 8 == 5)) {
        sum = report(y);
        BARRIER();
        return sum + 1;
    }
    if (y % 2 == 0)
        return x;
    sum = leaf(x + y);
    BARRIER();
    if (UNLIKELY(x % 8 == 6)) {
        sum += report(sum);
        BARRIER();
        return sum + report(x) * y;
    }
    return sum + leaf(y);
}

/* Jumps into a function of its own, from the cold part.  */
NOIPA unsigned tail_in_cold(unsigned x)
{
    unsigned y = leaf(x);

    BARRIER();
    if (UNLIKELY(y % 8 == 1))
        return report(report(y) + x);
    return leaf(y);
}

/* SP has moved by a size known only at run time.  */
NOIPA unsigned alloca_and_cold(unsigned x)
{
    volatile unsigned *words = __builtin_alloca(x * 8 + 8);

    words[x] = leaf(x);
    BARRIER();
    if (UNLIKELY(x % 8 == 2)) {
        words[0] = report(words[x]);
        words[0] += report(x);
        BARRIER();
        return words[0];
    }
    return words[x] + leaf(x + 1);
}

/* More alignment than the stack has.  */
NOIPA unsigned aligned_and_cold(unsigned x)
{
    _Alignas(64) volatile unsigned words[16];

    words[0] = leaf(x);
    BARRIER();
    if (UNLIKELY(x % 8 == 4)) {
        words[1] = report(words[0]);
        words[1] += report(x);
        BARRIER();
        return words[1];
    }
    return words[0] + leaf(x + 1);
}

/* The same with a frame that has grown.  */
NOIPA unsigned aligned_alloca_and_cold(unsigned x)
{
    _Alignas(64) volatile unsigned words[16];
    volatile unsigned *more = __builtin_alloca(x * 8 + 8);

    words[0] = more[x] = leaf(x);
    BARRIER();
    if (UNLIKELY(x % 8 == 7)) {
        words[1] = report(words[0]);
        more[0] = words[1] + report(more[x]);
        BARRIER();
        return more[0];
    }
    return words[0] + leaf(more[x]);
}

/* Arguments on the stack of both parts' callees.  */
NOIPA unsigned many(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f,
                    unsigned g, unsigned h, unsigned i, unsigned j)
{
    return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9 + j * 10;
}

NOIPA unsigned many_in_cold(unsigned x)
{
    unsigned y = leaf(x);

    BARRIER();
    if (UNLIKELY(y % 8 == 6)) {
        y += many(1, 2, 3, 4, 5, 6, x, y, report(x), 10);
        BARRIER();
        return y + report(x);
    }
    return y + leaf(y);
}

/* Never returns: its call is the last instruction of a cold part.  */
__attribute__((noipa, cold, noreturn)) void finish(unsigned sum)
{
    unsigned result = report(sum);

    BARRIER();
    bench_exit(bench_check(result + reports, 0xdffc3925));
}

NOIPA unsigned ends_in_cold(unsigned x, unsigned sum)
{
    unsigned y = leaf(x);

    BARRIER();
    if (UNLIKELY(x == 39))
        finish(sum + y);
    return y + leaf(y);
}

int main(void)
{
    unsigned sum = 0;

    /* Ended by finish.  */
    for (unsigned i = 0;; i++) {
        sum = sum * 31 + frame_in_cold(i);
        sum = sum * 31 + returns_in_cold(i);
        sum = sum * 31 + back_from_cold(i);
        sum = sum * 31 + two_ways_in(i, i / 8);
        sum = sum * 31 + tail_in_cold(i);
        sum = sum * 31 + alloca_and_cold(i);
        sum = sum * 31 + aligned_and_cold(i);
        sum = sum * 31 + aligned_alloca_and_cold(i);
        sum = sum * 31 + many_in_cold(i);
        sum = sum * 31 + ends_in_cold(i, sum);
    }
}
