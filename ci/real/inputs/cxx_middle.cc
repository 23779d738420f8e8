/* Rethrows what it knows, wraps what it does not, and lets the rest pass. */
#include "cxx.h"

int middle(int depth, const std::function<int(int)> &callback)
{
    Noted noted("middle " + std::to_string(depth));
    try {
        return lower(depth, callback) + 10;
    } catch (Refusal &refusal) {
        refusal.code += 100;
        throw;
    } catch (const std::logic_error &) {
        std::throw_with_nested(Refusal("wrapped in middle", 200 + depth));
    }
}

std::exception_ptr kept(int code)
{
    try {
        throw Refusal("kept", code);
    } catch (...) {
        return std::current_exception();
    }
}
