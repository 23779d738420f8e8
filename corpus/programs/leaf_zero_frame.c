/* The smallest functions there are: empty ones, one behind the other, functions
   of one instruction, functions whose locals are below SP, and some whose size
   is about 256 bytes, where the starts of rows need another byte.  */

#include "runtime/runtime.h"

#if defined(__x86_64__)
#define SKIP(bytes) __asm__ volatile("jmp 1f\n\t.skip 2 + " #bytes ", 0x90\n1:" ::: "memory")
#elif defined(__aarch64__)
#define SKIP(bytes) __asm__ volatile("b 1f\n\t.skip " #bytes "\n1:" ::: "memory")
#elif defined(__s390x__)
#define SKIP(bytes) __asm__ volatile("j 1f\n\t.skip " #bytes ", 7\n1:" ::: "memory")
#endif

NOIPA void empty_first(void)
{
}

NOIPA void empty_second(void)
{
}

NOIPA void empty_third(void)
{
}

NOIPA unsigned identity(unsigned x)
{
    return x;
}

NOIPA unsigned one_instruction(unsigned x)
{
    return x + 1;
}

NOIPA void store(volatile unsigned *place, unsigned x)
{
    *place = x;
}

/* 4, 120, 128 and 136 bytes of locals: what is below SP is safe up to a limit,
   if at all.  */
#define LOCALS(count)                                                          \
    NOIPA unsigned locals_##count(unsigned x)                                  \
    {                                                                          \
        volatile unsigned words[count];                                        \
                                                                               \
        for (unsigned i = 0; i < count; i++)                                   \
            words[i] = x + i;                                                  \
        return words[x % count] + words[x * 7 % count];                        \
    }

LOCALS(1)
LOCALS(2)
LOCALS(28)
LOCALS(30)
LOCALS(32)
LOCALS(34)
LOCALS(60)

/* Locals below SP, and saved registers above them.  */
NOIPA unsigned locals_and_saved(unsigned x)
{
    volatile unsigned words[16];

    words[x % 16] = x;
#if defined(__x86_64__)
    __asm__ volatile("" : "+r"(x) : : "rbx", "r12", "r13");
#elif defined(__aarch64__)
    __asm__ volatile("" : "+r"(x) : : "x19", "x20", "x21");
#elif defined(__s390x__)
    __asm__ volatile("" : "+r"(x) : : "r6", "r7", "r8");
#endif
    return words[x % 16] * 3 + x;
}

/* The last rows start about 256 bytes behind the first.  */
#define ABOUT_256(name, bytes)                                                 \
    NOIPA unsigned name(unsigned x)                                            \
    {                                                                          \
        unsigned y = identity(x);                                              \
                                                                               \
        SKIP(bytes);                                                           \
        y += one_instruction(x + y);                                           \
        BARRIER();                                                             \
        return x + y;                                                          \
    }

ABOUT_256(about_256_a, 184)
ABOUT_256(about_256_b, 188)
ABOUT_256(about_256_c, 192)
ABOUT_256(about_256_d, 196)
ABOUT_256(about_256_e, 200)
ABOUT_256(about_256_f, 204)
ABOUT_256(about_256_g, 208)
ABOUT_256(about_256_h, 212)
ABOUT_256(about_256_i, 216)
ABOUT_256(about_256_j, 220)
ABOUT_256(about_256_k, 224)
ABOUT_256(about_256_l, 228)
ABOUT_256(about_256_m, 232)

NOIPA unsigned use(unsigned x)
{
    volatile unsigned place;
    unsigned sum = identity(x);

    empty_first();
    empty_second();
    empty_third();
    sum = sum * 3 + one_instruction(x);
    store(&place, sum);
    sum = sum * 3 + locals_1(x);
    sum = sum * 3 + locals_2(x);
    sum = sum * 3 + locals_28(x);
    sum = sum * 3 + locals_30(x);
    sum = sum * 3 + locals_32(x);
    sum = sum * 3 + locals_34(x);
    sum = sum * 3 + locals_60(x);
    sum = sum * 3 + locals_and_saved(x);
    BARRIER();
    return sum + place;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 8; i++) {
        sum = sum * 31 + use(i);
        sum = sum * 31 + about_256_a(i) + about_256_b(i) * 3 + about_256_c(i) * 5;
        sum = sum * 31 + about_256_d(i) + about_256_e(i) * 3 + about_256_f(i) * 5;
        sum = sum * 31 + about_256_g(i) + about_256_h(i) * 3 + about_256_i(i) * 5;
        sum = sum * 31 + about_256_j(i) + about_256_k(i) * 3 + about_256_l(i) * 5;
        sum = sum * 31 + about_256_m(i);
    }
    return bench_check(sum, 0xef7b2fe8);
}
