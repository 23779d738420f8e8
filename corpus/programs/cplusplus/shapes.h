/* Classes whose inline functions both sources have: the linker keeps one copy
   of each, and has to drop the unwind data of the other.  */

#ifndef SHAPES_H
#define SHAPES_H

extern "C" {
#include "../runtime/runtime.h"
}

extern "C" NOIPA unsigned leaf(unsigned x);

struct Shape {
    explicit Shape(unsigned size) : size(size) {}
    NOIPA virtual ~Shape() { released += size; }
    NOIPA virtual unsigned area() const
    {
        unsigned area = leaf(size);

        BARRIER();
        return area + 1;
    }

    static void *operator new(size_t size);
    static void operator delete(void *memory);

    unsigned size;
    static unsigned released;
};

struct Square : Shape {
    explicit Square(unsigned size) : Shape(size) {}
    NOIPA ~Square() override
    {
        size = leaf(size) & 15;
        BARRIER();
    }
    NOIPA unsigned area() const override
    {
        unsigned area = leaf(size * size);

        BARRIER();
        return area + Shape::area();
    }
};

/* Two bases: calls through the second go through a thunk that moves `this`.  */
struct Named {
    NOIPA virtual unsigned name() const { return leaf(7); }
    unsigned id = 3;
};
struct NamedSquare : Square, Named {
    explicit NamedSquare(unsigned size) : Square(size) {}
    NOIPA ~NamedSquare() override
    {
        id = leaf(id);
        BARRIER();
    }
    NOIPA unsigned name() const override
    {
        unsigned name = leaf(size + id);

        BARRIER();
        return name * 2;
    }
};

/* Runs when its block is left.  */
struct Guard {
    explicit Guard(unsigned &sum) : sum(sum) {}
    NOIPA ~Guard()
    {
        sum += leaf(sum & 7);
        BARRIER();
    }
    unsigned &sum;
};

template <unsigned Depth> NOIPA unsigned nest(unsigned x)
{
    unsigned sum = x;
    {
        Guard guard(sum);
        sum += nest<Depth - 1>(x + Depth);
        BARRIER();
    }
    return sum;
}
template <> NOIPA inline unsigned nest<0>(unsigned x)
{
    unsigned value = leaf(x);

    BARRIER();
    return value ^ 1;
}

template <typename Function> NOIPA unsigned twice(Function function, unsigned x)
{
    unsigned sum = function(x);

    BARRIER();
    sum += function(sum & 31);
    BARRIER();
    return sum;
}

Shape *make(unsigned kind, unsigned size);
unsigned sum_of(const Shape &shape, const Named &named);

#endif
