#pragma once

#include <coracle/http/call_observer.hpp>

#include <vector>

namespace coracle::http::detail {

/// Notifies the observers of a client. One that throws, which only a lack of memory can make ours
/// do, loses the record.
inline void notify(const std::vector<call_observer>& all, const call_record& record) noexcept {
    for (const call_observer& o : all) {
        try {
            o.observe(o.self, record);
        } catch (...) {  // NOLINT(bugprone-empty-catch)
        }
    }
}

}  // namespace coracle::http::detail
