# The table of bench_net: lines are "SCENARIO SERVER rate=... p50=... p99=... cpu=... busy=...", one for each round of
# each pair. Figures are medians of all rounds, and so are ratios, each of two figures of the same round: others on the
# machine disturb whole rounds, and one that by luck is fast proves nothing. With "SERVER,shared" load and server had
# one core, and only cpu counts, as it does from no other line of that scenario. The first line of an idle measurement is
# without the idle connections.
{
    scenario = $1
    if (scenario == "idle") scenario = /idle=/ ? "idle-beside" : "idle-alone"
    server = $2
    shared = sub(/,shared$/, "", server)
    sub(/^(floor-ws|idle-floor)$/, "floor", server)
    sub(/^idle-server$/, "spec-server", server)
    at = scenario SUBSEP server
    seen[at] = 1
    for (i = 3; i <= NF; i++) {
        split($i, pair, "=")
        if (!shared && pair[1] == "cpu" && scenario ~ /^wrk/) pair[1] = "own" # while load had another core
        if (shared != (pair[1] == "cpu") && scenario !~ /-1$|^idle/) continue
        value[at, pair[1], ++rounds_of[at, pair[1]]] = pair[2] + 0
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
function get(scenario, server, key,    at, n, i, list) {
    at = scenario SUBSEP server
    n = rounds_of[at, key]
    for (i = 1; i <= n; i++) list[i] = value[at, key, i]
    return median(list, n)
}
function most(scenario, server, key,    at, i, max) {
    at = scenario SUBSEP server
    for (i = 1; i <= rounds_of[at, key]; i++) if (value[at, key, i] > max) max = value[at, key, i]
    return max + 0
}
function ratio(scenario, server, base, key,    at, to, n, i, k, list) {
    at = scenario SUBSEP server
    to = scenario SUBSEP base
    n = rounds_of[at, key] < rounds_of[to, key] ? rounds_of[at, key] : rounds_of[to, key]
    for (i = 1; i <= n; i++) if (value[to, key, i] > 0) list[++k] = value[at, key, i] / value[to, key, i]
    return median(list, k)
}

function section(title) {
    printf "\n%-22s %-12s %10s %8s %10s %10s %12s %8s %6s\n", title, "", "calls/s", "x floor", "p50 us", "p99 us",
        "cpu us/call", "x floor", "busy"
}
function rows(scenario, title,    i, server, label) {
    label = title
    for (i = 1; i <= servers_n; i++) {
        server = servers[i]
        if (!((scenario, server) in seen)) continue
        printf "%-22s %-12s %10.0f %8.2f %10.1f %10.1f", label, shown(server), get(scenario, server, "rate"),
            ratio(scenario, server, "floor", "rate"), get(scenario, server, "p50"), get(scenario, server, "p99")
        if ((scenario, server, "cpu") in rounds_of)
            printf " %12.3f %8.2f %5.0f%%", get(scenario, server, "cpu"), ratio(scenario, server, "floor", "cpu"),
                get(scenario, server, "busy") * 100
        printf "\n"
        label = ""
    }
}
function shown(server) { return server == "chain" ? "whole chain" : server }

# One line for each target, with the row that is furthest from it. sign 1: at least, -1: at most.
function check(sign, limit, server, base, key, list, text,    n, names, i, is, worst, where) {
    n = split(list, names, " ")
    where = ""
    for (i = 1; i <= n; i++) {
        if (!((names[i], server, key) in rounds_of) || !((names[i], base, key) in rounds_of)) continue
        is = ratio(names[i], server, base, key)
        if (where == "" || sign * (is - worst) < 0) { worst = is; where = names[i] }
    }
    if (where == "") { printf "%-6s  %s\n", "none", text; return }
    verdict(sign * (worst - limit) >= 0, text, sprintf("%.3f", worst), n > 1 ? " (" where ")" : "")
}
function verdict(met, text, is, where) { printf "%-6s  %s: %s%s\n", met ? "met" : "MISSED", text, is, where }

function checks(    alone, many, all, wrk, ws, i, peer) {
    alone = "http-1 http-16 http-64 http-256"
    many = "http-16 http-64 http-256 http-16x16 http-batch"
    all = "http-1 " many
    wrk = "wrk wrk-batch"
    ws = "ws-1 ws-16 ws-64 ws-256"
    check(-1, 1.10, "spec-server", "floor", "cpu", alone, "HTTP, at most 1.10 x the floor's CPU a call")
    check(-1, 1.15, "chain", "floor", "cpu", alone, "HTTP with the whole chain, at most 1.15 x the floor's CPU a call")
    check(1, 0.9, "spec-server", "floor", "rate", alone, "HTTP, at least 0.9 x the floor's calls a second")
    check(1, 0.7, "spec-server", "floor", "rate", "http-16x16", "HTTP pipelined, at least 0.7 x the floor's calls a second")
    check(1, 0.6, "spec-server", "floor", "rate", "wrk-batch", "HTTP batches of 100 by wrk, at least 0.6 x the floor's calls a second")
    check(1, 0.6, "spec-server", "floor", "rate", "http-batch", "HTTP batches of 100 by our load tool, at least 0.6 x the floor's calls a second")
    check(1, 0.9, "spec-server", "floor", "rate", ws, "WebSocket, at least 0.9 x the floor's calls a second")
    check(1, 0.7, "spec-server", "floor", "rate", "ws-16x16", "WebSocket 16 x 16, at least 0.7 x the floor's calls a second")
    check(1, 1.0, "spec-server", "nginx", "rate", all, "HTTP, above nginx's calls a second")
    check(1, 1.0, "spec-server", "nginx", "rate", wrk, "HTTP by wrk, above nginx's calls a second")
    check(-1, 1.0, "spec-server", "nginx", "cpu", all " " wrk, "HTTP, below nginx's CPU a call")
    for (i = 1; i <= 2; i++) {
        peer = i == 1 ? "jayson" : "fastify"
        check(1, 4, "spec-server", peer, "rate", many, "HTTP, 16 connections and more, at least 4 x the calls a second of " peer)
        check(1, 4, "spec-server", peer, "rate", "http-1", "HTTP, 1 connection, at least 4 x the calls a second of " peer \
            sprintf(" (the floor: %.2f)", ratio("http-1", "floor", peer, "rate")))
        check(1, 4, "spec-server", peer, "rate", wrk, "HTTP by wrk, at least 4 x the calls a second of " peer)
    }
    if (most("wrk", "spec-server", "failed") + most("wrk-batch", "spec-server", "failed")) print "MISSED  wrk: every request answered with 200"
    check(1, 0.9, "spec-server", "floor", "rate", "wrk", "wrk, 64 connections, at least 0.9 x the floor's calls a second")
    check(-1, 1.10, "spec-server", "floor", "own", "wrk", "wrk, on a core of its own, at most 1.10 x the floor's CPU a call")
    idle_checks()
}
function idle_checks(    n, p99, memory) {
    if (!(("idle-beside", "spec-server") in seen)) return
    n = most("idle-beside", "spec-server", "idle")
    p99 = get("idle-beside", "spec-server", "p99") / get("idle-alone", "spec-server", "p99")
    memory = most("idle-beside", "spec-server", "memory")
    verdict(p99 <= 2, "50 busy WebSocket connections beside " n " idle ones, p99 within 2 x", sprintf("%.2f", p99), "")
    verdict(memory < 2048, "user-space memory of an idle WebSocket connection under 2048 bytes", memory, "")
}

END {
    servers_n = split("floor spec-server chain nginx jayson fastify", servers, " ")
    section("HTTP, subtract")
    rows("http-1", "1 connection")
    rows("http-16", "16 connections")
    rows("http-64", "64 connections")
    rows("http-256", "256 connections")
    rows("http-16x16", "16, 16 in flight each")
    rows("http-batch", "16, batches of 100")
    rows("wrk", "wrk, 64 connections")
    rows("wrk-batch", "wrk, 16, batches")
    section("WebSocket, subtract")
    rows("ws-1", "1 connection")
    rows("ws-16", "16 connections")
    rows("ws-64", "64 connections")
    rows("ws-256", "256 connections")
    rows("ws-16x16", "16, 16 in flight each")
    rows("idle-alone", "50 connections")
    rows("idle-beside", "50 beside " most("idle-beside", "floor", "idle") " idle")
    printf "\nRequests of 61 bytes. Medians of %d rounds (jayson, fastify: %d). p50, p99: of the round trip of a message, a\n", rounds, few
    print "batch being one. Server and load tool have a core each; busy: the server's share of its own; below 100% the load tool was"
    print "what held it up. cpu: user and system time of the server, from runs with both on one core, as all with 1 connection."
    print "floor: bare epoll echo, reads no JSON. whole chain: with filters, rate limit, metrics, log. nginx: return 200."
    printf "\n"
    checks()
}
