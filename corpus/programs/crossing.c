/* An executable and two libraries that call each other both ways: through
   procedure linkage tables, through pointers, by tail calls and recursively.  */

#include "crossing/crossing.h"

static __thread unsigned program_calls = 5;

NOIPA unsigned program_leaf(unsigned x)
{
    return x ^ program_calls++;
}

/* Each level has a frame in every image.  */
NOIPA unsigned program_descend(unsigned levels, unsigned x)
{
    unsigned below = levels == 0 ? first_mix(x) : first_descend(levels - 1, x);

    BARRIER();
    return below + 1;
}

/* Addresses of functions of the libraries.  */
static const Function table[2] = {first_leaf, second_leaf};
static const Function *volatile pointer = table;

NOIPA static unsigned through_pointers(unsigned x)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 3; i++) {
        sum += second_apply(second_table[i], x + i);
        BARRIER();
    }
    sum ^= pointer[0](x);
    sum += pointer[1](x);
    BARRIER();
    return sum;
}

int main(void)
{
    unsigned sum = first_state;

    /* A function has one address in the whole process.  */
    sum += first_address() == pointer[0] && second_table[0] == pointer[0];
    for (unsigned i = 0; i < 20; i++) {
        sum = sum * 31 + program_descend(2, i);
        sum += through_pointers(i);
        sum ^= first_tail(i);
        first_state ^= i;
    }
    return bench_check(sum, 0xfa9be404);
}
