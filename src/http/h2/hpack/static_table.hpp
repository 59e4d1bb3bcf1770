#pragma once

#include <coracle/http/field.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::http::h2::hpack {

/// The number of entries of the static table (RFC 7541 appendix A).
inline constexpr std::size_t static_entries = 61;

/// An entry of a table.
struct table_entry {
    std::string_view name;
    std::string_view value;
    field_id id = field_id::other;
    /// Name and value are as RFC 9113 section 8.2.1 wants them: no use of it checks them again.
    /// False for pseudo-fields.
    bool well_formed = false;
};

/// Returns the entry of an index from 1 to `static_entries`.
[[nodiscard]] const table_entry& static_entry(std::size_t index) noexcept;

/// Returns the first index whose entry has this name, in lower case; 0 where none has. `id` is that
/// of the name.
[[nodiscard]] std::size_t find_static_name(field_id id, std::string_view name) noexcept;

/// Returns the index of the entry with this value among those with the name of the entry `first`,
/// or 0.
[[nodiscard]] std::size_t find_static_value(std::size_t first, std::string_view value) noexcept;

}  // namespace coracle::http::h2::hpack
