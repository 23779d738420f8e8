/* Registers of the caller's in other registers, and other registers of the
   caller's on the stack.  On s390x, functions that call nothing save general
   registers in floating-point registers; the stack pointer, the frame pointer
   and the return address may be among them.  Floating-point registers that
   belong to the caller are saved on the stack on s390x and aarch64.  */

#include "runtime/runtime.h"

/* Uses up registers, which are then to be saved.  */
#define CLOBBER(variable, ...) __asm__ volatile("" : "+r"(variable) : : __VA_ARGS__)

#if defined(__s390x__)
#define ONE "r6"
#define TWO "r8", "r9"
#define FOUR "r6", "r7", "r8", "r9"
#define ALL_FREE "r6", "r7", "r8", "r9", "r10"
#define FRAME_POINTER "r11"
#define LINK "r14"
#define FLOATS_ONE "f8"
#define FLOATS_ALL "f8", "f9", "f10", "f11", "f12", "f13", "f14", "f15"
#define FIRST_FLOATS "f0", "f2", "f4", "f6"
#define MOST_FLOATS "f0", "f1", "f2", "f3", "f4", "f6"
#define SCRATCH_FLOATS "f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7"
#elif defined(__aarch64__)
#define ONE "x19"
#define TWO "x20", "x21"
#define FOUR "x19", "x20", "x21", "x22"
#define ALL_FREE "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28"
#define FRAME_POINTER "x29"
#define LINK "x30"
#define FLOATS_ONE "d8"
#define FLOATS_ALL "d8", "d9", "d10", "d11", "d12", "d13", "d14", "d15"
#define FIRST_FLOATS "d0", "d2", "d4", "d6"
#define MOST_FLOATS "d0", "d1", "d2", "d3", "d4", "d6"
#define SCRATCH_FLOATS "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"
#endif

/* Without optimisation every function needs the frame pointer.  */
#if defined(__OPTIMIZE__)
#define USED_UP(...) __VA_ARGS__
#else
#define USED_UP(...) ONE
#endif

#define LEAF(name, ...)                                                        \
    NOIPA unsigned name(unsigned x)                                            \
    {                                                                          \
        x += 11;                                                               \
        CLOBBER(x, __VA_ARGS__);                                               \
        return x * 3;                                                          \
    }

LEAF(one, ONE)
LEAF(two, TWO)
LEAF(four, FOUR)
LEAF(all_free, ALL_FREE)
LEAF(link, LINK)
LEAF(link_and_two, LINK, TWO)
LEAF(link_and_all, LINK, ALL_FREE)
LEAF(frame_pointer, USED_UP(FRAME_POINTER))
LEAF(frame_pointer_and_link, USED_UP(FRAME_POINTER, LINK))
LEAF(frame_pointer_and_four, USED_UP(FRAME_POINTER, FOUR))
LEAF(everything, USED_UP(FRAME_POINTER, LINK, ALL_FREE))
LEAF(floats, FLOATS_ONE)
LEAF(all_floats, FLOATS_ALL)
LEAF(floats_and_four, FLOATS_ALL, FOUR)
LEAF(floats_and_link, FLOATS_ONE, LINK, TWO)
/* The first ones are in use.  */
LEAF(second_floats, FIRST_FLOATS, USED_UP(FRAME_POINTER, LINK))
LEAF(last_floats, MOST_FLOATS, USED_UP(FRAME_POINTER, LINK))
/* No floating-point register is left to save anything in.  */
LEAF(no_float_left, SCRATCH_FLOATS, FOUR)
LEAF(no_float_left_for_link, SCRATCH_FLOATS, LINK, TWO)
LEAF(no_float_left_at_all, SCRATCH_FLOATS, FLOATS_ALL, ALL_FREE, LINK)

