/* Frames of several pages, whose prologues touch each page on the way.  */

#include "runtime/runtime.h"

NOIPA unsigned leaf(volatile unsigned char *bytes, unsigned last)
{
    return bytes[0] * 3u + bytes[last];
}

#define FRAME(name, size, next)                                                \
    NOIPA unsigned name(unsigned x)                                            \
    {                                                                          \
        volatile unsigned char bytes[size];                                    \
        unsigned sum;                                                          \
                                                                               \
        bytes[0] = (unsigned char)x;                                           \
        bytes[(size)-1] = (unsigned char)(x >> 1);                             \
        sum = leaf(bytes, (size)-1);                                           \
        BARRIER();                                                             \
        sum += next;                                                           \
        BARRIER();                                                             \
        return sum + bytes[0];                                                 \
    }

/* Of a size that is known when it runs: a loop probes.  */
NOIPA unsigned with_alloca(unsigned x, unsigned size)
{
    volatile unsigned char *bytes = __builtin_alloca(size);
    unsigned sum;

    bytes[0] = (unsigned char)x;
    bytes[size - 1] = (unsigned char)(x >> 1);
    sum = leaf(bytes, size - 1);
    BARRIER();
    return sum + bytes[0];
}

/* Unrolled probes, a loop of them, and what is left behind whole pages.  */
FRAME(frame_small, 300, with_alloca(x, 100 + x * 1500))
FRAME(frame_9k, 9000, frame_small(x + 1))
FRAME(frame_16k, 16384, frame_9k(x + 2))
FRAME(frame_150k, 150000, frame_16k(x + 3))
FRAME(frame_400k, 400000, frame_150k(x + 4))

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 8; i++)
        sum = sum * 31 + frame_400k(i);
    return bench_check(sum, 0x9b31fb68);
}
