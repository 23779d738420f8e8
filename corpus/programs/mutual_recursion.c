/* Two functions with frames of different shapes call each other.  */

#include "runtime/runtime.h"

unsigned is_odd(unsigned n);
static unsigned volatile visits;

NOIPA unsigned bottom(unsigned value)
{
    visits = visits + 1;
    return value;
}

/* A small frame.  */
NOIPA unsigned is_even(unsigned n)
{
    unsigned answer = n == 0 ? bottom(1) : is_odd(n - 1);

    BARRIER();
    return answer;
}

/* A frame with an array, and values that live across the call.  */
NOIPA unsigned is_odd(unsigned n)
{
    volatile unsigned trail[9];
    unsigned answer;

    trail[n % 9] = n;
    answer = n == 0 ? bottom(0) : is_even(n - 1);
    BARRIER();
    return trail[n % 9] == n ? answer : 2;
}

int main(void)
{
    unsigned wrong = 0;

    for (unsigned n = 0; n < 26; n++) {
        wrong += is_even(n) != (n + 1) % 2;
        wrong += is_odd(n) != n % 2;
    }
    return bench_check(wrong * 100 + visits, 52);
}
