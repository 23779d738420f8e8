/* Calls the functions of signed_rows.S, and compares what they compute.  */

#include "runtime/runtime.h"

unsigned signed_later(unsigned x);
unsigned signed_turns(unsigned x);
unsigned signed_turns_b(unsigned x);
unsigned signed_exits(unsigned x);
unsigned signed_exits_b(unsigned x);
unsigned signed_nested(unsigned x);
unsigned signed_by_other(unsigned x);

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 2;
}

NOIPA unsigned expected_exits(unsigned x)
{
    unsigned value;

    if ((x & 2) == 0)
        return x + 2;
    value = leaf(x);
    BARRIER();
    return x & 1 ? value + 1 : value;
}

int main(void)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < 12; i++) {
        wrong += signed_later(i) != leaf(i) * 2;
        wrong += signed_turns(i) != leaf(i) * 3;
        wrong += signed_turns_b(i) != leaf(i) * 3;
        wrong += signed_exits(i) != expected_exits(i);
        wrong += signed_exits_b(i) != expected_exits(i);
        wrong += signed_nested(i) != i + 1;
        wrong += signed_by_other(i) != leaf(i) + i;
    }
    return bench_check(wrong, 0);
}
