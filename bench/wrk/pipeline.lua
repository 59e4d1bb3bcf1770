-- Sixteen requests in one write; otherwise like report.lua.
local sixteen

function init(args)
    sixteen = string.rep(wrk.format("GET", wrk.path), 16)
end

function request()
    return sixteen
end

dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "report.lua")
