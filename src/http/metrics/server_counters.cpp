#include <coracle/http/metrics.hpp>

#include <algorithm>
#include <memory>
#include <span>
#include <string>

namespace coracle::http {
namespace {

struct row {
    std::string_view name;
    std::string_view help;
    std::uint64_t server_counters::* member;
};

constexpr row rows[] = {
    {"connections", "Connections that were accepted.", &server_counters::connections},
    {"open", "Connections that are open.", &server_counters::open},
    {"websockets", "WebSockets that are open, on connections and on streams of HTTP/2.",
     &server_counters::websockets},
    {"requests", "Requests.", &server_counters::requests},
    {"in_flight", "Requests in a handler that waits, or being written.",
     &server_counters::in_flight},
    {"responses_2xx", "Responses of this class, 1xx not among them.",
     &server_counters::responses_2xx},
    {"responses_3xx", "Responses of this class.", &server_counters::responses_3xx},
    {"responses_4xx", "Responses of this class.", &server_counters::responses_4xx},
    {"responses_5xx", "Responses of this class.", &server_counters::responses_5xx},
    {"handler_errors", "Exceptions that left a handler.", &server_counters::handler_errors},
    {"clients_gone", "Clients that hung up before the response.", &server_counters::clients_gone},
    {"malformed", "Malformed requests.", &server_counters::malformed},
    {"head_too_large", "Heads beyond their limit (431).", &server_counters::head_too_large},
    {"target_too_long", "Targets beyond their limit (414).", &server_counters::target_too_long},
    {"chunk_abuse", "Bodies beyond the limits of the chunked coding.",
     &server_counters::chunk_abuse},
    {"body_too_large", "Bodies beyond their limit (413).", &server_counters::body_too_large},
    {"decoded_too_large", "Bodies that are beyond their limit decompressed (413).",
     &server_counters::decoded_too_large},
    {"decoded_ratio", "Bodies that were compressed too far (413).",
     &server_counters::decoded_ratio},
    {"decoded_window", "Bodies whose decoder needs too much memory (413).",
     &server_counters::decoded_window},
    {"decoders_refused", "Bodies refused since the decoders of a loop hold too much (503).",
     &server_counters::decoders_refused},
    {"undecodable", "Bodies corrupt or cut short in their coding (400).",
     &server_counters::undecodable},
    {"head_timeouts", "Heads that came too slowly (408).", &server_counters::head_timeouts},
    {"body_timeouts", "Bodies that stalled.", &server_counters::body_timeouts},
    {"body_too_slow", "Bodies slower than body_rate.", &server_counters::body_too_slow},
    {"write_timeouts", "Clients that did not read.", &server_counters::write_timeouts},
    {"write_too_slow", "Clients that read slower than write_rate.",
     &server_counters::write_too_slow},
    {"half_closed_timeouts", "Handlers cut whose client had sent its end.",
     &server_counters::half_closed_timeouts},
    {"idle_timeouts", "Idle connections closed.", &server_counters::idle_timeouts},
    {"retired", "Connections closed for their age or number of requests.",
     &server_counters::retired},
    {"bodies_not_discarded", "Connections closed since a body was left unread.",
     &server_counters::bodies_not_discarded},
    {"pipeline_yields", "Times that a client with many pipelined requests had to wait for others.",
     &server_counters::pipeline_yields},
    {"accept_errors", "Failed accepts, for want of descriptors or memory.",
     &server_counters::accept_errors},
    {"out_of_memory", "Connections and requests refused for want of memory.",
     &server_counters::out_of_memory},
    {"accept_paused", "Times that no connection was accepted at their limit.",
     &server_counters::accept_paused},
    {"made_room", "Idle connections closed for the sake of new ones.", &server_counters::made_room},
    {"idle_shortened",
     "Idle connections closed early, as many connections or much memory were used.",
     &server_counters::idle_shortened},
    {"memory_refused", "Requests refused since too much memory was used.",
     &server_counters::memory_refused},
    {"client_limit", "Connections closed at connections_per_client.",
     &server_counters::client_limit},
    {"cut_by_drain", "Connections closed by a drain before their response was sent.",
     &server_counters::cut_by_drain},
    {"accepted_in_drain", "Connections that waited when a drain began.",
     &server_counters::accepted_in_drain},
    {"told_of_drain", "WebSockets, event streams and handlers that were told of a drain.",
     &server_counters::told_of_drain},
    {"tls_handshakes", "TLS handshakes that succeeded.", &server_counters::tls_handshakes},
    {"tls_resumptions", "TLS handshakes that resumed a session.",
     &server_counters::tls_resumptions},
    {"tls_failures", "TLS handshakes that failed.", &server_counters::tls_failures},
    {"tls_timeouts", "TLS handshakes beyond their time.", &server_counters::tls_timeouts},
    {"proxy_failures", "Connections of a proxy without a valid PROXY header.",
     &server_counters::proxy_failures},
    {"h2_connections", "Connections that spoke HTTP/2.", &server_counters::h2_connections},
    {"h2_streams_refused", "Clients of HTTP/2 cut for this limit.",
     &server_counters::h2_streams_refused},
    {"h2_continuations", "Clients of HTTP/2 cut for this limit.",
     &server_counters::h2_continuations},
    {"h2_resets", "Clients of HTTP/2 cut for this limit.", &server_counters::h2_resets},
    {"h2_pings", "Clients of HTTP/2 cut for this limit.", &server_counters::h2_pings},
    {"h2_settings", "Clients of HTTP/2 cut for this limit.", &server_counters::h2_settings},
    {"h2_idle_frames", "Clients of HTTP/2 cut for this limit.", &server_counters::h2_idle_frames},
    {"h2_empty_data", "Clients of HTTP/2 cut for this limit.", &server_counters::h2_empty_data},
    {"h2_small_data", "Clients of HTTP/2 cut for this limit.", &server_counters::h2_small_data},
    {"h2_queued_control", "Clients of HTTP/2 cut for this limit.",
     &server_counters::h2_queued_control},
};

/// A gauge with a label, of which each value has a number.
struct labelled_value {
    std::string_view value;
    std::uint64_t (*read)(const server_counters& c);
};
struct labelled_gauge {
    std::string_view name;
    std::string_view help;
    std::string_view label;
    std::span<const labelled_value> values;
};

// Other threads count meanwhile, so a part may be larger than the whole for a moment.
std::uint64_t rest_of(std::uint64_t all, std::uint64_t part) noexcept {
    return all - std::min(all, part);
}

constexpr labelled_value states[] = {
    {"handshaking", [](const server_counters& c) { return c.handshaking; }},
    {"active", [](const server_counters& c) { return c.draining != 0 ? 0 : c.active; }},
    {"idle",
     [](const server_counters& c) { return c.draining != 0 ? 0 : rest_of(c.open, c.active); }},
    {"draining", [](const server_counters& c) { return c.draining; }},
};
constexpr labelled_value versions[] = {
    {"1.1", [](const server_counters& c) { return rest_of(c.open, c.open_h2); }},
    {"2", [](const server_counters& c) { return c.open_h2; }},
};
constexpr labelled_gauge labelled[] = {
    {"coracle_server_connections_by_state", "Connections by what they do now.", "state", states},
    {"coracle_server_connections_by_version", "Open connections by their version of HTTP.",
     "version", versions},
};
/// The members of which those are made: all but `open`, which has a row too.
constexpr std::size_t members_of_labelled = 4;
static_assert(std::size(rows) + members_of_labelled ==
              sizeof(server_counters) / sizeof(std::uint64_t));

std::string name_of(const row& r) {
    std::string name("coracle_server_");
    if (r.member == &server_counters::open) return name + "open_connections";
    if (r.member == &server_counters::websockets) return name + "open_websockets";
    name += r.name;
    return r.member == &server_counters::in_flight ? name : name + "_total";
}

}  // namespace

void add_server_counters(metrics::registry& to, std::function<server_counters()> read) {
    const auto shared = std::make_shared<const std::function<server_counters()>>(std::move(read));
    for (const row& r : rows) {
        to.make_reader(name_of(r), r.help, [shared, member = r.member] {
            return static_cast<double>((*shared)().*member);
        });
    }
    for (const labelled_gauge& g : labelled) {
        const auto write = [shared, &g](const metrics::registry::series_writer& out) {
            const server_counters now = (*shared)();
            for (const labelled_value& v : g.values) {
                const std::string_view label[] = {v.value};
                out(label, static_cast<double>(v.read(now)));
            }
        };
        to.make_reader(g.name, g.help, {std::string(g.label)}, write);
    }
}

void remove_server_counters(metrics::registry& from) {
    for (const row& r : rows) from.remove(name_of(r));
    for (const labelled_gauge& g : labelled) from.remove(g.name);
}

}  // namespace coracle::http
