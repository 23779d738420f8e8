/* The compiler's own setjmp and longjmp, which keep FP, SP and the place only:
   out of one frame or several, again and again into a static buffer; and
   functions that return early, by a conditional return where the ABI has one,
   before and after such a jump.  */

#include "runtime/path.h"

static struct bench_path path;
static void *buffer[5];
static volatile unsigned jumps;

NOIPA unsigned landed(unsigned x)
{
    ENTER(landed);
    x = x * 3 + 1;
    LEAVE();
    return x;
}

/* Returns at once, or not, for one comparison after the other.  */
NOIPA long early(long a, long b, long *count)
{
    *count += 1;
    if (a == 0)
        return b;
    *count += 2;
    if (b > 12)
        return a;
    *count += 4;
    if (a == b)
        return 2;
    *count += 8;
    return a ^ b;
}

NOIPA __attribute__((noreturn)) void jump(unsigned x)
{
    bench_path = NULL;
    jumps = jumps + x % 3;
    __builtin_longjmp(buffer, 1);
}

NOIPA unsigned descend(unsigned levels, unsigned x)
{
    long count = 0;

    ENTER(descend);
    x += (unsigned)early((long)levels, (long)(x % 16), &count) + (unsigned)count;
    if (levels > 0)
        x = descend(levels - 1, x + 1);
    else if (x % 4 != 1)
        jump(x);
    LEAVE();
    return x;
}

NOIPA unsigned attempt(unsigned levels, unsigned x)
{
    volatile unsigned kept = x;
    volatile uint64_t depth;

    ENTER(attempt);
    depth = path.depth;
    if (__builtin_setjmp(buffer) == 0) {
        x = descend(levels, x);
        BARRIER();
    } else {
        long count = 0;

        path.depth = depth;
        bench_path = &path;
        x = landed(kept) + jumps;
        x += (unsigned)early((long)(levels % 3), (long)(x % 16), &count) + (unsigned)count;
    }
    LEAVE();
    return x + levels;
}

int main(void)
{
    unsigned sum = 0;

    bench_path = &path;
    ENTER(main);
    for (unsigned i = 0; i < 40; i++)
        sum = sum * 31 + attempt(i % 7, sum);
    LEAVE();
    return bench_check(sum, 0x9156340c);
}
