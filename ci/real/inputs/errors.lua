-- Errors: pcall and xpcall, error objects, messages of the interpreter itself, deep and endless recursion.
local function attempt(name, f, ...)
  print(name, pcall(f, ...))
end

attempt("text", error, "text")
attempt("no text", error)
attempt("arithmetic", function() return 1 + {} end)
attempt("call", function() local none; none() end)
attempt("index", function() return (nil).field end)
attempt("compare", function() return 1 < "2" end)
attempt("concatenate", function() return "a" .. {} end)
attempt("in C", string.rep)
attempt("nested", function() return pcall(error, "inner") end)

-- Through C in each step, which is limited to 200 calls.
local depth = 0
local function recurse()
  depth = depth + 1
  return (("x"):gsub("x", recurse))
end
local ok, message = pcall(recurse)
print("endless", ok, message:match("stack overflow"), depth > 100)

print(xpcall(function() error({ code = 3 }) end, function(e) return "handled " .. e.code end))
print(xpcall(function() local x = nil; return x.y end, function(e) return "handled " .. e end))
print(select("#", xpcall(function(...) return ... end, print, 1, nil, 3)))

local Checked = setmetatable({}, { __index = function(_, key) error("no field " .. key, 2) end })
attempt("metamethod", function() return Checked.missing end)

for i = 1, 200 do
  local fine, e = pcall(function() if i % 3 == 0 then error(i, 0) end; return i end)
  if i % 50 == 0 then print(i, fine, e) end
end
print(load("return +"))
