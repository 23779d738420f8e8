/* Code that is written at run time, and run before, while and after a section that
   describes it is registered.  Another function takes its place, with another
   section: for a while, both cover it, and the one that came last counts.  */

#include "runtime/signals.h"

/* Calls of the bench, which no kernel has: harness/guide/program.md.  */
enum { REGISTER_SECTION = 0x53460001, UNREGISTER_SECTION = 0x53460002 };

enum { SPACE = 4096 };

#pragma GCC visibility push(hidden)
/* Functions of this type, to be copied, with the sections that describe the copies.  */
extern const unsigned char small_frame[], small_frame_end[], large_frame[], large_frame_end[];
extern const unsigned char small_section[], large_section[];
extern const uint32_t small_section_size, large_section_size;
extern unsigned char generated[SPACE];
#pragma GCC visibility pop

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 3;
}

/* What generated code calls.  */
NOIPA unsigned callback(unsigned x)
{
    unsigned y = leaf(x);

    y += leaf(y);
    BARRIER();
    return y;
}

NOIPA unsigned run(unsigned x)
{
    unsigned (*function)(unsigned (*)(unsigned), unsigned);
    unsigned y;

    *(void **)&function = generated;
    y = function(callback, x);
    BARRIER();
    return y;
}

NOIPA void generate(const unsigned char *code, const unsigned char *end)
{
    for (unsigned i = 0; i < (unsigned)(end - code); i++)
        ((volatile unsigned char *)generated)[i] = code[i];
#if defined(__aarch64__)
    __asm__ volatile("dsb ish\n\tisb" ::: "memory");
#endif
}

NOIPA long register_section(const unsigned char *section, uint32_t size)
{
    return bench_system_call(REGISTER_SECTION, (long)section, size, (long)generated, SPACE);
}

NOIPA long unregister_section(void)
{
    return bench_system_call(UNREGISTER_SECTION, (long)generated, 0, 0, 0);
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 3; i++) {
        generate(small_frame, small_frame_end);
        sum = sum * 31 + run(i);
        sum += register_section(small_section, small_section_size);
        sum = sum * 31 + run(i + 1);
        /* The section is that of a function that has gone, until the next one is there.  */
        generate(large_frame, large_frame_end);
        sum += register_section(large_section, large_section_size);
        sum = sum * 31 + run(i + 2);
        sum += unregister_section();
        generate(small_frame, small_frame_end);
        sum = sum * 31 + run(i + 3);
        sum += unregister_section();
        sum = sum * 31 + run(i + 4);
        generate(large_frame, large_frame_end);
        sum = sum * 31 + run(i + 5);
    }
    return bench_check(sum, 0x0e928038);
}
