#include <coracle/http/metrics.hpp>

#include <memory>
#include <string>

namespace coracle::http {
namespace {

struct row {
    std::string_view name;
    std::string_view help;
    double (*read)(const client_statistics& s);
};

template <auto Member>
double member(const client_statistics& s) {
    return static_cast<double>(s.*Member);
}
template <auto Member>
double member_of_h2(const client_statistics& s) {
    return static_cast<double>(s.h2.*Member);
}

using c = client_statistics;
using h = client_h2_statistics;

constexpr row rows[] = {
    {"coracle_client_calls_total", "Calls begun.", member<&c::calls>},
    {"coracle_client_failed_total", "Calls that ended in an error.", member<&c::failed>},
    {"coracle_client_retries_total", "Attempts behind the first.", member<&c::retries>},
    {"coracle_client_retries_held_back_total", "Retries that the budget refused.",
     member<&c::retries_held_back>},
    {"coracle_client_redirects_total", "Redirects followed.", member<&c::redirects>},
    {"coracle_client_opened_total", "Connections opened.", member<&c::opened>},
    {"coracle_client_reused_total", "Requests on a connection that had carried one.",
     member<&c::reused>},
    {"coracle_client_connections", "Open connections.", member<&c::connections>},
    {"coracle_client_idle", "Open connections without a request.", member<&c::idle>},
    {"coracle_client_waiting", "Calls that wait for a connection.", member<&c::waiting>},
    {"coracle_client_h2_connections_total", "Connections of HTTP/2 opened.",
     member_of_h2<&h::connections>},
    {"coracle_client_h2_goaways_total", "Servers that said they end a connection.",
     member_of_h2<&h::goaways>},
    {"coracle_client_h2_silent_total", "Connections lost since a PING had no response.",
     member_of_h2<&h::silent>},
};

}  // namespace

void add_client_statistics(metrics::registry& to, std::string_view name,
                           std::function<client_statistics()> read) {
    const auto shared = std::make_shared<const std::function<client_statistics()>>(std::move(read));
    for (const row& r : rows) {
        to.make_reader(std::string(r.name), r.help, {"client"},
                       [shared, name = std::string(name),
                        read_row = r.read](const metrics::registry::series_writer& write) {
                           const std::string_view values[] = {name};
                           write(values, read_row((*shared)()));
                       });
    }
}

}  // namespace coracle::http
