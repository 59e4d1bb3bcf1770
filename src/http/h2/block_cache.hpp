#pragma once

#include <coracle/http/field.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace coracle::http::h2 {

/// Field blocks whose compression changed no table (RFC 7541): they have references, and literals
/// that are not indexed. The same fields give the same bytes until another block or a new size
/// changes the table: a server whose responses differ in nothing but their content saves most of
/// HPACK's work. Blocks with a literal that is never to be indexed are not kept.
class block_cache {
public:
    /// Returns the bytes of these fields; empty: they are not here.
    std::string_view find(std::span<const field> control, std::span<const field> fields) noexcept;
    /// Keeps a block that was compressed just now, and has changed no table. Throws std::bad_alloc.
    void keep(std::span<const field> control, std::span<const field> fields,
              std::string_view block);
    /// Forgets all: the table has changed.
    void forget() noexcept;

    /// Larger ones are not kept, in bytes of names and values.
    static constexpr std::size_t longest = 1024;

private:
    struct entry {
        bool is_of(std::span<const field> control, std::span<const field> lines) const noexcept;

        std::string fields;  ///< sizes, names and values, one behind the other
        std::string block;   ///< empty: not used
    };
    static constexpr std::size_t count = 4;

    std::array<entry, count> entries_;
    std::size_t last_ = 0;  ///< the one that was found or kept last
    bool any_ = false;
};

}  // namespace coracle::http::h2
