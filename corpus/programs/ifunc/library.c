#include "library.h"

NOIPA static unsigned chosen_one(unsigned x)
{
    return x * 3;
}

NOIPA static unsigned chosen_two(unsigned x)
{
    return x * 5 + 1;
}

/* Not known before the program runs, as the features of a CPU are not.  */
static volatile int second_is_better = 1;

NOIPA static Function resolve_chosen(void)
{
    return second_is_better ? chosen_two : chosen_one;
}

/* Others see this symbol; its type says that its address has to be asked for.  */
unsigned chosen(unsigned x) __attribute__((ifunc("resolve_chosen")));

NOIPA static Function resolve_hidden(void)
{
    return second_is_better ? chosen_one : chosen_two;
}

/* Nobody else sees this one.  */
static unsigned hidden(unsigned x) __attribute__((ifunc("resolve_hidden")));

NOIPA unsigned plain(unsigned x)
{
    return x + 2;
}

NOIPA unsigned inner(unsigned x)
{
    unsigned sum = hidden(x);

    sum ^= plain(x);
    sum += chosen(x);
    BARRIER();
    return sum;
}

const Function chosen_pointer = chosen;
