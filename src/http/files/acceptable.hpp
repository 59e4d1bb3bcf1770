#pragma once

#include <coracle/http/coding.hpp>
#include <coracle/http/fields.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace coracle::http::detail {

/// The content codings that a client prefers to the plain content, best first. Only those of which
/// files have variants.
class coding_choice {
public:
    std::span<const content_coding> list() const noexcept { return {list_.data(), size_}; }
    bool empty() const noexcept { return size_ == 0; }
    void add(content_coding c) noexcept { list_[size_++] = c; }

private:
    std::array<content_coding, 3> list_{};
    std::size_t size_ = 0;
};

/// Returns those of brotli, zstd and gzip that Accept-Encoding (RFC 9110 section 12.5.3) accepts,
/// in the order of its weights, and in this order where the weights are equal. Those that weigh
/// less than identity, where that is named, are left out. None without the field.
coding_choice acceptable_codings(const fields& all) noexcept;

/// Returns true if Accept (section 12.5.1) names text/html with a weight above 0; wildcards do not
/// count.
bool names_html(const fields& all) noexcept;

/// Returns true if Accept weighs application/json above text/html.
bool prefers_json(const fields& all) noexcept;

}  // namespace coracle::http::detail
