#pragma once

#include <coracle/runtime/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http {

class request;

/// Limits of a form.
struct form_limits {
    std::size_t pairs = 1000;         ///< names with their values
    std::size_t bytes = 1024 * 1024;  ///< of the encoded text
};

/// The names and values of application/x-www-form-urlencoded: of an HTML form, or of a query. Order
/// and repeated names are kept. Views that it gives live until it is changed, moved or destroyed.
/// A regular value type; not thread-safe.
class form {
public:
    struct entry {
        std::string_view name;
        std::string_view value;
    };
    class iterator;
    using const_iterator = iterator;

    form() noexcept = default;

    /// Reads `text` as the URL standard says (section 5.1): "+" is a space, "%XX" a byte, a "%"
    /// without two hexadecimal digits is itself, empty pairs are left out, a name without "=" has
    /// an empty value. Bytes are not checked to be UTF-8. Fails with `errc::limit_exceeded` on the
    /// name of the limit, and in no other way.
    static std::expected<form, error> parse(std::string_view text, const form_limits& limits = {});

    /// The first value of this name, decoded. Names compare byte by byte.
    std::optional<std::string_view> get(std::string_view name) const noexcept;
    /// Returns all values of this name, in their order.
    std::vector<std::string_view> get_all(std::string_view name) const;
    bool contains(std::string_view name) const noexcept { return get(name).has_value(); }

    /// Pairs.
    std::size_t size() const noexcept { return pairs_.size(); }
    bool empty() const noexcept { return pairs_.empty(); }
    entry operator[](std::size_t i) const noexcept {
        const pair& p = pairs_[i];
        return {std::string_view(text_).substr(p.begin, p.name_size),
                std::string_view(text_).substr(p.begin + p.name_size, p.value_size)};
    }
    iterator begin() const noexcept;
    iterator end() const noexcept;

    /// Appends a pair, copied; neither text is encoded yet.
    form& add(std::string_view name, std::string_view value);

    /// The encoded text: what `parse` reads back.
    std::string text() const;

private:
    struct pair {
        std::size_t begin;
        std::size_t name_size;
        std::size_t value_size;
    };
    std::size_t append_decoded(std::string_view encoded);

    /// Each name, followed by its value.
    std::string text_;
    std::vector<pair> pairs_;
};

/// Returns each `form::entry` in its order.
class form::iterator {
public:
    using value_type = entry;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;

    iterator() noexcept = default;
    iterator(const form& of, std::size_t at) noexcept : form_(&of), at_(at) {}
    entry operator*() const noexcept { return (*form_)[at_]; }
    iterator& operator++() noexcept {
        ++at_;
        return *this;
    }
    iterator operator++(int) noexcept { return {*form_, at_++}; }
    friend bool operator==(const iterator& a, const iterator& b) noexcept = default;

private:
    const form* form_ = nullptr;
    std::size_t at_ = 0;
};

inline form::iterator form::begin() const noexcept {
    return {*this, 0};
}
inline form::iterator form::end() const noexcept {
    return {*this, pairs_.size()};
}

/// Reads the body of `req` as a form. Fails with status 415 when its Content-Type is not
/// application/x-www-form-urlencoded or names another charset than UTF-8, with 413 beyond a limit,
/// and as reading the body does: a handler that lets the exception pass responds with that status.
/// `req` must outlive it. Cancelling it loses the body.
operation<form> read_form(request& req, form_limits limits = {});

}  // namespace coracle::http
