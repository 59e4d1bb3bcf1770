-- Asks for /sleep?ms=0...10, evenly and by a fixed seed, so that every server gets the same mix.
local requests = {}

function init(args)
    math.randomseed(1)
    for ms = 0, 10 do
        requests[ms] = wrk.format("GET", "/sleep?ms=" .. ms)
    end
end

function request()
    return requests[math.random(0, 10)]
end

dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "report.lua")
