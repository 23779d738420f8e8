-- Strings: patterns, replacement by functions, formats, packing, UTF-8.
local text = ("The quick brown fox jumps over the lazy dog. "):rep(12)
local counts, order = {}, {}
for word in text:lower():gmatch("%a+") do
  if not counts[word] then order[#order + 1] = word end
  counts[word] = (counts[word] or 0) + 1
end
table.sort(order)
for _, word in ipairs(order) do io.write(word, "=", counts[word], " ") end
print()

print((text:sub(1, 44):gsub("(%w+) (%w+)", "%2 %1")))
print((text:sub(1, 44):gsub("%w+", function(w) return #w > 4 and w:upper() or nil end)))
print(("key = value # comment"):match("^(%w+)%s*=%s*(%w+)"))
print(("f(a(b)c)d"):match("%b()"), ("  trim  "):match("^%s*(.-)%s*$") .. "|")
print(("%5d|%-8s|%08.3f|%q|%x|%g"):format(42, "left", 3.14159, "a\n\"b\"", 255, 1e100))
print(string.pack(">I4 s2 d", 1, "abc", 1.5):byte(1, -1))
print(string.unpack("<i2 z", string.pack("<i2 z", -2, "zero")))
print(utf8.char(72, 228, 8364, 128512), utf8.len("häß€"), #"häß€")
for _, code in utf8.codes("aß€") do io.write(code, " ") end
print(("x"):rep(5, "-"), ("abc"):reverse(), ("a,b,,c"):find(",,", 1, true))

local parts = {}
for i = 1, 300 do parts[#parts + 1] = tostring(i * i) end
local joined = table.concat(parts, ";")
local sum = 0
for number in joined:gmatch("%d+") do sum = sum + tonumber(number) end
print(#joined, sum)
