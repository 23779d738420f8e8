/* Calls the functions of handwritten.S, and compares what they compute.  */

#include "runtime/runtime.h"

unsigned push_and_pop(unsigned x);
unsigned several_exits(unsigned x);
unsigned frame_pointer(unsigned x);
unsigned late_save(unsigned x);
unsigned in_a_register(unsigned x);

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 2;
}

NOIPA unsigned expected_exits(unsigned x)
{
    unsigned value;

    if (x == 0)
        return 1;
    value = leaf(x);
    BARRIER();
    return value % 2 == 0 ? value : x + 2 * value;
}

int main(void)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < 30; i++) {
        wrong += push_and_pop(i) != leaf(i) + i + i + 3;
        wrong += several_exits(i) != expected_exits(i);
        wrong += frame_pointer(i) != leaf(i) + i;
        wrong += late_save(i) != leaf(i) + i;
        wrong += in_a_register(i) != i + 9;
    }
    return bench_check(wrong, 0);
}
