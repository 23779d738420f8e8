/* Calls the functions of odd_registers.S, and compares what they compute.  */

#include "runtime/runtime.h"

unsigned cfa_in_scratch(unsigned x);
unsigned cfa_in_preserved(unsigned x);
unsigned cfa_of_caller(unsigned x);
unsigned cfa_in_memory(unsigned x);
unsigned cfa_on_stack(unsigned x);
unsigned fp_by_expression(unsigned x);
unsigned fp_in_register(unsigned x);
unsigned ra_in_register(unsigned x);
unsigned both_in_registers(unsigned x);
unsigned odd_caller(unsigned x);
unsigned fp_without_ra(unsigned x);

NOIPA unsigned leaf(unsigned x)
{
    return x * 7 + 2;
}

int main(void)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < 20; i++) {
        wrong += cfa_in_scratch(i) != i + 3;
        wrong += cfa_in_preserved(i) != i + 8;
        wrong += cfa_of_caller(i) != leaf(i);
        wrong += cfa_in_memory(i) != leaf(i);
        wrong += cfa_on_stack(i) != leaf(i);
        wrong += fp_by_expression(i) != leaf(i);
        wrong += fp_in_register(i) != i + 3;
        wrong += ra_in_register(i) != i + 3;
        wrong += both_in_registers(i) != i + 3;
        wrong += odd_caller(i) != i + 3;
        wrong += fp_without_ra(i) != leaf(i) + i;
    }
    return bench_check(wrong, 0);
}
