#pragma once

#include <coracle/fs/plain_file.hpp>
#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http::detail {

/// The largest file that is read into memory and sent together with the head, instead of by
/// sendfile.
inline constexpr std::uint64_t small_file = 16 * 1024;

/// A representation of a file (RFC 9110 section 3.2), as it is sent. The views live for the call.
struct representation {
    /// The file with the content, unless it is in `bytes`. Its status gives the time and the tag.
    fs::plain_file file;
    /// The content in memory, or null. Never changed.
    std::shared_ptr<const std::string> bytes;
    std::string_view media_type;
    std::string_view cache_control;
    /// The content coding; empty for none.
    std::string_view coding;
    /// The version of what encoded `bytes`; empty where that was done before.
    std::string encoder;
    /// True if other clients get another coding (RFC 9110 section 12.5.5).
    bool varies = false;
    /// True if clients that accept other media types get something else (section 12.5.1).
    bool varies_by_type = false;
    bool nosniff = true;
    /// Set by `respond`: the offset of the bytes that it did not wait for.
    std::uint64_t cold_at = 0;

    std::uint64_t size() const noexcept { return bytes ? bytes->size() : file.status().size; }
};

/// The permission to wait for content that is not in memory.
enum class disk : bool { wait, do_not_wait };

/// Makes the response to a GET or HEAD: preconditions and ranges are applied to the representation.
/// Nothing, with `do_not_wait`, when a small file would have to be read from the disk; `r` is then
/// unchanged. Otherwise the content of `r` moves into the response.
std::optional<response> respond(const request& req, representation& r, disk d);

}  // namespace coracle::http::detail
