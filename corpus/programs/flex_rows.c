/* Calls the functions of flex_rows.S, and compares what they compute.  */

#include "runtime/runtime.h"

unsigned cfa_on_stack(unsigned x);
unsigned fp_caller(unsigned x);
unsigned fp_from_fp(unsigned x);
unsigned ra_less(unsigned x);
unsigned saved_elsewhere(unsigned x);

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 2;
}

int main(void)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < 24; i++) {
        wrong += cfa_on_stack(i) != leaf(i);
        wrong += fp_caller(i) != leaf(i);
        wrong += fp_from_fp(i) != leaf(i);
        wrong += ra_less(i) != i + 3;
        wrong += saved_elsewhere(i) != i + 3;
    }
    return bench_check(wrong, 0);
}
