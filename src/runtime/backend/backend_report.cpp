#include "runtime/backend/make_backend.hpp"
#include "runtime/backend/uring.hpp"

#include <coracle/runtime/backend_report.hpp>

#include <iterator>

namespace coracle {
namespace {

struct known_feature {
    unsigned flag;
    const char* name;
    const char* effect;
    const char* without;
};

constexpr known_feature uring_features[] = {
    {detail::deferred_work, "DEFER_TASKRUN",
     "completions are made while the loop waits, not in between", "needs kernel 6.1"},
    {detail::cooperative_work, "COOP_TASKRUN", "completions do not interrupt the loop",
     "DEFER_TASKRUN takes its place"},
    {detail::multishot_receive, "multishot receive",
     "one request serves all reads of a connection, into buffers that the kernel picks",
     "needs kernel 6.0: bytes are polled for, then read"},
    {detail::registered_ring, "registered ring", "saves a look-up in each system call",
     "needs kernel 5.18"},
};

std::vector<backend_feature> describe(unsigned used) {
    std::vector<backend_feature> all;
    for (const known_feature& f : uring_features) {
        const bool has = (used & f.flag) != 0;
        all.push_back({f.name, has, has ? f.effect : f.without});
    }
    return all;
}

backend_status status_of(backend_kind kind) {
    backend_status s;
    s.kind = kind;
    const auto opened = detail::open_backend(kind);
    s.usable = opened.has_value();
    if (!s.usable) s.why_not = opened.error().message();
    if (s.usable && kind == backend_kind::uring) {
        s.features = describe(static_cast<const detail::uring_backend&>(**opened).features());
    }
    return s;
}

void choose(backend_report& r) {
    const auto wanted = detail::backend_from_environment();
    if (!wanted) {
        r.why = wanted.error().message();
        return;
    }
    for (const backend_status& s : r.backends) {
        if (*wanted == backend_kind::automatic ? !s.usable : s.kind != *wanted) continue;
        if (s.usable) r.chosen = s.kind;
        if (*wanted != backend_kind::automatic)
            r.why = s.usable ? "CORACLE_BACKEND names it" : s.why_not;
        else
            r.why = "the first, in order of preference, that works here";
        return;
    }
    r.why = "no backend works here";
}

constexpr std::string_view names[] = {"automatic", "uring", "epoll", "poll"};

}  // namespace

std::string_view to_string(backend_kind kind) noexcept {
    return names[static_cast<std::size_t>(kind)];
}

std::optional<backend_kind> parse_backend_kind(std::string_view text) noexcept {
    for (std::size_t i = 0; i != std::size(names); ++i) {
        if (names[i] == text) return static_cast<backend_kind>(i);
    }
    return std::nullopt;
}

backend_report probe_backends() {
    backend_report r;
    for (const backend_kind kind : detail::backends_by_preference) {
        r.backends.push_back(status_of(kind));
    }
    choose(r);
    return r;
}

}  // namespace coracle
