/* Indirect calls, jumps and returns of every kind, for compilers that make them
   go through thunks, against speculation: by pointer, at the end of a function,
   to labels, from a frame that has moved, and in recursion.  */

#include "runtime/runtime.h"

typedef unsigned Step(unsigned, unsigned);

NOIPA unsigned leaf(unsigned a, unsigned b)
{
    return a * 5 + b;
}

NOIPA unsigned twice(unsigned a, unsigned b)
{
    a = leaf(a, b);
    a += leaf(b, a);
    BARRIER();
    return a;
}

static Step *const volatile steps[] = {leaf, twice};

/* The jump is the last thing it does.  */
NOIPA unsigned by_jump(unsigned a, unsigned b)
{
    return steps[a % 2](a ^ b, b);
}

/* The same from a frame that is taken down first.  */
NOIPA unsigned by_jump_from_frame(unsigned a, unsigned b)
{
    unsigned x = steps[b % 2](a, b);

    BARRIER();
    return steps[x % 2](x, a);
}

NOIPA unsigned by_call(Step *step, unsigned a, unsigned b)
{
    a = step(a, b) * 3;
    BARRIER();
    return a;
}

/* SP is away from where it was when the function began.  */
NOIPA unsigned with_alloca(Step *step, unsigned words, unsigned a)
{
    volatile unsigned *memory;

    memory = __builtin_alloca(words * sizeof *memory);
    memory[words - 1] = a;
    a = step(memory[words - 1], words);
    BARRIER();
    return a;
}

/* Jumps to labels.  */
NOIPA unsigned to_labels(unsigned a, unsigned count)
{
    static const void *const labels[] = {&&add, &&multiply, &&call, &&turn};
    unsigned at = 0;

turn:
    if (at == count)
        goto done;
    goto *labels[(a + at++) % 3];
add:
    a += 7;
    goto *labels[3];
multiply:
    a = a * 9 + 1;
    goto *labels[3];
call:
    a = steps[at % 2](a, at);
    goto *labels[3];
done:
    BARRIER();
    return a;
}

NOIPA unsigned descend(Step *step, unsigned levels, unsigned a)
{
    if (levels == 0)
        a = step(a, 3);
    else
        a = descend(step, levels - 1, a * 3 + levels);
    BARRIER();
    return a ^ levels;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 6; i++) {
        sum = sum * 31 + by_jump(i, sum);
        sum = sum * 31 + by_jump_from_frame(i, sum);
        sum = sum * 31 + by_call(steps[i % 2], i, sum);
        sum = sum * 31 + by_call(by_jump, i, sum);
        sum = sum * 31 + with_alloca(steps[i % 2], 3 + i * 5, sum);
        sum = sum * 31 + to_labels(sum, 3 + i);
        sum = sum * 31 + descend(by_jump_from_frame, i, sum);
    }
    return bench_check(sum, 0x4db9e592);
}
