/* Jumps, by the setjmp and longjmp of long_jump.S, into functions that nobody
   has ever called: they are entered by jumps only, as the last thing that
   another function does. What lies before them in the code is on the stack too.  */

#include "runtime/path.h"

typedef struct {
    uint64_t words[22];
} Buffer;

__attribute__((returns_twice)) unsigned bench_setjmp(Buffer *buffer);
__attribute__((noreturn)) void bench_longjmp(const Buffer *buffer, unsigned value);
__attribute__((noreturn)) void jump_frameless(const Buffer *buffer, unsigned value);
unsigned saved_registers(Buffer *buffer);

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 3;
}

NOIPA unsigned jump_up(const Buffer *buffer, unsigned levels, unsigned x)
{
    if (levels == 0) {
        if (x % 4 == 0)
            return x;
        if (x % 2)
            bench_longjmp(buffer, x | 1);
        jump_frameless(buffer, x | 1);
    }
    x = jump_up(buffer, levels - 1, leaf(x));
    BARRIER();
    return x + 1;
}

/* Is called, and has its code right before that of WORK.  */
NOIPA unsigned before(unsigned levels, unsigned x);

/* Nobody calls it: ENTER jumps to it.  */
NOIPA unsigned work(unsigned levels, unsigned x)
{
    Buffer buffer;
    volatile unsigned turns = 0;
    volatile unsigned depth = levels % 4;
    volatile unsigned sum = x;
    unsigned value = bench_setjmp(&buffer);

    turns = turns + 1;
    if (turns < 3)
        sum = jump_up(&buffer, depth, value + sum);
    sum = leaf(sum ^ value) + turns;
    BARRIER();
    return sum;
}

NOIPA unsigned enter(unsigned levels, unsigned x)
{
    return work(levels + 1, x ^ 5);
}

NOIPA unsigned before(unsigned levels, unsigned x)
{
    if (levels == 0)
        x = enter(levels, x);
    else
        x = before(levels - 1, x) + enter(levels, x);
    BARRIER();
    return x + levels;
}

int main(void)
{
    Buffer buffer;
    unsigned sum = 0;

    for (unsigned i = 0; i < 6; i++) {
        sum = sum * 31 + enter(i, sum);
        sum = sum * 31 + before(i % 4, sum);
    }
    sum += saved_registers(&buffer);
    return bench_check(sum, 0x645710d1);
}
