/* Functions that make no frame and call functions that make none either.  Where
   the ABI has a register for the return address, the caller's is in another one
   in the meantime.  */

#include "runtime/runtime.h"

/* They are in assembly.  */
unsigned leaf_end(unsigned x);    /* returns 3x */
unsigned leaf_caller(unsigned x); /* calls leaf_end */
unsigned leaf_outer(unsigned x);  /* calls leaf_caller, and leaf_end */

NOIPA unsigned framed(unsigned x)
{
    unsigned y = leaf_outer(x);

    y += leaf_caller(x);
    y += leaf_end(x);
    BARRIER();
    return y;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 40; i++)
        sum = sum * 31 + framed(i);
    return bench_check(sum, 0x49f6d870);
}
