/* Frames around the sizes at which the offsets in their rows need another byte.
   What an ABI adds to the locals is not known here: each border is approached in
   steps of the stack's alignment, from below all that an ABI may add.  */

#include "runtime/runtime.h"

NOIPA unsigned leaf(volatile unsigned char *bytes, unsigned last)
{
    return bytes[0] * 3u + bytes[last];
}

/* FRAME calls another function, LEAF does not.  */
#define FRAME(size)                                                            \
    NOIPA unsigned frame_##size(unsigned x)                                    \
    {                                                                          \
        volatile unsigned char bytes[size];                                    \
        unsigned sum;                                                          \
                                                                               \
        bytes[0] = (unsigned char)x;                                           \
        bytes[(size)-1] = (unsigned char)(x >> 1);                             \
        sum = leaf(bytes, (size)-1);                                           \
        BARRIER();                                                             \
        return sum + bytes[0];                                                 \
    }
#define LEAF(size)                                                             \
    NOIPA unsigned leaf_##size(unsigned x)                                     \
    {                                                                          \
        volatile unsigned char bytes[size];                                    \
                                                                               \
        bytes[0] = (unsigned char)x;                                           \
        bytes[(size)-1] = (unsigned char)(x >> 1);                             \
        return bytes[x % 2 * ((size)-1)] + bytes[0];                           \
    }

#if defined(__s390x__)
/* Offsets of the CFA are stored as (offset - 160) / 8, and 160 bytes of each
   frame are the callee's.  */
#define SIZES(F)                                                               \
    F(8) F(48) F(64) F(80) F(96)                                               \
    F(832) F(848) F(864) F(976) F(992) F(1008) F(1016) F(1024)                 \
    F(32560) F(32576) F(32592) F(32752) F(65376) F(65536)                      \
    F(261952) F(261960) F(261968) F(261976) F(261984) F(262144) F(1048400) F(1048576)
#else
#define SIZES(F)                                                               \
    F(64) F(72) F(80) F(88) F(96) F(104) F(112) F(120) F(128)                  \
    F(192) F(208) F(224) F(240) F(256)                                         \
    F(32704) F(32712) F(32720) F(32728) F(32736) F(32744) F(32752) F(32760)    \
    F(65472) F(65488) F(65504) F(65520) F(65536)                               \
    F(1048512) F(1048528) F(1048544) F(1048560)
#endif

SIZES(FRAME)
SIZES(LEAF)

int main(void)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < 4; i++) {
#define CALL(size)                                                             \
    wrong += frame_##size(i) != i * 4 + i / 2;                                 \
    wrong += leaf_##size(i) != (i % 2 ? i / 2 : i) + i;
        SIZES(CALL)
    }
    return bench_check(wrong, 0);
}
