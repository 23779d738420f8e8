/* Stack space of a size known only at run time: the CFA cannot be based on the
   stack pointer any more.  */

#include "runtime/runtime.h"

NOIPA unsigned consume(const unsigned *words, unsigned count)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < count; i++)
        sum = sum * 7 + words[i];
    return sum;
}

NOIPA unsigned variable_array(unsigned count)
{
    unsigned words[count + 1];
    unsigned sum;

    for (unsigned i = 0; i < count; i++)
        words[i] = i * i + count;
    sum = consume(words, count);
    BARRIER();
    return sum;
}

/* The frame grows with each turn of the loop.  */
NOIPA unsigned growing(unsigned turns)
{
    unsigned sum = 0;

    for (unsigned turn = 1; turn <= turns; turn++) {
        unsigned *words = __builtin_alloca(turn * sizeof *words);

        for (unsigned i = 0; i < turn; i++)
            words[i] = sum + i;
        sum += consume(words, turn);
    }
    BARRIER();
    return sum;
}

/* Space that is given back at the end of each turn.  */
NOIPA unsigned shrinking(unsigned turns)
{
    unsigned sum = 1;

    for (unsigned turn = turns; turn > 0; turn--) {
        unsigned words[turn];

        for (unsigned i = 0; i < turn; i++)
            words[i] = sum ^ i;
        sum += consume(words, turn);
        sum += variable_array(turn);
    }
    BARRIER();
    return sum;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 9; i++) {
        sum = sum * 13 + variable_array(i);
        sum += growing(i);
        sum += shrinking(i);
    }
    return bench_check(sum, 0x85d9d917);
}
