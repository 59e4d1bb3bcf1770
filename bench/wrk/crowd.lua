-- For loads of so many connections that opening them takes a good part of the run: `begin` on the
-- error stream says that each connection has had its first request, and what follows is measured.
-- The number of connections is the script's argument.
local text
local left

function init(args)
    text = wrk.format("GET", wrk.path)
    left = tonumber(args[1])
end

function request()
    if left then
        left = left - 1
        if left < 0 then
            io.stderr:write("begin\n")
            left = nil
        end
    end
    return text
end

dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "report.lua")
