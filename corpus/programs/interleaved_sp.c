/* Calls the functions of interleaved_sp.S, and computes what they do by other
   means.  */

#include "runtime/runtime.h"

unsigned push_loop(unsigned x);
unsigned staircase(unsigned x);
unsigned numbers(unsigned x);

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 2;
}

NOIPA unsigned expected_loop(unsigned x)
{
    unsigned sum = 0;

    for (unsigned turn = 0; turn <= x; turn++) {
        unsigned value = leaf(x - turn);

        sum += leaf(x - turn + sum + value) + value;
    }
    return sum;
}

NOIPA unsigned expected_staircase(unsigned x)
{
    unsigned steps[8];
    unsigned value = x;

    for (unsigned step = 0; step < 8; step++) {
        steps[step] = value;
        value = leaf(value) + x;
    }
    for (unsigned step = 8; step-- > 0;)
        value = leaf(value) + steps[step];
    return value;
}

NOIPA unsigned expected_numbers(unsigned x)
{
    unsigned value = -1U;

    for (unsigned turn = 0; turn <= x; turn++) {
        value = value * 3 + 1;
        value ^= leaf(value);
    }
    return value;
}

int main(void)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < 8; i++) {
        wrong += push_loop(i) != expected_loop(i);
        wrong += staircase(i) != expected_staircase(i);
        wrong += numbers(i) != expected_numbers(i);
    }
    return bench_check(wrong, 0);
}
