/* Throws at a depth that is a multiple of three, and else calls back. */
#include "cxx.h"

#include <iostream>

Noted::Noted(std::string name) : name(std::move(name))
{
    std::cout << "  construct " << this->name << '\n';
}

Noted::~Noted()
{
    std::cout << "  destroy " << name << '\n';
}

int lower(int depth, const std::function<int(int)> &callback)
{
    Noted noted("lower " + std::to_string(depth));
    if (depth % 3 == 0)
        throw Refusal("refused in lower", depth);
    return callback(depth) + 1;
}
