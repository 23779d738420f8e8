/* Recurses before it goes down, so that several of its frames are unwound at a time. */
#include "cxx.h"

int upper(int depth, const std::function<int(int)> &callback)
{
    Noted noted("upper " + std::to_string(depth));
    if (depth > 5)
        return upper(depth - 5, callback) + 1000;
    return middle(depth, callback) + 100;
}

std::string described(const std::exception &exception)
{
    std::string text = exception.what();
    try {
        std::rethrow_if_nested(exception);
    } catch (const std::exception &inner) {
        text += " because of " + described(inner);
    }
    return text;
}