/* Locals, so that SP moves as well.  */
#define LEAF_WITH_LOCALS(name, size, ...)                                      \
    NOIPA unsigned name(unsigned x)                                            \
    {                                                                          \
        volatile unsigned words[size];                                         \
                                                                               \
        words[x % (size)] = x;                                                 \
        CLOBBER(x, __VA_ARGS__);                                               \
        return words[x % (size)] * 3 + x;                                      \
    }

LEAF_WITH_LOCALS(locals_and_one, 4, ONE)
LEAF_WITH_LOCALS(locals_and_four, 20, FOUR)
LEAF_WITH_LOCALS(locals_and_link, 20, LINK)
LEAF_WITH_LOCALS(locals_and_frame_pointer, 20, USED_UP(FRAME_POINTER))
LEAF_WITH_LOCALS(locals_and_both, 40, USED_UP(FRAME_POINTER, LINK))
LEAF_WITH_LOCALS(locals_and_everything, 40, USED_UP(FRAME_POINTER, LINK, ALL_FREE))
LEAF_WITH_LOCALS(locals_and_floats, 40, FLOATS_ALL)
LEAF_WITH_LOCALS(locals_and_floats_and_four, 2000, FLOATS_ALL, FOUR)

/* Half of the calls save nothing.  */
NOIPA unsigned some_save(unsigned x)
{
    if (x % 2 == 0)
        return x + 1;
    x *= 3;
    CLOBBER(x, TWO);
    if (x % 5 == 0)
        return x;
    CLOBBER(x, LINK, FOUR);
    return x * 7;
}

NOIPA double leaf(double x)
{
    return x * 2.0 + 1.0;
}

/* Not leaves: values are kept over calls in floating-point registers.  */
NOIPA unsigned floats_over_calls(unsigned x)
{
    double a = leaf(x), b = leaf(a), c = leaf(b);

    BARRIER();
    a += leaf(c);
    b += leaf(a);
    c += leaf(b);
    return (unsigned)(a + b * 2.0 + c * 3.0);
}

NOIPA unsigned all_floats_over_a_call(unsigned x)
{
    double sum;

    CLOBBER(x, FLOATS_ALL);
    sum = leaf(x);
    BARRIER();
    CLOBBER(x, FLOATS_ALL, FOUR);
    return (unsigned)sum + x;
}

NOIPA unsigned floats_and_alloca(unsigned x)
{
    volatile double *words = __builtin_alloca((x % 8 + 1) * 16);
    double a = leaf(x);

    words[x % 8] = leaf(a);
    a += leaf(words[x % 8]);
    CLOBBER(x, FLOATS_ALL);
    BARRIER();
    return (unsigned)(a + words[x % 8]);
}

NOIPA unsigned floats_and_exits(unsigned x)
{
    double a, b;

    if (x % 4 == 0)
        return x;
    a = leaf(x);
    BARRIER();
    if (x % 4 == 1)
        return (unsigned)a;
    b = leaf(a);
    BARRIER();
    if (x % 4 == 2)
        return (unsigned)(a + b);
    return (unsigned)(leaf(b) + a * b);
}

int main(void)
{
    static unsigned (*const functions[])(unsigned) = {
        one, two, four, all_free, link, link_and_two, link_and_all, frame_pointer,
        frame_pointer_and_link, frame_pointer_and_four, everything, floats, all_floats,
        floats_and_four, floats_and_link, second_floats, last_floats, no_float_left,
        no_float_left_for_link, no_float_left_at_all, locals_and_one, locals_and_four, locals_and_link,
        locals_and_frame_pointer, locals_and_both, locals_and_everything, locals_and_floats,
        locals_and_floats_and_four, some_save, floats_over_calls, all_floats_over_a_call,
        floats_and_alloca, floats_and_exits};
    unsigned sum = 0;

    for (unsigned i = 0; i < 8; i++)
        for (unsigned j = 0; j < sizeof functions / sizeof *functions; j++)
            sum = sum * 31 + functions[j](i * 5 + j);
    return bench_check(sum, 0x6537abc6);
}
