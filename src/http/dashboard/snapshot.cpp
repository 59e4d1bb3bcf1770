#include "http/dashboard/snapshot.hpp"

#include <coracle/http/problem.hpp>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace coracle::http::detail {
namespace {

constexpr std::size_t most_routes = 12;

double seconds(duration d) noexcept {
    return std::chrono::duration<double>(d).count();
}

void append_number(std::string& out, std::string_view name, double value) {
    char text[32];
    const auto [end, failure] =
        std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, 3);
    out.append("\"").append(name).append("\":");
    out.append(failure == std::errc() ? std::string_view(text, end) : "0").append(",");
}

void end_with(std::string& out, std::string_view closing) {
    if (out.back() == ',') out.pop_back();
    out.append(closing);
}

/// The counters of limits, by the names that docs/limits.md has.
struct limit_row {
    std::string_view name;
    std::uint64_t server_counters::* member;
};
constexpr limit_row limit_rows[] = {
    {"handler_errors", &server_counters::handler_errors},
    {"clients_gone", &server_counters::clients_gone},
    {"malformed", &server_counters::malformed},
    {"head_too_large", &server_counters::head_too_large},
    {"target_too_long", &server_counters::target_too_long},
    {"chunk_abuse", &server_counters::chunk_abuse},
    {"body_too_large", &server_counters::body_too_large},
    {"decoded_too_large", &server_counters::decoded_too_large},
    {"decoded_ratio", &server_counters::decoded_ratio},
    {"decoded_window", &server_counters::decoded_window},
    {"decoders_refused", &server_counters::decoders_refused},
    {"undecodable", &server_counters::undecodable},
    {"head_timeouts", &server_counters::head_timeouts},
    {"body_timeouts", &server_counters::body_timeouts},
    {"body_too_slow", &server_counters::body_too_slow},
    {"write_timeouts", &server_counters::write_timeouts},
    {"write_too_slow", &server_counters::write_too_slow},
    {"half_closed_timeouts", &server_counters::half_closed_timeouts},
    {"idle_timeouts", &server_counters::idle_timeouts},
    {"bodies_not_discarded", &server_counters::bodies_not_discarded},
    {"pipeline_yields", &server_counters::pipeline_yields},
    {"accept_errors", &server_counters::accept_errors},
    {"out_of_memory", &server_counters::out_of_memory},
    {"accept_paused", &server_counters::accept_paused},
    {"made_room", &server_counters::made_room},
    {"idle_shortened", &server_counters::idle_shortened},
    {"memory_refused", &server_counters::memory_refused},
    {"client_limit", &server_counters::client_limit},
    {"tls_failures", &server_counters::tls_failures},
    {"tls_timeouts", &server_counters::tls_timeouts},
    {"proxy_failures", &server_counters::proxy_failures},
    {"h2_streams_refused", &server_counters::h2_streams_refused},
    {"h2_continuations", &server_counters::h2_continuations},
    {"h2_resets", &server_counters::h2_resets},
    {"h2_pings", &server_counters::h2_pings},
    {"h2_settings", &server_counters::h2_settings},
    {"h2_idle_frames", &server_counters::h2_idle_frames},
    {"h2_empty_data", &server_counters::h2_empty_data},
    {"h2_small_data", &server_counters::h2_small_data},
    {"h2_queued_control", &server_counters::h2_queued_control},
};

/// Those that tell of no limit: connections and requests, responses by class, drains, handshakes.
constexpr std::size_t other_counters = 20;
static_assert(std::size(limit_rows) + other_counters ==
                  sizeof(server_counters) / sizeof(std::uint64_t),
              "a new counter: of a limit, or one of the others?");

void append_limits(std::string& out, const server_counters& c) {
    out += "\"limits\":{";
    for (const limit_row& r : limit_rows) {
        if (c.*r.member == 0) continue;
        out.append("\"").append(r.name).append("\":").append(std::to_string(c.*r.member)) += ',';
    }
    end_with(out, "},");
}

