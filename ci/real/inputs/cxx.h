/* Three libraries, each of which calls the next: upper, middle, lower, and lower calls back. */
#pragma once
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

class Refusal : public std::runtime_error {
public:
    Refusal(const std::string &why, int code) : std::runtime_error(why), code(code) {}
    int code;
};

/* Says when it is constructed and destroyed. */
class Noted {
public:
    explicit Noted(std::string name);
    ~Noted();

private:
    std::string name;
};

int upper(int depth, const std::function<int(int)> &callback);
int middle(int depth, const std::function<int(int)> &callback);
int lower(int depth, const std::function<int(int)> &callback);
std::exception_ptr kept(int code);
std::string described(const std::exception &exception);
