#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::redis {

enum class reply_kind : std::uint8_t { nil, status, string, integer, array, error };

/// The reply to a command (RESP2): a value that owns its bytes. As safe between threads as a
/// std::string.
class reply {
public:
    /// A nil reply: there is no such key, say.
    reply() noexcept = default;
    reply(reply_kind k, std::string text) noexcept : text_(std::move(text)), kind_(k) {}
    explicit reply(std::int64_t n) noexcept : integer_(n), kind_(reply_kind::integer) {}
    explicit reply(std::vector<reply> elements) noexcept
        : elements_(std::move(elements)), kind_(reply_kind::array) {}

    reply_kind kind() const noexcept { return kind_; }
    bool is_nil() const noexcept { return kind_ == reply_kind::nil; }
    /// The bytes of a string, a status ("OK") or an error; empty for others. A view into the reply.
    std::string_view text() const noexcept { return text_; }
    /// Moves them out.
    std::string take_text() noexcept { return std::move(text_); }
    /// The value of an integer; 0 for others.
    std::int64_t integer() const noexcept { return integer_; }
    /// The elements of an array; none for others. Those of an array may be errors.
    std::span<const reply> elements() const noexcept { return elements_; }
    std::span<reply> elements() noexcept { return elements_; }

private:
    std::string text_;
    std::vector<reply> elements_;
    std::int64_t integer_ = 0;
    reply_kind kind_ = reply_kind::nil;
};

}  // namespace coracle::redis
