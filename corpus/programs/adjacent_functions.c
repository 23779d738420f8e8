/* Calls the functions of adjacent_functions.S, and compares what they compute.  A
   signal may interrupt them.  */

#include "runtime/runtime.h"
#include "runtime/signals.h"

unsigned behind_empty(unsigned x);
unsigned stops_here(unsigned x);
unsigned hot_part(unsigned x);
unsigned first_entry(unsigned x);
unsigned second_entry(unsigned x);
unsigned without_fde(unsigned x);
unsigned zero_rows(unsigned x);
unsigned equal_rows(unsigned x);

static volatile unsigned handled;

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 2;
}

NOIPA void handler(int number, void *information, void *context)
{
    (void)information;
    (void)context;
    handled = handled + leaf(number);
    BARRIER();
}

NOIPA long install(void)
{
    struct signal_action action = {
        .handler = handler,
        .flags = SA_SIGINFO | SA_RESTORER,
        .restorer = bench_restorer,
    };
    long error = bench_system_call(RT_SIGACTION, SIGNAL, (long)&action, 0, sizeof action.mask);

    BARRIER();
    return error;
}

NOIPA unsigned expected_hot(unsigned x)
{
    unsigned value = leaf(x) + x;

    BARRIER();
    if (x & 1)
        return value + 100;
    return x & 2 ? value + 200 : value;
}

int main(void)
{
    unsigned wrong = install() != 0;

    for (unsigned i = 0; i < 16; i++) {
        wrong += behind_empty(i) != i + 1;
        wrong += stops_here(i) != i + 1;
        wrong += hot_part(i) != expected_hot(i);
        wrong += first_entry(i) != leaf(i + 3);
        wrong += second_entry(i) != leaf(i);
        wrong += without_fde(i) != leaf(i) + i;
        wrong += zero_rows(i) != leaf(i) + i;
        wrong += equal_rows(i) != leaf(i) + i;
    }
    return bench_check(wrong, 0);
}
