// Classes, generators, closures, exceptions, regular expressions, JSON, promises.
class Shape {
    constructor(name) { this.name = name; }
    area() { throw new TypeError(`${this.name} has no area`); }
}
class Square extends Shape {
    constructor(side) { super("square"); this.side = side; }
    area() { return this.side ** 2; }
}
for (const shape of [new Square(4), new Shape("cloud")]) {
    try {
        console.log(shape.area());
    } catch (error) {
        console.log(error instanceof TypeError, error.message);
    } finally {
        console.log("finally", shape.name);
    }
}

function* primes() {
    const found = [];
    for (let n = 2; ; n++) {
        if (found.every((p) => n % p)) {
            found.push(n);
            yield n;
        }
    }
}
const some = [];
for (const p of primes()) {
    if (some.push(p) == 40) break;
}
console.log(some.slice(-5).join(" "));

const depth = (n) => (n == 0 ? 0 : 1 + depth(n - 1));
console.log(depth(300));
let overflow = false;
try {
    (function endless() { endless(); })();
} catch (error) {
    overflow = error instanceof Error;
}
console.log("overflow", overflow);

const words = "the quick brown fox jumps over the lazy dog".split(" ");
words.sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
console.log(words.join(","));
const counts = new Map();
for (const c of words.join("")) counts.set(c, (counts.get(c) ?? 0) + 1);
console.log([...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).slice(0, 4).flat().join(""));

const parsed = JSON.parse('{"list": [1, 2.5, {"deep": [null, true]}], "text": "\\u00e4"}');
console.log(JSON.stringify(parsed, (key, value) => (typeof value == "number" ? value * 2 : value)));
console.log("2026-11-23".replace(/(\d+)-(\d+)-(\d+)/, "$3.$2.$1"), /(?<=a)b+/u.exec("cabbb")[0]);
console.log((2n ** 100n).toString(), 0.1 + 0.2);

async function later(value) {
    await null;
    if (value > 2) throw new RangeError(`too late: ${value}`);
    return value;
}
Promise.allSettled([later(1), later(2), later(3)]).then((results) =>
    console.log(results.map((r) => r.value ?? r.reason.message).join(" | ")));
