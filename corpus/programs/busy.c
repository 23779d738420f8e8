/* What programs do most of the time: loops, loads and stores, and calls of small
   functions.  A benchmark stores a larger number of rounds into the file.  */

#include "runtime/runtime.h"

#define COUNT 32

/* How often everything is computed.  */
KEEP volatile unsigned rounds = 1;

static unsigned seed;
static unsigned values[COUNT];

NOIPA unsigned next(void)
{
    seed = seed * 1664525 + 1013904223;
    return seed >> 8;
}

NOIPA void sift(unsigned *heap, unsigned at, unsigned count)
{
    for (;;) {
        unsigned child = 2 * at + 1;
        unsigned value = heap[at];

        if (child >= count)
            return;
        if (child + 1 < count && heap[child + 1] > heap[child])
            child++;
        if (value >= heap[child])
            return;
        heap[at] = heap[child];
        heap[child] = value;
        at = child;
    }
}

NOIPA void sort(unsigned *heap, unsigned count)
{
    for (unsigned at = count / 2; at-- > 0;)
        sift(heap, at, count);
    for (unsigned last = count; last-- > 1;) {
        unsigned top = heap[0];

        heap[0] = heap[last];
        heap[last] = top;
        sift(heap, 0, last);
    }
}

NOIPA unsigned hash(const unsigned char *bytes, unsigned count)
{
    unsigned sum = 2166136261;

    for (unsigned i = 0; i < count; i++)
        sum = (sum ^ bytes[i]) * 16777619;
    return sum;
}

NOIPA unsigned visit(unsigned low, unsigned high)
{
    unsigned middle = (low + high) / 2;
    unsigned sum;

    if (high - low < 4)
        return values[low] + values[middle];
    sum = visit(low, middle);
    return sum * 31 + visit(middle, high);
}

NOIPA unsigned compute(void)
{
    unsigned char text[48];
    unsigned sum;

    seed = 1;
    for (unsigned i = 0; i < COUNT; i++)
        values[i] = next() % 1000;
    /* Nothing to sort, and everything.  */
    sort(values, seed & 1);
    sort(values, COUNT);
    for (unsigned i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)(values[i % COUNT] + i);
    sum = visit(0, COUNT);
    return sum * 17 + hash(text, sizeof text);
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < rounds; i++)
        sum = compute();
    return bench_check(sum, 0x1945d82d);
}
