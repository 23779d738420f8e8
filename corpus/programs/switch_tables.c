/* Dense switches become jumps through tables: branches to a register that are
   neither calls nor returns.  */

#include "runtime/runtime.h"

NOIPA unsigned leaf(unsigned x)
{
    return x * 3 + 1;
}

/* A jump table, with calls in some of the cases.  */
NOIPA unsigned interpret(const unsigned char *code, unsigned x)
{
    unsigned stack[4] = {x, 1, 2, 3};

    for (;;) {
        switch (*code++) {
        case 0: BARRIER(); return stack[0] ^ stack[1] << 8;
        case 1: stack[0] += stack[1]; break;
        case 2: stack[1] -= stack[0] >> 3; break;
        case 3: stack[2] = leaf(stack[0]); break;
        case 4: stack[0] ^= stack[2] << 2; break;
        case 5: stack[3] = stack[3] * 5 + stack[0]; break;
        case 6: stack[1] = leaf(stack[3]); stack[1] += leaf(stack[2]); break;
        case 7: stack[0] = ~stack[0]; break;
        case 8: stack[2] |= stack[1] & 0xff; break;
        case 9: stack[0] = stack[3]; break;
        case 10: stack[3] = leaf(leaf(stack[1])); break;
        default: BARRIER(); return stack[1] ^ 0xbad;
        }
    }
}

/* Every case leaves the function by itself.  */
NOIPA unsigned classify(unsigned x)
{
    unsigned result = 0;

    switch (x % 9) {
    case 0: result = leaf(x); break;
    case 1: result = x << 4; break;
    case 2: result = leaf(x + 5) - x; break;
    case 3: result = x / 3; break;
    case 4: result = x ^ 0x5a; break;
    case 5: result = leaf(x) * 2; break;
    case 6: result = ~x; break;
    case 7: result = leaf(~x); break;
    case 8: result = 8; break;
    }
    BARRIER();
    return result;
}

int main(void)
{
    static const unsigned char code[] = {3, 1, 4, 2, 5, 6, 8, 1, 10, 9, 7, 4, 1, 6, 5, 2, 0};
    static const unsigned char unknown[] = {3, 6, 99};
    unsigned sum = 0;

    for (unsigned i = 0; i < 36; i++) {
        sum = sum * 31 + interpret(code + i % 4, i);
        sum += classify(i);
        sum += interpret(unknown, i);
    }
    return bench_check(sum, 0x7d29a338);
}
