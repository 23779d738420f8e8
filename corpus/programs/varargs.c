/* Variable arguments: functions that save the argument registers, and pass the
   list on.  */

#include <stdarg.h>

#include "runtime/runtime.h"

NOIPA unsigned leaf(unsigned x)
{
    return x ^ x >> 2;
}

NOIPA unsigned sum_of(unsigned count, ...)
{
    va_list arguments;
    unsigned sum = 0;

    va_start(arguments, count);
    for (unsigned i = 0; i < count; i++)
        sum = sum * 3 + leaf(va_arg(arguments, unsigned));
    va_end(arguments);
    BARRIER();
    return sum;
}

/* u: unsigned, l: 64 bits, d: double, s: string.  */
NOIPA unsigned walk(const char *kinds, va_list *arguments)
{
    unsigned sum = 0;

    for (; *kinds != 0; kinds++) {
        if (*kinds == 'u')
            sum += va_arg(*arguments, unsigned);
        else if (*kinds == 'l')
            sum ^= (unsigned)(va_arg(*arguments, uint64_t) >> 16);
        else if (*kinds == 'd')
            sum += (unsigned)(va_arg(*arguments, double) * 4.0);
        else
            for (const char *text = va_arg(*arguments, const char *); *text != 0; text++)
                sum = sum * 5 + leaf((unsigned char)*text);
    }
    BARRIER();
    return sum;
}

NOIPA unsigned mixed(const char *kinds, ...)
{
    va_list arguments;
    unsigned sum;

    va_start(arguments, kinds);
    sum = walk(kinds, &arguments);
    va_end(arguments);
    BARRIER();
    return sum;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 8; i++) {
        sum = sum * 31 + sum_of(0);
        sum = sum * 31 + sum_of(3, i, 2, 3);
        sum = sum * 31 + sum_of(12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, i);
        sum = sum * 31 + mixed("");
        sum = sum * 31 + mixed("s", "");
        sum = sum * 31 + mixed("udlsuu", i, 2.25, (uint64_t)i << 17, "text", 5, 6);
        sum = sum * 31 + mixed("dddddddddddu", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0,
                               i * 0.5, 9);
    }
    return bench_check(sum, 0x3aeadbb4);
}
