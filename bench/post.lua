-- For wrk: one subtract after the other. What is printed has the form of load's line.
wrk.method = "POST"
wrk.body = '{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}'
wrk.headers["Content-Type"] = "application/json"

function done(summary, latency)
  local e = summary.errors
  local failed = e.connect + e.read + e.write + e.status + e.timeout
  io.write(string.format("\nwrk: rate=%.0f p50=%.1f p99=%.1f failed=%d\n", summary.requests * 1e6 / summary.duration,
    latency:percentile(50), latency:percentile(99), failed))
end
