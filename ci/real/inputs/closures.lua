-- Closures, metatables, varargs, and a collector that has much to collect.
local function counter(step)
  local n = 0
  return function() n = n + step; return n end, function() n = 0 end
end
local next_one, reset = counter(3)
next_one(); next_one()
print(next_one()); reset(); print(next_one())

local function compose(...)
  local fs = table.pack(...)
  return function(x)
    for i = 1, fs.n do x = fs[i](x) end
    return x
  end
end
print(compose(math.sqrt, math.floor, tostring, string.reverse)(1450))

local memo = setmetatable({}, { __mode = "v" })
local function fib(n)
  if n < 2 then return n end
  local known = memo[n]
  if known then return known end
  known = fib(n - 1) + fib(n - 2)
  memo[n] = known
  return known
end
print(fib(60))

local Vector = {}
Vector.__index = Vector
Vector.__add = function(a, b) return setmetatable({ a[1] + b[1], a[2] + b[2] }, Vector) end
Vector.__eq = function(a, b) return a[1] == b[1] and a[2] == b[2] end
Vector.__tostring = function(v) return ("(%d, %d)"):format(v[1], v[2]) end
Vector.__call = function(v, k) return setmetatable({ v[1] * k, v[2] * k }, Vector) end
local sum = setmetatable({ 0, 0 }, Vector)
for i = 1, 300 do sum = sum + setmetatable({ i, -i }, Vector)(2) end
print(sum, sum == setmetatable({ 90300, -90300 }, Vector))

local finalised = 0
for i = 1, 50 do
  setmetatable({ ("x"):rep(i) }, { __gc = function() finalised = finalised + 1 end })
end
collectgarbage()
print(finalised)
print((function(...) return select("#", ...), (select(2, ...)) end)(1, nil, 3))
