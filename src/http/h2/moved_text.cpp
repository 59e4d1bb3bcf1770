#include "http/h2/moved_text.hpp"

#include <cstddef>
#include <new>

namespace coracle::http::h2 {

void moved_text::give_lines(fields& to, std::span<const field> lines, const field* last) const {
    constexpr std::size_t usual = 40;
    const std::size_t count = lines.size() + (last != nullptr ? 1 : 0);
    // Not an array of fields: they would be cleared first.
    alignas(field) std::byte few[usual * sizeof(field)];
    field* const all =
        count <= usual ? reinterpret_cast<field*>(few) : to.memory().allocate_array<field>(count);
    field* next = all;
    for (const field& f : lines) {
        const std::string_view name = f.id == field_id::other ? at(f.name) : to_string(f.id);
        ::new (static_cast<void*>(next++)) field{name, at(f.value), f.id, f.never_indexed};
    }
    if (last != nullptr) ::new (static_cast<void*>(next++)) field(*last);
    to.adopt(all, count);
}

}  // namespace coracle::http::h2
