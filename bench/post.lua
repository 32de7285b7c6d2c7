-- For wrk: subtract, alone or as many times in a batch as BATCH says. What is printed has the form of load's line.
local n = tonumber(os.getenv("BATCH") or "1")
local calls = {}
for id = 1, n do
  calls[id] = string.format('{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":%d}', id)
end
wrk.method = "POST"
wrk.body = n == 1 and calls[1] or "[" .. table.concat(calls, ",") .. "]"
wrk.headers["Content-Type"] = "application/json"

function done(summary, latency)
  local e = summary.errors
  local failed = e.connect + e.read + e.write + e.status + e.timeout
  io.write(string.format("\nwrk: rate=%.0f p50=%.1f p99=%.1f failed=%d seconds=%.3f\n",
    n * summary.requests * 1e6 / summary.duration, latency:percentile(50), latency:percentile(99), failed,
    summary.duration / 1e6))
end
