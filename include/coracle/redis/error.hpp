#pragma once

#include <cstdint>
#include <string_view>
#include <system_error>

namespace coracle::redis {

/// The errors of Redis, besides those of the connection to it. The text that the server sent is in
/// the subject of the `error`.
enum class errc : std::uint8_t {
    error_reply = 1,    ///< any error reply that is none of those below
    not_authenticated,  ///< NOAUTH, WRONGPASS: no password, or a wrong one
    no_permission,      ///< NOPERM: the user may not do this
    wrong_type,         ///< WRONGTYPE: the key holds another kind of value
    no_script,          ///< NOSCRIPT: the server does not know this script
    out_of_memory,      ///< OOM: the server takes no more data
    read_only,          ///< READONLY: a replica
    moved,              ///< MOVED, ASK: another node of the cluster has the key
    cross_slot,         ///< CROSSSLOT: the keys are on several nodes of the cluster
    unavailable,        ///< LOADING, BUSY, MASTERDOWN, CLUSTERDOWN, TRYAGAIN: later, perhaps
    malformed_reply,    ///< the bytes that came are no reply
    shared_connection,  ///< the command changes the state of a connection that others share
};

const std::error_category& category() noexcept;
std::error_code make_error_code(errc e) noexcept;

/// Returns the error that an error reply means, by its first word.
errc code_of_reply(std::string_view text) noexcept;

}  // namespace coracle::redis

template <>
struct std::is_error_code_enum<coracle::redis::errc> : std::true_type {};
