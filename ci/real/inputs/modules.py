"""Modules of the library, and their use: json, re, functools."""
import functools
import json
import re


@functools.lru_cache(maxsize=None)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


print(fibonacci(90), functools.reduce(lambda a, b: a * b, range(1, 30)))
document = json.loads('{"list": [1, 2.5, {"deep": [null, true]}], "text": "\\u00e4"}')
print(json.dumps(document, sort_keys=True), json.dumps({1: [1.5, None, "ä"]}))
try:
    json.loads('{"list": [1, 2')
except json.JSONDecodeError as error:
    print(error)
print(re.sub(r"(\d+)-(\d+)-(\d+)", r"\3.\2.\1", "on 2026-11-23"), re.findall(r"\b(\w)\w*\b", "one two three"))
