#include "../runtime/runtime.h"

/* Not .eh_frame, which has 32 bits for such starts, and nothing here reads it.  */
__asm__(".cfi_sections .sframe");

#define FAR __attribute__((section(".far")))

FAR NOIPA unsigned far_leaf(unsigned x)
{
    volatile unsigned locals[5];

    locals[x % 5] = x * 5;
    return locals[x % 5] + 2;
}

FAR NOIPA unsigned far_descend(unsigned levels, unsigned (*function)(unsigned))
{
    unsigned sum = levels == 0 ? function(levels) : far_descend(levels - 1, function);

    BARRIER();
    return sum * 3 + far_leaf(levels);
}
