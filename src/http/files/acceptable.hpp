#pragma once

#include <coracle/http/coding.hpp>
#include <coracle/http/fields.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace coracle::http::detail {

/// The codings in which a client wants content rather than as it is, best first. Few: the ones of
/// which files have variants.
class coding_choice {
public:
    std::span<const content_coding> list() const noexcept { return {list_.data(), size_}; }
    bool empty() const noexcept { return size_ == 0; }
    void add(content_coding c) noexcept { list_[size_++] = c; }

private:
    std::array<content_coding, 3> list_{};
    std::size_t size_ = 0;
};

/// What Accept-Encoding (RFC 9110 section 12.5.3) accepts of brotli, zstd and gzip, in the order of
/// its weights, and of these three where they weigh the same. Those that weigh less than identity,
/// where that is named, are left out. Nothing without the field.
coding_choice acceptable_codings(const fields& all) noexcept;

/// Whether Accept (section 12.5.1) names text/html with a weight above 0; wildcards do not count.
bool names_html(const fields& all) noexcept;

/// Whether Accept weighs application/json above text/html.
bool prefers_json(const fields& all) noexcept;

}  // namespace coracle::http::detail
