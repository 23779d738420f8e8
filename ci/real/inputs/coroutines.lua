-- Coroutines: generators, one inside the other, yields across pcall, and errors inside.
local function permutations(items, n)
  n = n or #items
  if n <= 1 then coroutine.yield(items) end
  for i = 1, n do
    items[n], items[i] = items[i], items[n]
    permutations(items, n - 1)
    items[n], items[i] = items[i], items[n]
  end
end

local count = 0
for p in coroutine.wrap(function() permutations { 1, 2, 3, 4 } end) do
  count = count + 1
  if count % 8 == 1 then print(table.concat(p, " ")) end
end
print(count)

local function filter(keep, from)
  return coroutine.wrap(function()
    for value in from do
      if keep(value) then coroutine.yield(value) end
    end
  end)
end

local source = coroutine.wrap(function() for i = 2, 60 do coroutine.yield(i) end end)
local primes = {}
while true do
  local prime = source()
  if not prime then break end
  primes[#primes + 1] = prime
  source = filter(function(value) return value % prime ~= 0 end, source)
end
print(table.concat(primes, " "))

local co = coroutine.create(function(first)
  print(pcall(function()
    local second = coroutine.yield(first * 2)
    error("with " .. second, 0)
  end))
  local closes <close> = setmetatable({}, { __close = function() print("closed") end })
  coroutine.yield("between")
  error { code = 9 }
end)
print(coroutine.resume(co, 21))
print(coroutine.resume(co, "two"))
local ok, value = coroutine.resume(co)
print(ok, value.code, coroutine.status(co), (coroutine.close(co)))
print(coroutine.resume(co))
