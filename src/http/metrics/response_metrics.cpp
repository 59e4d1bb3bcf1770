#include <coracle/http/metrics.hpp>

#include <array>
#include <atomic>
#include <optional>

namespace coracle::http {

/// The metrics of one route, method and class of status.
struct response_metrics::series {
    metrics::counter requests;
    metrics::histogram durations;
    metrics::histogram sizes;
};

namespace {

constexpr std::string_view class_names[] = {"1xx", "2xx", "3xx", "4xx", "5xx"};

std::uint64_t next_id() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::string_view method_label(const request& req) noexcept {
    return req.method() == method::other ? "other" : req.method_text();
}

/// A cache of recently used series, for each thread. Each series has one slot.
template <class Series>
class series_cache {
public:
    struct entry {
        std::uint64_t of;  ///< the observer
        std::string route;
        http::method method;
        unsigned status_class;
        Series found;
    };

    std::optional<entry>& place(const request& req, unsigned status_class) noexcept {
        // The address of a pattern is stable while its route is served.
        const auto route = reinterpret_cast<std::uintptr_t>(req.route().data());
        const auto method = static_cast<std::size_t>(req.method());
        return places_[(route / 16 + route / 1024 + method * 5 + status_class) % places_.size()];
    }
    static bool is(const entry& e, std::uint64_t of, const request& req,
                   unsigned status_class) noexcept {
        return e.of == of && e.status_class == status_class && e.method == req.method() &&
               e.route == req.route();
    }

private:
    std::array<std::optional<entry>, 64> places_;
};

}  // namespace

response_metrics::response_metrics(metrics::registry& to, response_metrics_options options)
    : requests_(to.make_counter(options.prefix + "_requests_total",
                                "Responses by route, method and class of status.",
                                {"route", "method", "status"})),
      durations_(to.make_histogram(options.prefix + "_request_duration_seconds",
                                   "From the head of a request to the end of its response.",
                                   std::move(options.durations), {"route"})),
      sizes_(to.make_histogram(options.prefix + "_response_body_bytes", "Sent bodies.",
                               std::move(options.sizes), {"route"})),
      id_(next_id()) {}

response_metrics::series response_metrics::find(const request& req, unsigned status_class) const {
    const std::string_view route = req.route();
    return {requests_.with({route, method_label(req), class_names[status_class - 1]}),
            durations_.with({route}), sizes_.with({route})};
}

void response_metrics::observe(const access_record& record) {
    if (!record.is_whole) return;
    static thread_local series_cache<series> recent;
    const unsigned number = static_cast<unsigned>(record.status) / 100;
    const unsigned status_class = number < 1 || number > 5 ? 5 : number;
    auto& place = recent.place(record.req, status_class);
    if (!place || !recent.is(*place, id_, record.req, status_class)) [[unlikely]] {
        place.emplace(id_, std::string(record.req.route()), record.req.method(), status_class,
                      find(record.req, status_class));
    }
    const series& s = place->found;
    s.requests.add();
    s.durations.observe(std::chrono::duration<double>(record.took).count());
    s.sizes.observe(static_cast<double>(record.body_bytes));
}

}  // namespace coracle::http
