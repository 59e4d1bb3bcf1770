#pragma once

#include <coracle/runtime/backend.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle {

/// "automatic", "uring", "epoll" or "poll".
std::string_view to_string(backend_kind kind) noexcept;
/// The other way round; nothing when there is no such kind.
std::optional<backend_kind> parse_backend_kind(std::string_view text) noexcept;

/// Something that a kernel has or has not, and that a backend can do without.
struct backend_feature {
    std::string name;
    bool used = false;
    std::string effect;  ///< what it is good for, or why it is not used
};

/// The result of probing one kind of backend.
struct backend_status {
    backend_kind kind{};
    bool usable = false;
    std::string why_not;  ///< one sentence; empty when it is usable
    std::vector<backend_feature> features;
};

/// The backends that this machine can open, and the one that `backend_kind::automatic` chooses.
struct backend_report {
    std::vector<backend_status> backends;  ///< in the order of preference
    /// The kind that `automatic` opens now; `automatic` itself when none works, or when
    /// CORACLE_BACKEND names one that cannot be opened.
    backend_kind chosen = backend_kind::automatic;
    std::string why;  ///< one sentence
};

/// Opens and closes one backend of each kind. From any thread.
backend_report probe_backends();

}  // namespace coracle
