# Prints the table of bench_mixed. Input lines are "ROW SERVER rate=... p50=... p99=... cpu=...", one per round and pair.
# All figures are medians over the rounds. A ratio is the median of the ratios within each round, because other load on the
# machine affects whole rounds.
{
    row = $1
    server = $2
    sub(/^floor-ws$/, "floor", server)
    for (i = 3; i <= NF; i++) {
        split($i, pair, "=")
        value[row, server, pair[1], ++n[row, server, pair[1]]] = pair[2] + 0
    }
}
function median(list, n,    i, j, x) {
    for (i = 2; i <= n; i++) {
        x = list[i]
        for (j = i - 1; j >= 1 && list[j] > x; j--) list[j + 1] = list[j]
        list[j + 1] = x
    }
    return n ? (n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2) : 0
}
function get(row, server, key,    i, list) {
    for (i = 1; i <= n[row, server, key]; i++) list[i] = value[row, server, key, i]
    return median(list, i - 1)
}
function ratio(row, server, base, key,    i, list) {
    for (i = 1; i <= n[row, server, key] && i <= n[row, base, key]; i++)
        list[i] = value[row, server, key, i] / value[row, base, key, i]
    return median(list, i - 1)
}
function beside(row, server, base) {
    return n[row, base, "rate"] ? sprintf("%.2f", ratio(row, server, base, "rate")) : "-"
}
function put(row, title,    i, server, names) {
    split("floor fumi jayson base", names, " ")
    for (i = 1; i <= 4; i++) {
        server = names[i]
        if (!n[row, server, "rate"]) continue
        printf "%-32s %-8s %10.0f %9s %9s", title, server, get(row, server, "rate"), beside(row, server, "floor"),
            beside(row, server, "jayson")
        if (n[row, server, "ns"]) printf " %8s %8s %12.3f\n", "", "", get(row, server, "ns") / 1000
        else printf " %8.1f %8.1f %12.3f\n", get(row, server, "p50"), get(row, server, "p99"), get(row, server, "cpu")
        title = ""
    }
}
function verdict(met, text, is) { printf "%-6s  %s: %s\n", met ? "met" : "MISSED", text, is }

# Checks the worst of the rows against a limit.
function at_least(limit, base, list, text,    i, k, names, is, worst) {
    k = split(list, names, " ")
    for (i = 1; i <= k; i++) {
        if (!n[names[i], base, "rate"]) return
        is = ratio(names[i], "fumi", base, "rate")
        if (i == 1 || is < worst) worst = is
    }
    verdict(worst >= limit, text, sprintf("%.2f", worst))
}
function handle(row, text) {
    if (!n[row, "base", "ns"]) printf "%-6s  %s: %.0f ns\n", "", text, get(row, "fumi", "ns")
    else verdict(ratio(row, "fumi", "base", "ns") <= 1, text " at most that of BASE",
        sprintf("%.0f ns, %.2f x", get(row, "fumi", "ns"), ratio(row, "fumi", "base", "ns")))
}
function allocations(    i, k, names, is, sum, list) {
    k = split("handle-1 handle-batch lines-32 lines-batch http-64 http-16x16 http-batch ws-64 ws-16x16 ws-batch", names, " ")
    for (i = 1; i <= k; i++) {
        if (!n[names[i], "counted", "allocs"]) continue
        is = value[names[i], "counted", "allocs", 1]
        sum += is
        list = list sprintf("\n        %-12s %8d in %8d calls", names[i], is, value[names[i], "counted", "calls", 1])
    }
    verdict(list != "" && sum == 0, "no heap allocation in the steady state", sum list)
}
END {
    printf "%-32s %-8s %10s %9s %9s %8s %8s %12s\n", "", "", "calls/s", "x floor", "x jayson", "p50 us", "p99 us", "cpu us/call"
    put("handle-1", "handle")
    put("handle-batch", "handle, batches")
    put("lines-1", "stdio, 1 in flight")
    put("lines-32", "stdio, 32 in flight")
    put("lines-batch", "stdio, batches")
    put("http-1", "HTTP, 1 connection")
    put("http-16", "HTTP, 16 connections")
    put("http-64", "HTTP, 64 connections")
    put("http-16x16", "HTTP, 16, 16 in flight each")
    put("http-batch", "HTTP, 16, batches")
    put("ws-1", "WebSocket, 1 connection")
    put("ws-16", "WebSocket, 16 connections")
    put("ws-64", "WebSocket, 64 connections")
    put("ws-16x16", "WebSocket, 16, 16 in flight each")
    put("ws-batch", "WebSocket, 16, batches")
    printf "\nA call has %d bytes, its answer %d, on average; batches have 15 to 45 calls. Medians of %d rounds. p50, p99:\n",
        get("handle-1", "fumi", "asked"), get("handle-1", "fumi", "answered"), rounds
    print "round-trip time of a message or batch. Server and load tool run on one core each; with only one message in flight"
    print "they share one. cpu: user and system time of the server. floor: a server that echoes without parsing."
    print ""
    handle("handle-1", "handle, a request")
    handle("handle-batch", "handle, a call in a batch")
    at_least(0.85, "floor", "http-16 http-64", "HTTP, 16 connections and more, at least 0.85 x the calls per second of the floor")
    allocations()
}
