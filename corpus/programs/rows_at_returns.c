/* Calls the functions of rows_at_returns.S, and compares what they compute.  */

#include "runtime/path.h"

unsigned before_another_block(unsigned x);
unsigned before_next_function(unsigned x);
unsigned next_function(unsigned x);
unsigned before_a_gap(unsigned x);
#if defined(__x86_64__)
unsigned callee_pops(unsigned x);
unsigned callee_pops_by_fp(unsigned x);
#endif

static struct bench_path path;

NOIPA unsigned wrong(unsigned x)
{
    unsigned right = x * 3 + 3;
    unsigned count = 0;

    ENTER(wrong);
    count += before_another_block(x) != right;
    count += before_next_function(x) != right;
    count += next_function(x) != x + 1;
    count += before_a_gap(x) != right;
#if defined(__x86_64__)
    count += callee_pops(x) != right;
    count += callee_pops_by_fp(x) != right;
#endif
    LEAVE();
    return count;
}

int main(void)
{
    unsigned count = 0;

    bench_path = &path;
    ENTER(main);
    for (unsigned x = 0; x < 20; x++)
        count += wrong(x);
    LEAVE();
    return bench_check(count + (unsigned)path.depth, 0);
}
