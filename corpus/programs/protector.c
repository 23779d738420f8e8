/* Every function checks a canary before it returns.  The last one finds it
   overwritten, and the program ends there.  */

#include "runtime/runtime.h"

NOIPA unsigned leaf(unsigned x)
{
    BARRIER();
    return x * 2654435761u >> 27;
}

NOIPA unsigned with_array(unsigned x)
{
    volatile unsigned char bytes[100];
    unsigned sum;

    bytes[x % 100] = (unsigned char)x;
    sum = leaf(x);
    BARRIER();
    return sum + bytes[x % 100];
}

NOIPA unsigned with_alloca(unsigned x)
{
    volatile unsigned char *bytes = __builtin_alloca(x % 50 + 20);
    unsigned sum;

    bytes[x % 20] = (unsigned char)x;
    sum = with_array(x);
    BARRIER();
    return sum + bytes[x % 20];
}

NOIPA unsigned descend(unsigned levels, unsigned x)
{
    unsigned sum = levels == 0 ? with_alloca(x) : descend(levels - 1, x + 1);

    BARRIER();
    return sum + levels;
}

/* How far the canary is from the array of the next function.  */
#ifdef __clang__
enum { CANARY = 32 };
#else
enum { CANARY = 24 };
#endif

/* Writes behind its array, up to the canary, but not over what it returns to.  */
NOIPA void overflow(unsigned length)
{
    unsigned char bytes[24];
    volatile unsigned char *byte = bytes;

    for (unsigned i = 0; i < length; i++)
        byte[i] = 0x55;
    BARRIER();
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 14; i++)
        sum = sum * 31 + descend(i % 7, i);
    if (bench_check(sum, 0x9385a196) != 0)
        return 1;
    overflow(8);
    overflow(24);
    overflow(CANARY + 1);
    return 1;
}
