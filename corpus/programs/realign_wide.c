/* Alignment of 32, 64 and 4096 bytes, together with all else that moves the
   stack: sizes known only at run time, arguments on the stack, variable
   arguments, early exits, calls that end functions, enclosing frames.  */

#include <stdarg.h>

#include "runtime/runtime.h"

/* The register that leads to the arguments is any function's to overwrite:
   callers that read it again must have loaded it again.  */
NOIPA unsigned leaf(const volatile unsigned *words, unsigned alignment)
{
#ifdef __x86_64__
    __asm__ volatile ("xorl %%r10d, %%r10d" ::: "r10");
#endif
    return words[0] * 3 + (uintptr_t)words % alignment;
}

/* Aligned, and calls nothing.  */
NOIPA unsigned aligned_leaf(unsigned x)
{
    _Alignas(64) volatile unsigned words[16];

    for (unsigned i = 0; i < 16; i++)
        words[i] = x + i;
    return words[x % 16] + words[x % 5] + (uintptr_t)words % 64;
}

NOIPA unsigned by_32(unsigned x)
{
    _Alignas(32) volatile unsigned words[8];
    unsigned sum;

    words[0] = x;
    sum = leaf(words, 32);
    BARRIER();
    sum += aligned_leaf(sum);
    return sum + words[0];
}

NOIPA unsigned by_4096(unsigned x)
{
    _Alignas(4096) volatile unsigned words[1024];
    unsigned sum;

    words[0] = x;
    words[1023] = by_32(x);
    sum = leaf(words, 4096);
    BARRIER();
    return sum + words[1023];
}

/* Registers of the caller's are saved below the aligned locals.  */
NOIPA unsigned aligned_and_saving(unsigned x, unsigned y)
{
    _Alignas(64) volatile unsigned words[16];
    unsigned a = leaf(&x, 4), b = leaf(&y, 4), c = a + x, d = b + y;

    words[0] = a;
    a += leaf(words, 64);
    words[0] = b;
    b += leaf(words, 64);
    words[0] = c;
    c += leaf(words, 64);
    words[0] = d;
    d += leaf(words, 64);
    BARRIER();
    return a + b * 3 + c * 5 + d * 7;
}

/* The frame grows between the calls.  */
NOIPA unsigned aligned_and_growing(unsigned turns)
{
    _Alignas(64) volatile unsigned words[16];
    unsigned sum = turns;

    for (unsigned turn = 1; turn <= turns; turn++) {
        volatile unsigned *more = __builtin_alloca(turn * 24);

        words[0] = turn;
        more[turn] = leaf(words, 64);
        sum = sum * 5 + leaf(more, 4) * 0 + more[turn];
    }
    BARRIER();
    return sum;
}

/* The same with registers of the caller's saved.  */
NOIPA unsigned growing_and_saving(unsigned turns, unsigned a, unsigned b, unsigned c)
{
    _Alignas(4096) volatile unsigned words[16];

    for (unsigned turn = 1; turn <= turns; turn++) {
        volatile unsigned more[turn * 3];

        words[0] = turn;
        more[turn] = leaf(words, 4096);
        a = a * 3 + by_32(b);
        b = b * 5 + leaf(words, 64) + more[turn];
        c = c * 7 + a;
    }
    BARRIER();
    return a ^ b ^ c;
}

/* Arguments on the stack are found by a register that the alignment leaves
   alone.  */
NOIPA unsigned aligned_and_many(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e,
                                unsigned f, unsigned g, unsigned h, unsigned i, unsigned j,
                                unsigned k, unsigned l)
{
    _Alignas(64) volatile unsigned words[16];
    unsigned sum;

    words[0] = a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6;
    sum = leaf(words, 64);
    BARRIER();
    return sum + g * 7 + h * 8 + i * 9 + j * 10 + k * 11 + l * 12;
}

NOIPA unsigned aligned_variadic(unsigned count, ...)
{
    _Alignas(32) volatile unsigned words[16];
    va_list arguments;
    unsigned sum = 0;

    va_start(arguments, count);
    for (unsigned i = 0; i < count; i++) {
        words[0] = va_arg(arguments, unsigned);
        sum = sum * 3 + leaf(words, 32);
    }
    va_end(arguments);
    BARRIER();
    return sum;
}

/* Half of the calls return before the stack is aligned.  */
NOIPA unsigned aligned_late(unsigned x)
{
    if (x % 2 == 0)
        return x + 1;

    _Alignas(64) volatile unsigned words[16];
    unsigned sum;

    words[0] = x;
    sum = leaf(words, 64);
    BARRIER();
    return sum + words[0];
}

/* Ends in a call, which may be a jump once the aligned frame is gone.  */
NOIPA unsigned aligned_then_tail(unsigned x)
{
    unsigned sum;
    {
        _Alignas(64) volatile unsigned words[16];

        words[0] = x;
        sum = leaf(words, 64);
        BARRIER();
    }
    return aligned_late(sum);
}

/* Uses the frame that encloses it, and aligns its own.  */
NOIPA unsigned enclosing(unsigned x, unsigned y)
{
    unsigned shared = x;

    NOIPA unsigned nested(unsigned turns)
    {
        _Alignas(64) volatile unsigned words[16];
        volatile unsigned *more = __builtin_alloca(turns * 8 + 8);

        words[0] = shared + turns;
        more[turns] = leaf(words, 64);
        shared += more[turns];
        BARRIER();
        return words[0];
    }

    unsigned sum = nested(y);

    sum += nested(y + 2);
    BARRIER();
    return sum + shared;
}

/* Frames of 4096 bytes and more between aligned ones.  */
NOIPA unsigned descend(unsigned levels, unsigned x)
{
    _Alignas(4096) volatile unsigned words[4];
    unsigned sum;

    words[0] = x;
    sum = levels == 0 ? leaf(words, 4096) : descend(levels - 1, x + 1);
    BARRIER();
    return sum * 3 + words[0];
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 6; i++) {
        sum = sum * 31 + by_4096(i);
        sum = sum * 31 + aligned_and_saving(i, sum);
        sum = sum * 31 + aligned_and_growing(i);
        sum = sum * 31 + growing_and_saving(i, 1, 2, 3);
        sum = sum * 31 + aligned_and_many(i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, sum);
        sum = sum * 31 + aligned_variadic(i, 1, 2, 3, 4, 5, 6);
        sum = sum * 31 + aligned_variadic(9, 1, 2, 3, 4, 5, 6, i, 8, 9);
        sum = sum * 31 + aligned_then_tail(i);
        sum = sum * 31 + enclosing(i, i);
        sum = sum * 31 + descend(i, i);
    }
    return bench_check(sum, 0x77c269fa);
}
