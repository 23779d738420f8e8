/* C++ exceptions through three libraries: thrown below, thrown by a callback, rethrown, nested, kept, in destructors. */
#include "cxx.h"

#include <iostream>
#include <memory>
#include <vector>

static Noted static_object("static object");

static int call_back(int depth)
{
    auto owned = std::make_unique<Noted>("callback " + std::to_string(depth));
    if (depth == 2)
        throw std::out_of_range("out of range in the callback");
    if (depth == 4)
        throw depth;
    return depth;
}

static void attempt(int depth)
{
    std::cout << "depth " << depth << '\n';
    try {
        int result = upper(depth, call_back);
        std::cout << "returned " << result << '\n';
    } catch (const Refusal &refusal) {
        std::cout << "caught " << described(refusal) << ", code " << refusal.code << '\n';
    } catch (int number) {
        std::cout << "caught the number " << number << '\n';
    }
}

/* Throws and catches while it is destroyed by another exception. */
class Busy {
public:
    ~Busy()
    {
        try {
            throw Refusal("inside a destructor", std::uncaught_exceptions());
        } catch (const Refusal &refusal) {
            std::cout << refusal.what() << ", " << refusal.code << " in flight\n";
        }
    }
};

class Half {
public:
    Half() : first("first member"), second("second member") { throw std::bad_alloc(); }

private:
    Noted first, second;
};

static void refuses() noexcept(false)
{
    Busy busy;
    throw std::logic_error("from refuses");
}

int main()
{
    for (int depth = 1; depth <= 12; depth++)
        attempt(depth);

    try {
        refuses();
    } catch (const std::logic_error &error) {
        std::cout << error.what() << '\n';
    }
    try {
        Half half;
    } catch (const std::bad_alloc &) {
        std::cout << "half an object\n";
    }

    std::vector<std::exception_ptr> pointers;
    for (int code = 1; code <= 3; code++)
        pointers.push_back(kept(code));
    for (const auto &pointer : pointers) {
        try {
            std::rethrow_exception(pointer);
        } catch (const Refusal &refusal) {
            std::cout << refusal.what() << ' ' << refusal.code << '\n';
        }
    }

    int caught = 0;
    for (int i = 0; i < 50; i++) {
        try {
            std::vector<int>(3).at(static_cast<size_t>(i));
        } catch (const std::out_of_range &) {
            caught++;
        }
    }
    std::cout << "caught " << caught << " of 50\n";
    return 0;
}
