-- Prints what wrk's own summary leaves out, one `name value` pair a line. Times in microseconds.
-- `end` on the error stream tells the driver to read the server's clocks, before wrk closes its
-- connections.
function done(summary, latency, requests)
    io.stderr:write("end\n")
    local e = summary.errors
    print("requests " .. summary.requests)
    print("duration " .. summary.duration)
    print("p50 " .. latency:percentile(50))
    print("p99 " .. latency:percentile(99))
    print("p999 " .. latency:percentile(99.9))
    print("errors " .. (e.connect + e.read + e.write + e.status + e.timeout))
end
