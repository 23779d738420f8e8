/* C++ without a library: virtual calls, thunks, templates, closures, destructors.  */

#include "cplusplus/shapes.h"

extern "C" NOIPA unsigned leaf(unsigned x)
{
    BARRIER();
    return x * 2654435761u >> 27;
}

NOIPA static unsigned with_closures(unsigned x)
{
    unsigned calls = 0;
    auto count = [&](unsigned value) {
        calls++;
        unsigned result = leaf(value + calls);
        BARRIER();
        return result;
    };
    unsigned sum = twice(count, x);

    BARRIER();
    return sum * 8 + calls;
}

NOIPA static unsigned with_shape(unsigned kind, unsigned size)
{
    Shape *shape = make(kind, size);
    unsigned area = shape->area();

    BARRIER();
    delete shape;
    BARRIER();
    return area;
}

extern "C" int main()
{
    unsigned sum = 0;

    for (unsigned i = 0; i < 12; i++) {
        NamedSquare square(i);
        const Named plain;

        sum = sum * 31 + with_shape(i % 3, i);
        sum = sum * 31 + sum_of(square, i % 2 != 0 ? plain : square);
        sum = sum * 31 + with_closures(i);
        sum = sum * 31 + nest<4>(i);
    }
    return bench_check(sum + Shape::released, 0x5fb63056);
}
