/* Calls the functions of row_start_limits.S.  */

#include "runtime/runtime.h"

typedef unsigned Function(unsigned);

#pragma GCC visibility push(hidden)
extern Function *const functions[];
extern Function *const functions_end[];
#pragma GCC visibility pop

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 2;
}

NOIPA unsigned call(Function *function, unsigned x)
{
    unsigned y = function(x);

    BARRIER();
    return y;
}

int main(void)
{
    unsigned wrong = 0;
    unsigned count = 0;
    Function *const *function = functions;

    do {
        for (unsigned i = 0; i < 40; i++)
            wrong += call(*function, count + i) != (count + i) * 8 + 2;
        count++;
    } while (++function < functions_end);
    return bench_check(wrong + (count < 5), 0);
}
