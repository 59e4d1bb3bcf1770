#include <coracle/http/client_metrics.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace coracle::http {
namespace {

constexpr std::string_view others = "other";
constexpr std::string_view class_names[] = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};

/// The phases of an attempt in their order, each by the time at which it was done.
struct measured_phase {
    std::string_view name;
    duration call_timings::* done;
};
constexpr measured_phase phases[] = {
    {"queue", &call_timings::queued},      {"resolve", &call_timings::resolved},
    {"connect", &call_timings::connected}, {"proxy", &call_timings::tunnelled},
    {"tls", &call_timings::secured},       {"send", &call_timings::sent},
    {"wait", &call_timings::first_byte},   {"body", &call_timings::ended},
};
constexpr std::size_t send_phase = std::size(phases) - 3;
constexpr std::size_t body_phase = std::size(phases) - 1;

std::string_view failed_phase(const error& e) noexcept {
    if (e == std::errc::operation_canceled) return "cancelled";
    switch (e.phase()) {
        case phase::resolve: return "resolve";
        case phase::connect: return "connect";
        case phase::proxy: return "proxy";
        case phase::tls: return "tls";
        case phase::send: return "send";
        case phase::first_byte: return "wait";
        case phase::receive: return "body";
        case phase::none:
        case phase::close: break;
    }
    return others;
}

double seconds(duration d) noexcept {
    return std::chrono::duration<double>(d).count();
}

std::uint64_t next_id() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

/// The metrics of one host and class of status.
struct client_metrics::series {
    std::uint64_t of;   ///< the observer
    std::string host;   ///< as it is called
    std::string label;  ///< the same, or "other"
    unsigned status_class;
    metrics::counter calls;
    metrics::histogram took;
    std::array<std::optional<metrics::histogram>, std::size(phases)> parts;
};

/// The hosts that have series of their own. Thread-safe.
class client_metrics::host_names {
public:
    explicit host_names(std::size_t most) noexcept : most_(most) {}
    std::string label_of(std::string_view host) {
        const std::lock_guard lock(guard_);
        if (!known_.contains(host)) {
            if (known_.size() >= most_) return std::string(others);
            known_.emplace(host);
        }
        return std::string(host);
    }

private:
    const std::size_t most_;
    std::mutex guard_;
    std::set<std::string, std::less<>> known_;
};

client_metrics::client_metrics(metrics::registry& to, client_metrics_options options)
    : calls_(to.make_counter(options.prefix + "_calls_total",
                             "Calls that have ended, by the class of their status.",
                             {"host", "status"})),
      failures_(to.make_counter(options.prefix + "_failures_total",
                                "Calls that ended with an error, by its phase.",
                                {"host", "phase"})),
      durations_(to.make_histogram(options.prefix + "_call_duration_seconds",
                                   "From the begin of a call to the end of the body.",
                                   options.durations, {"host"})),
      phases_(to.make_histogram(options.prefix + "_phase_duration_seconds",
                                "Parts of the last attempt of a call.",
                                std::move(options.durations), {"host", "phase"})),
      hosts_(std::make_unique<host_names>(options.hosts)), id_(next_id()) {}

client_metrics::~client_metrics() = default;

std::unique_ptr<client_metrics::series> client_metrics::find(std::string_view host,
                                                             unsigned status_class) {
    std::string label = hosts_->label_of(host);
    const metrics::counter calls = calls_.with({label, class_names[status_class]});
    const metrics::histogram took = durations_.with({label});
    return std::make_unique<series>(
        series{id_, std::string(host), std::move(label), status_class, calls, took, {}});
}

void client_metrics::observe(const call_record& record) {
    // Recently used series, for each thread. Each series has one place.
    static thread_local std::array<std::unique_ptr<series>, 256> recent;
    const std::string_view host = record.info.url.authority();
    const unsigned status_class = std::min(5U, static_cast<unsigned>(record.status) / 100);
    // By the observer too: two of one client would take turns at each place.
    const std::size_t hash = std::hash<std::string_view>()(host) + status_class + 7 * id_;
    auto& place = recent[hash % recent.size()];
    const bool is_known = place != nullptr && place->of == id_ &&
                          place->status_class == status_class && place->host == host;
    if (!is_known) [[unlikely]]
        place = find(host, status_class);
    series& s = *place;
    s.calls.add();
    if (record.failure != nullptr) {
        failures_.with({s.label, failed_phase(*record.failure)}).add();
    }
    const call_timings& times = record.info.times;
    if (record.is_whole) s.took.observe(seconds(std::max(times.ended, times.first_byte)));
    const bool has_response = status_class != 0;
    duration before = times.begun;
    for (std::size_t i = 0; i != std::size(phases); ++i) {
        const duration done = times.*phases[i].done;
        // Each response has these, even within one turn of the loop, whose clock stands still.
        const bool is_sure = i >= send_phase && has_response;
        // The end of a failed call is not that of its body.
        if ((done <= duration::zero() && !is_sure) || (i == body_phase && !record.is_whole))
            continue;
        if (!s.parts[i]) [[unlikely]]
            s.parts[i] = phases_.with({s.label, phases[i].name});
        s.parts[i]->observe(seconds(std::max(done - before, duration::zero())));
        before = std::max(before, done);
    }
}

}  // namespace coracle::http
