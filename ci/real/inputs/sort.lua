-- Sorting, with the comparison in Lua, called back from C.
local state = 42
local function random()
  state = (state * 1103515245 + 12345) % 2147483648
  return state >> 8
end

local numbers = {}
for i = 1, 400 do numbers[i] = random() % 10000 end
table.sort(numbers)
local descending = table.move(numbers, 1, #numbers, 1, {})
table.sort(descending, function(a, b) return a > b end)
for i = 1, #numbers do assert(numbers[i] == descending[#numbers + 1 - i]) end
print(numbers[1], numbers[200], numbers[400], table.concat(descending, ",", 1, 5))

local people = {}
for i = 1, 60 do people[i] = { name = string.char(97 + random() % 26) .. i, age = random() % 5 } end
table.sort(people, function(a, b)
  if a.age ~= b.age then return a.age < b.age end
  return a.name < b.name
end)
for i = 1, 5 do print(people[i].name, people[i].age) end
print(pcall(table.sort, { 3, 1, "two" }, function(a, b) return a < b end))
