/* Frames whose sizes need one, two and four bytes in the recovery rules.  */

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

FRAME(frame_64, 64, x)
FRAME(frame_200, 200, frame_64(x + 1))
FRAME(frame_4k, 4096, frame_200(x + 2))
FRAME(frame_40k, 40000, frame_4k(x + 3))
FRAME(frame_600k, 600000, frame_40k(x + 4))
FRAME(frame_2m, 2000000, frame_600k(x + 5))

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 20; i++) {
        sum = sum * 31 + frame_2m(i);
        sum += frame_4k(i);
    }
    return bench_check(sum, 0x897c04c4);
}
