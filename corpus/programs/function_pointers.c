/* Calls through pointers: tables, callbacks, and a callback that calls back.  */

#include "runtime/runtime.h"

typedef unsigned Operation(unsigned, unsigned);
typedef int Compare(const void *, const void *);

NOIPA unsigned add(unsigned a, unsigned b)
{
    return a + b;
}

NOIPA unsigned multiply(unsigned a, unsigned b)
{
    return a * b;
}

NOIPA unsigned mix(unsigned a, unsigned b)
{
    unsigned mixed = add(a << 5, multiply(b, 9));

    BARRIER();
    return mixed ^ a;
}

static Operation *const operations[] = {add, multiply, mix};

NOIPA unsigned fold(Operation *const *table, unsigned count, unsigned seed)
{
    unsigned value = seed;

    for (unsigned i = 0; i < count; i++)
        value = table[i % 3](value, i + 1);
    BARRIER();
    return value;
}

NOIPA int ascending(const void *a, const void *b)
{
    unsigned left = *(const unsigned *)a;
    unsigned right = *(const unsigned *)b;

    return (left > right) - (left < right);
}

NOIPA int descending(const void *a, const void *b)
{
    int order = ascending(a, b);

    BARRIER();
    return -order;
}

NOIPA void sort(unsigned *words, unsigned count, Compare *compare)
{
    for (unsigned i = 1; i < count; i++)
        for (unsigned j = i; j > 0 && compare(&words[j - 1], &words[j]) > 0; j--) {
            unsigned word = words[j];
            words[j] = words[j - 1];
            words[j - 1] = word;
        }
    BARRIER();
}

int main(void)
{
    Compare *orders[] = {ascending, descending};
    unsigned words[14];
    unsigned sum = 0;

    for (unsigned turn = 0; turn < 4; turn++) {
        for (unsigned i = 0; i < 14; i++)
            words[i] = fold(operations, i % 4, i * 7 + turn) % 100;
        sort(words, turn % 2, orders[turn % 2]);
        sort(words, 14, orders[turn % 2]);
        for (unsigned i = 0; i < 14; i++)
            sum = sum * 31 + words[i];
    }
    return bench_check(sum, 0xd783d52a);
}
