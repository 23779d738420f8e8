/* Returns that a tracer has hooked: a function's saved return address is replaced
   by that of a trampoline, which asks for the real one when the function returns.
   Some are put back before that, as when the tracer is removed.  */

#include "runtime/runtime.h"

enum { LIMIT = 16 };

/* Calls hook with the place of its own return address, and then FUNCTION.  */
unsigned traced(unsigned (*function)(unsigned), unsigned x);

/* What it returns to, instead of its caller.  */
void return_trampoline(void);

static struct {
    uint64_t *slot;
    uint64_t return_address;
} hooked[LIMIT];
static unsigned depth;
static unsigned calls;
static unsigned returns;

/* What the tracer does when a function is called.  */
NOIPA void hook(uint64_t *slot)
{
    hooked[depth].slot = slot;
    hooked[depth].return_address = *slot;
    depth++;
    calls++;
    *slot = (uint64_t)return_trampoline;
}

/* What it does when the function has returned.  */
NOIPA uint64_t unhook(void)
{
    returns++;
    return hooked[--depth].return_address;
}

/* The tracer is removed: each function returns to its caller again.  */
NOIPA void remove_hooks(void)
{
    while (depth > 0) {
        depth--;
        *hooked[depth].slot = hooked[depth].return_address;
    }
}

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 3;
}

NOIPA unsigned descend(unsigned x)
{
    unsigned y;

    if (x % 4 == 0)
        return leaf(x);
    y = traced(descend, x - 1);
    y = y * 3 + leaf(x);
    BARRIER();
    return y;
}

/* Removes the tracer from the innermost of some calls.  */
NOIPA unsigned descend_and_remove(unsigned x)
{
    unsigned y;

    if (x % 4 == 0) {
        remove_hooks();
        return leaf(x);
    }
    y = traced(descend_and_remove, x - 1);
    y = y * 3 + leaf(x);
    BARRIER();
    return y;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned x = 0; x < 8; x++) {
        sum = sum * 31 + traced(descend, x);
        sum = sum * 31 + traced(descend_and_remove, x);
    }
    sum = sum * 31 + calls;
    sum = sum * 31 + returns;
    return bench_check(sum, 0x2684b56c);
}
