/* Code that is patched while it runs, as kernels do: a space becomes a call of a
   tracer, a jump over a branch becomes a space, a call gets another callee, and
   all of it is undone again.  The rows are right for both forms.  */

#include "runtime/runtime.h"

enum {
#if defined(__x86_64__)
    SITE = 5
#elif defined(__aarch64__)
    SITE = 4
#elif defined(__s390x__)
    SITE = 6
#endif
};

/* It has three places to patch, each of SITE bytes.  */
unsigned patched(unsigned x);
#pragma GCC visibility push(hidden)
extern unsigned char patched_trace[], patched_branch[], patched_call[], patched_skip[];
#pragma GCC visibility pop

static unsigned traces;

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 3;
}

/* What a trace calls.  */
NOIPA void trace(void)
{
    traces++;
    traces += leaf(traces) & 1;
    BARRIER();
}

/* What the call leads to, at first.  */
NOIPA unsigned first(unsigned x)
{
    unsigned y = leaf(x);

    BARRIER();
    return y + 1;
}

/* What it leads to once it is patched: another frame.  */
NOIPA unsigned second(unsigned x)
{
    volatile unsigned values[40];
    unsigned y = x;

    for (unsigned i = 0; i < 40; i += 8)
        values[i] = y++;
    y = leaf(values[0]) + leaf(values[32]);
    BARRIER();
    return y;
}

/* What the branch leads around.  */
NOIPA unsigned rarely(unsigned x)
{
    unsigned y = leaf(x + 1);

    BARRIER();
    return y * 3;
}

enum form { SPACE, JUMP, CALL };

/* The instruction for a place.  */
NOIPA void encode(unsigned char *code, enum form form, const unsigned char *from, uint64_t to)
{
    uint32_t distance = (uint32_t)(to - (uint64_t)from);
    uint32_t word;

#if defined(__x86_64__)
    static const unsigned char space[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

    if (form == SPACE) {
        for (unsigned i = 0; i < SITE; i++)
            code[i] = space[i];
        return;
    }
    word = distance - SITE;
    code[0] = form == JUMP ? 0xe9 : 0xe8;
    for (unsigned i = 0; i < 4; i++)
        code[i + 1] = word >> 8 * i;
#elif defined(__aarch64__)
    word = form == SPACE ? 0xd503201f : (form == JUMP ? 0x14000000 : 0x94000000) | (distance >> 2 & 0x3ffffff);
    for (unsigned i = 0; i < 4; i++)
        code[i] = word >> 8 * i;
#elif defined(__s390x__)
    word = (uint32_t)((int32_t)distance >> 1);
    code[0] = 0xc0;
    code[1] = form == SPACE ? 0x04 : form == JUMP ? 0xf4 : 0xe5;
    if (form == SPACE)
        word = 0;
    for (unsigned i = 0; i < 4; i++)
        code[i + 2] = word >> (24 - 8 * i);
#endif
}

NOIPA void patch(unsigned char *at, enum form form, uint64_t to)
{
    unsigned char code[SITE];

    encode(code, form, at, to);
    for (unsigned i = 0; i < SITE; i++)
        ((volatile unsigned char *)at)[i] = code[i];
#if defined(__aarch64__)
    __asm__ volatile("dsb ish\n\tisb" ::: "memory");
#endif
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 4; i++) {
        sum = sum * 31 + patched(i);
        patch(patched_trace, CALL, (uint64_t)trace);
        sum = sum * 31 + patched(i);
        patch(patched_branch, SPACE, 0);
        sum = sum * 31 + patched(i);
        patch(patched_call, CALL, (uint64_t)second);
        sum = sum * 31 + patched(i);
        patch(patched_trace, SPACE, 0);
        patch(patched_branch, JUMP, (uint64_t)patched_skip);
        patch(patched_call, CALL, (uint64_t)first);
        sum = sum * 31 + patched(i) + traces;
    }
    return bench_check(sum, 0xbb834ea8);
}
