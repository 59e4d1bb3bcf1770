#include "http/client/call_failure.hpp"

#include "http/milliseconds.hpp"

namespace coracle::http {
namespace {

struct part {
    const char* name;
    duration call_timings::* when;
};
constexpr part parts[] = {
    {"queued", &call_timings::queued},         {"resolved", &call_timings::resolved},
    {"connected", &call_timings::connected},   {"tunnelled", &call_timings::tunnelled},
    {"secured", &call_timings::secured},       {"sent", &call_timings::sent},
    {"first byte", &call_timings::first_byte},
};

}  // namespace

const response_info* info_of(const error& e) noexcept {
    const auto* const failure = dynamic_cast<const detail::call_failure*>(e.details());
    return failure == nullptr ? nullptr : &failure->info;
}

namespace detail {

void call_failure::describe(std::string& line) const {
    line += ", sent " + std::to_string(info.bytes_sent);
    line += ", received " + std::to_string(info.bytes_received) + ", after ";
    append_milliseconds(line, info.times.ended);
    line += " ms";
    const char* before = " (";
    for (const part& p : parts) {
        const duration when = info.times.*p.when;
        if (when <= duration::zero()) continue;
        line.append(before).append(p.name).append(" ");
        append_milliseconds(line, when);
        before = ", ";
    }
    if (before[0] == ',') line += ')';
    if (info.retry_held_back) {
        line += ", not retried: retry_budget_percent of the client's requests is used up";
    }
}

}  // namespace detail
}  // namespace coracle::http
