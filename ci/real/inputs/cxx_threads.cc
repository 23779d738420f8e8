/* Threads that throw: each within itself, and by std::future into the one that waits. */
#include <future>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::mutex lock;
static int caught;
static thread_local std::string own = "untouched";

/* Destroyed when its thread ends. */
struct PerThread {
    ~PerThread()
    {
        std::lock_guard guard(lock);
        destroyed++;
    }
    int value = 0;
    static inline int destroyed;
};
static thread_local PerThread per_thread;

static int recurse(int depth)
{
    std::string text(static_cast<size_t>(depth + 20), 'x');
    if (depth == 0)
        throw std::runtime_error(text);
    return recurse(depth - 1) + static_cast<int>(text.size());
}

static void throw_often(int times)
{
    own = "thread " + std::to_string(times);
    for (int i = 0; i < times; i++) {
        try {
            recurse(i % 8);
        } catch (const std::runtime_error &) {
            std::lock_guard guard(lock);
            caught++;
            per_thread.value++;
        }
    }
}

int main()
{
    std::vector<std::thread> threads;
    for (int times = 10; times <= 40; times += 10)
        threads.emplace_back(throw_often, times);
    for (auto &thread : threads)
        thread.join();
    std::cout << "caught " << caught << ", destroyed " << PerThread::destroyed << ", here " << own << '\n';

    auto failing = std::async(std::launch::async, recurse, 5);
    try {
        std::cout << failing.get() << '\n';
    } catch (const std::runtime_error &error) {
        std::cout << "from a future: " << error.what() << '\n';
    }

    std::promise<int> promise;
    std::thread sender([&promise] {
        try {
            recurse(3);
        } catch (...) {
            promise.set_exception(std::current_exception());
        }
    });
    try {
        promise.get_future().get();
    } catch (const std::exception &error) {
        std::cout << "from a promise: " << error.what() << '\n';
    }
    sender.join();

    std::once_flag once;
    for (int attempt = 0; attempt < 3; attempt++) {
        try {
            std::call_once(once, [attempt] {
                if (attempt == 0)
                    throw std::logic_error("not yet");
                std::cout << "once, at attempt " << attempt << '\n';
            });
        } catch (const std::logic_error &error) {
            std::cout << error.what() << '\n';
        }
    }
    return 0;
}
