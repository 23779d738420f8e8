/* Functions whose size needs one, two and four bytes in the start addresses of
   their rows.  The filler is jumped over.  */

#include "runtime/runtime.h"

#if defined(__x86_64__)
#define SKIP(bytes) __asm__ volatile("jmp 1f\n\t.skip " #bytes ", 0x90\n1:" ::: "memory")
#elif defined(__aarch64__)
#define SKIP(bytes) __asm__ volatile("b 1f\n\t.skip " #bytes "\n1:" ::: "memory")
#elif defined(__s390x__)
#define SKIP(bytes) __asm__ volatile("jg 1f\n\t.skip " #bytes ", 7\n1:" ::: "memory")
#endif

NOIPA unsigned leaf(unsigned x)
{
    return x * x + 7;
}

/* Arguments on the stack move the CFA of the caller around the call.  */
NOIPA unsigned many(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f,
                    unsigned g, unsigned h, unsigned i, unsigned j)
{
    unsigned sum = leaf(a + b + c + d);

    BARRIER();
    return sum + e + f + g + h + i + j;
}

#define LARGE(name, bytes)                                                     \
    NOIPA unsigned name(unsigned x)                                            \
    {                                                                          \
        unsigned sum = leaf(x);                                                \
                                                                               \
        sum += many(x, 1, 2, 3, 4, 5, 6, 7, 8, 9);                             \
        SKIP(bytes);                                                           \
        sum ^= leaf(sum);                                                      \
        BARRIER();                                                             \
        sum += many(sum, 9, 8, 7, 6, 5, 4, 3, 2, x);                           \
        BARRIER();                                                             \
        return sum;                                                            \
    }

LARGE(under_256_bytes, 4)
LARGE(over_256_bytes, 300)
LARGE(over_64_kilobytes, 65600)

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 20; i++) {
        sum = sum * 31 + under_256_bytes(i);
        sum = sum * 31 + over_256_bytes(i);
        sum = sum * 31 + over_64_kilobytes(i);
    }
    return bench_check(sum, 0x0f6b3b6e);
}
