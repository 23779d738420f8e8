"""Classes, generators, closures, exceptions and sorting, without a module of the library."""


class Shape:
    def __init__(self, name):
        self.name = name

    def area(self):
        raise NotImplementedError(self.name)

    def __lt__(self, other):
        return self.area() < other.area()


class Square(Shape):
    def __init__(self, side):
        super().__init__("square")
        self.side = side

    def area(self):
        return self.side**2


def chain(depth):
    try:
        if depth == 0:
            raise KeyError("bottom")
        chain(depth - 1)
    except KeyError as error:
        if depth == 2:
            raise ValueError(f"at {depth}") from error
        raise
    finally:
        unwound.append(depth)


unwound = []
try:
    chain(6)
except ValueError as error:
    print(error, repr(error.__cause__), unwound)
try:
    Shape("cloud").area()
except NotImplementedError as error:
    print("not implemented:", error)
print([shape.side for shape in sorted(map(Square, [5, 3, 8, 1]))])


def primes():
    found = []
    n = 2
    while True:
        if all(n % p for p in found):
            found.append(n)
            sent = yield n
            if sent:
                return sent
        n += 1


def delegating():
    result = yield from primes()
    yield f"returned {result}"


generator = delegating()
print([next(generator) for _ in range(30)][-5:], generator.send("enough"))


def endless(n):
    return endless(n + 1) + 1


try:
    endless(0)
except RecursionError:
    print("recursion")

words = "the quick brown fox jumps over the lazy dog".split()
print(sorted(words, key=lambda word: (-len(word), word)))
print({word: words.count(word) for word in sorted(set(words)) if len(word) > 3}, 2**200 % 1000007)
print("%-5s|%5.2f|{:>6}".format("x") % ("ab", 3.14159))
