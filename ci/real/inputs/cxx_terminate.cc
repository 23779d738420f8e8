/* An exception that may not leave a function: the search for a handler ends in std::terminate, below its frames. */
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

static int recurse(int depth)
{
    if (depth == 0)
        throw std::runtime_error("nobody catches this");
    return recurse(depth - 1) + 1;
}

static int keeps(int depth) noexcept
{
    return recurse(depth) + 1;
}

static void end()
{
    try {
        std::rethrow_exception(std::current_exception());
    } catch (const std::exception &error) {
        std::printf("terminated by: %s\n", error.what());
    }
    std::exit(5);
}

int main(int argc, char **)
{
    std::set_terminate(end);
    return keeps(argc + 10);
}
