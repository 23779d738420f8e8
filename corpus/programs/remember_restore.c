/* Calls the functions of remember_restore.S on each of their paths, and compares
   what they compute.  */

#include "runtime/runtime.h"

unsigned nested_states(unsigned x);
unsigned many_epilogues(unsigned x);
unsigned back_and_forth(unsigned x);
unsigned saved_twice(unsigned x);
unsigned same_value(unsigned x);

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 2;
}

NOIPA unsigned expected_states(unsigned x)
{
    unsigned value = leaf(x);

    BARRIER();
    if ((x & 1) == 0)
        return value + x;
    return (x & 2) == 0 ? value * 2 + x : value;
}

NOIPA unsigned expected_epilogues(unsigned x)
{
    unsigned value = leaf(x);

    BARRIER();
    return value + 100 * (x & 3);
}

int main(void)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < 24; i++) {
        wrong += nested_states(i) != expected_states(i);
        wrong += many_epilogues(i) != expected_epilogues(i);
        wrong += back_and_forth(i) != leaf(i) * 3 + i;
        wrong += saved_twice(i) != leaf(i) + i;
        wrong += same_value(i) != leaf(i) * 2 + i;
    }
    return bench_check(wrong, 0);
}