void append_routes(std::string& out, const snapshot& before, const snapshot& now, double passed) {
    std::vector<const route_table::value_type*> all;
    for (const auto& r : now.routes) all.push_back(&r);
    const auto mean = [](const route_counts& r) {
        return seconds(r.total) * 1000 /
               static_cast<double>(std::max<std::uint64_t>(1, r.requests));
    };
    std::ranges::sort(all, [&](auto* a, auto* b) { return mean(a->second) > mean(b->second); });
    if (all.size() > most_routes) all.resize(most_routes);
    out += "\"routes\":[";
    for (const auto* r : all) {
        const auto old = before.routes.find(r->first);
        const std::uint64_t seen = old == before.routes.end() ? 0 : old->second.requests;
        out.append("{\"route\":").append(json_quoted(r->first)) += ',';
        append_number(out, "requests", static_cast<double>(r->second.requests));
        append_number(out, "rate", static_cast<double>(r->second.requests - seen) / passed);
        append_number(out, "mean", mean(r->second));
        append_number(out, "longest", seconds(r->second.longest) * 1000);
        append_number(out, "errors", static_cast<double>(r->second.errors));
        end_with(out, "},");
    }
    end_with(out, "],");
}

void append_loops(std::string& out, const snapshot& before, const snapshot& now) {
    out += "\"loops\":[";
    for (const auto& [index, l] : now.loops) {
        const auto old = before.loops.find(index);
        const loop_statistics was =
            old == before.loops.end() ? loop_statistics() : old->second.statistics;
        const double passed = std::max(1e-9, seconds(l.statistics.age - was.age));
        out += '{';
        append_number(out, "index", index);
        append_number(out, "busy",
                      seconds(l.statistics.processor_time - was.processor_time) / passed);
        append_number(out, "turns", static_cast<double>(l.statistics.turns - was.turns) / passed);
        end_with(out, "},");
    }
    end_with(out, "],");
}

void append_messages(std::string& out, const message_list& messages) {
    out += "\"messages\":[";
    for (const auto& m : messages.all()) {
        out.append("{\"level\":\"").append(to_string(m.level)).append("\",\"count\":");
        out.append(std::to_string(m.count)).append(",\"text\":");
        out.append(json_quoted(m.text)).append("},");
    }
    end_with(out, "]}");
}

}  // namespace

void snapshot::read(const loop_views& views) {
    views.for_each([this](const loop_view& v) {
        for (std::size_t i = 0; i != std::size(by_class); ++i) by_class[i] += v.by_class[i];
        bytes += v.bytes;
        v.latencies.add_to(latencies);
        v.add_routes_to(routes);
        loops[v.of().index()] = {v.of().statistics()};
    });
}

std::uint64_t snapshot::total() const noexcept {
    return std::accumulate(std::begin(by_class), std::end(by_class), std::uint64_t{0});
}

std::string event_between(const snapshot& before, const snapshot& now,
                          const std::optional<server_counters>& counters,
                          const message_list& messages) {
    const double passed = std::max(1e-3, seconds(now.at - before.at));
    latency_counts::snapshot since = now.latencies;
    for (std::size_t i = 0; i != since.size(); ++i) since[i] -= before.latencies[i];
    std::string out = "{";
    append_number(out, "total", static_cast<double>(now.total()));
    append_number(out, "rate", static_cast<double>(now.total() - before.total()) / passed);
    append_number(out, "failing",
                  static_cast<double>(now.by_class[5] - before.by_class[5]) / passed);
    append_number(out, "bytes", static_cast<double>(now.bytes));
    append_number(out, "p50", quantile_ms(since, 0.5));
    append_number(out, "p90", quantile_ms(since, 0.9));
    append_number(out, "p99", quantile_ms(since, 0.99));
    const server_counters c = counters.value_or(server_counters());
    append_number(out, "open", static_cast<double>(c.open));
    append_number(out, "in_flight", static_cast<double>(c.in_flight));
    out += "\"classes\":[";
    for (const std::uint64_t n : now.by_class) out.append(std::to_string(n)) += ',';
    end_with(out, "],");
    append_loops(out, before, now);
    append_routes(out, before, now, passed);
    append_limits(out, c);
    append_messages(out, messages);
    return out;
}

}  // namespace coracle::http::detail
