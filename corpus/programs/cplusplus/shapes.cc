#include "shapes.h"

alignas(16) static unsigned char memory[64];
unsigned Shape::released;

NOIPA void *Shape::operator new(size_t)
{
    BARRIER();
    return memory;
}

NOIPA void Shape::operator delete(void *)
{
    released++;
}

NOIPA Shape *make(unsigned kind, unsigned size)
{
    if (kind == 0)
        return new Shape(size);
    if (kind == 1)
        return new Square(size);
    return new NamedSquare(size);
}

NOIPA unsigned sum_of(const Shape &shape, const Named &named)
{
    unsigned sum = shape.area();

    BARRIER();
    sum = sum * 3 + named.name();
    BARRIER();
    sum += nest<3>(sum & 3);
    BARRIER();
    return sum;
}
