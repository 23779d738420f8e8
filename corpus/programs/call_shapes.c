/* What calls look like when values do not fit registers: results in memory of
   the caller's, structures and wide numbers by value, many arguments while the
   stack has grown, calls in the arguments of calls.  */

#include "runtime/runtime.h"

struct large {
    unsigned words[30];
};
struct three {
    uint64_t words[3];
};
struct floats {
    double first, second, third, fourth;
};

/* The rest of it is padding.  */
enum { WIDE_SIZE = __LDBL_MANT_DIG__ == 64 ? 10 : sizeof(long double) };

static const long double wide[4] = {1.0L, 2.5L, -3.75L, 1048576.0L};

NOIPA unsigned leaf(unsigned x)
{
    return x ^ x << 5;
}

NOIPA struct large make_large(unsigned seed)
{
    struct large made;

    for (unsigned i = 0; i < 30; i++)
        made.words[i] = leaf(seed + i);
    BARRIER();
    return made;
}

/* Passes the place of the result on.  */
NOIPA struct large pass_on(unsigned seed, unsigned count)
{
    if (count == 0)
        return make_large(seed);
    return pass_on(seed + 1, count - 1);
}

NOIPA struct three make_three(struct three from, unsigned x)
{
    struct three made = {{from.words[2], from.words[0] + leaf(x), from.words[1]}};

    BARRIER();
    return made;
}

NOIPA struct floats make_floats(struct floats from, double by)
{
    struct floats made = {from.fourth, from.first * by, from.second, from.third + leaf(3)};

    BARRIER();
    return made;
}

NOIPA unsigned take_large(struct large by_value, unsigned x, struct three more)
{
    unsigned sum = leaf(x);

    for (unsigned i = 0; i < 30; i++)
        sum = sum * 3 + by_value.words[i];
    by_value.words[x % 30] = sum;
    BARRIER();
    return sum + by_value.words[7] + (unsigned)more.words[2];
}

NOIPA unsigned same_wide(const long double *place, long double by_value)
{
    unsigned same = memcmp(place, &by_value, WIDE_SIZE) == 0 ? leaf(1) : 0;

    BARRIER();
    return same;
}

NOIPA unsigned take_wide(unsigned a, long double x, unsigned b, long double y, unsigned c,
                         long double z, unsigned d, long double w, unsigned e)
{
    unsigned sum = same_wide(&wide[0], x);

    sum = sum * 3 + same_wide(&wide[1], y);
    sum = sum * 3 + same_wide(&wide[2], z);
    sum = sum * 3 + same_wide(&wide[3], w);
    BARRIER();
    return sum + a + b * 3 + c * 5 + d * 7 + e * 11;
}

NOIPA long double give_wide(unsigned x)
{
    unsigned y = leaf(x);

    BARRIER();
    return wide[(y ^ y << 5) % 4];
}

NOIPA _Complex double make_complex(_Complex double x, _Complex double y, unsigned z)
{
    double real = __real__ x * 2 + __imag__ y, imaginary = __imag__ x + leaf(z) % 64;
    _Complex double made;

    __real__ made = real;
    __imag__ made = imaginary;
    BARRIER();
    return made;
}

NOIPA unsigned fourteen(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f,
                        unsigned g, unsigned h, unsigned i, unsigned j, unsigned k, unsigned l,
                        unsigned m, unsigned n)
{
    unsigned sum = leaf(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f);

    BARRIER();
    return sum + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l + 13 * m + 14 * n;
}

NOIPA unsigned odd(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f,
                   unsigned g, unsigned h, unsigned i)
{
    return a ^ b * 2 ^ c * 3 ^ d * 4 ^ e * 5 ^ f * 6 ^ g * 7 ^ h * 8 ^ i * 9;
}

/* One call's arguments are the results of others, which need the stack too.  */
NOIPA unsigned calls_in_arguments(unsigned x)
{
    unsigned sum = fourteen(odd(1, 2, 3, 4, 5, 6, 7, 8, x), 2, 3, leaf(x), 5, 6, 7, 8,
                            odd(9, 8, 7, 6, 5, x, 3, 2, 1), 10, leaf(11), 12,
                            fourteen(14, 13, 12, 11, 10, 9, 8, 7, 6, x, 4, 3, 2, 1), 14);

    BARRIER();
    return sum;
}

NOIPA unsigned growing(unsigned x)
{
    unsigned sum = 0;

    for (unsigned turn = 1; turn <= x; turn++) {
        volatile unsigned *words = __builtin_alloca(turn * 24);

        words[turn] = fourteen(turn, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, x, 13, sum);
        sum = sum * 3 + odd(words[turn], 2, 3, 4, 5, 6, turn, 8, 9);
    }
    BARRIER();
    return sum;
}

NOIPA unsigned one_more_on_some_paths(unsigned x)
{
    unsigned sum = leaf(x);

    if (x % 2 == 0)
        sum += odd(1, 2, 3, 4, 5, 6, 7, x, sum);
    else if (x % 3 == 0)
        sum += fourteen(x, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, sum, 14);
    BARRIER();
    return sum + leaf(x);
}

NOIPA unsigned use(unsigned x)
{
    struct large large = pass_on(x, x % 4);
    struct three three = {{x, x + 1, x + 2}};
    struct floats floats = {x, 2.0, 3.0, 4.0};
    _Complex double number = x;
    unsigned sum = take_large(large, x, make_three(three, x));

    three = make_three(make_three(three, 1), 2);
    floats = make_floats(make_floats(floats, 0.5), 4.0);
    number = make_complex(make_complex(number, number, 1), number, 2);
    sum = sum * 3 + take_wide(1, wide[0], 2, wide[1], 3, wide[2], 4, wide[3], x);
    sum = sum * 3 + same_wide(&wide[x % 4], give_wide(x));
    sum = sum * 3 + same_wide(&wide[x % 4], give_wide(x + 1));
    sum += (unsigned)(three.words[0] + three.words[1] * 3 + three.words[2] * 5);
    sum += (unsigned)(floats.first + floats.second + floats.third * 2.0 + floats.fourth * 4.0);
    sum += (unsigned)(__real__ number + __imag__ number);
    BARRIER();
    return sum;
}

int main(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 6; i++) {
        sum = sum * 31 + use(i);
        sum = sum * 31 + calls_in_arguments(i);
        sum = sum * 31 + growing(i);
        sum = sum * 31 + one_more_on_some_paths(i);
    }
    return bench_check(sum, 0x7994e890);
}
