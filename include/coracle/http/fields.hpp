#pragma once

#include <coracle/base/arena.hpp>
#include <coracle/http/field.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace coracle::http {

/// The fields of a message (RFC 9110 section 5): names compare without case; order and repeated
/// lines are kept. Views that it gives live until it is changed or destroyed. A regular value type;
/// not thread-safe.
class fields {
public:
    fields() noexcept = default;
    fields(const fields& other);
    fields& operator=(const fields& other);
    fields(fields&& other) noexcept;
    fields& operator=(fields&& other) noexcept;
    ~fields() = default;

    const field* begin() const noexcept { return lines_; }
    const field* end() const noexcept { return lines_ + size_; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }

    /// The value of the first such line; empty when there is none.
    std::string_view get(std::string_view name) const noexcept;
    std::string_view get(field_id id) const noexcept;
    bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }
    bool contains(field_id id) const noexcept;
    /// The first such line, or null.
    const field* find(std::string_view name) const noexcept;

    /// Returns true if a list field, over all its lines, has this member (RFC 9110 section 5.6.1),
    /// compared without case.
    bool has_token(field_id id, std::string_view token) const noexcept;

    /// Appends a line. Throws `exception` (invalid_argument) when the name is no token or the value
    /// could end its line (CR, LF, NUL and other control bytes), so a response cannot be split.
    void add(std::string_view name, std::string_view value);
    /// Appends a copy of a line of another message, which is as secret as that. Throws as above.
    void add(const field& line);
    /// Replaces all such lines by one. Throws as `add`.
    void set(std::string_view name, std::string_view value);
    /// Marks the lines of this name as secrets: HTTP/2 keeps them out of the tables of its
    /// compression, whose sizes could tell them, and so does whoever forwards them (RFC 7541
    /// section 7.1.3). Credentials and cookies always are. No effect on HTTP/1.
    void never_index(std::string_view name) noexcept;
    void remove(std::string_view name) noexcept;
    void clear() noexcept {
        memory_.reset();
        lines_ = nullptr;
        size_ = capacity_ = 0;
    }

    /// Replaces the lines by ones whose texts live in `memory()`, or longer. For codecs.
    void adopt(const field* lines, std::size_t count);
    /// Makes room for so many lines in all.
    void reserve(std::size_t lines);
    /// Appends copies of lines that were checked already. For codecs.
    void append(std::span<const field> lines);
    arena& memory() noexcept { return memory_; }

private:
    void append(const field& line);
    static bool same_name(const field& f, std::string_view name, field_id id) noexcept;

    arena memory_;
    field* lines_ = nullptr;
    std::uint32_t size_ = 0;
    std::uint32_t capacity_ = 0;
};

}  // namespace coracle::http
