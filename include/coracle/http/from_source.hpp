#pragma once

#include <coracle/http/response.hpp>
#include <coracle/io/source.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace coracle::http {

/// A response whose body is read from `from`, from its beginning on, while it is sent. With `size`
/// the size is announced, and the source must have so many bytes; where the source can `seek`,
/// `ranged` can then send ranges of it. Without `size` it is sent as it comes, from where the
/// source stands. `from` must not be null; when the client goes away it is destroyed. `type` is as
/// for `stream`.
response from_source(std::unique_ptr<io::source> from,
                     std::optional<std::uint64_t> size = std::nullopt,
                     std::string_view type = "application/octet-stream");

}  // namespace coracle::http
