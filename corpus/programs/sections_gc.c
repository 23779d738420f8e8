/* Functions that nothing calls stand between those that run: when the linker
   drops them, their rows have to go too.  Without that, they stay.  */

#include "runtime/runtime.h"

NOIPA unsigned leaf(unsigned x)
{
    BARRIER();
    return x * 2654435761u >> 27;
}

#define USED(name, size, next)                                                 \
    NOIPA unsigned name(unsigned x)                                            \
    {                                                                          \
        volatile unsigned locals[size];                                        \
                                                                               \
        locals[x % (size)] = x;                                                \
        locals[x % (size)] += next(x + 1);                                     \
        BARRIER();                                                             \
        return locals[x % (size)] * 3;                                         \
    }

#ifdef DROPPED
#define UNUSED(name, size, next) USED(name, size, next)
#else
#define UNUSED(name, size, next)
#endif

UNUSED(dropped_first, 8, leaf)
USED(kept_first, 5, leaf)
UNUSED(dropped_middle, 70, dropped_first)
UNUSED(dropped_second, 3, kept_first)
USED(kept_second, 40, kept_first)
UNUSED(dropped_last, 90, kept_second)

NOIPA unsigned descend(unsigned levels)
{
    unsigned sum = levels == 0 ? kept_second(levels) : descend(levels - 1);

    BARRIER();
    return sum + levels;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 22; i++)
        sum = sum * 31 + descend(i % 9);
    return bench_check(sum, 0xb0f7a5a4);
}
