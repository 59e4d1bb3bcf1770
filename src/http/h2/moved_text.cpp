#include "http/h2/moved_text.hpp"

#include <cstddef>
#include <new>

namespace coracle::http::h2 {

void moved_text::give_lines(fields& to, std::span<const field> lines, const field* last) const {
    constexpr std::size_t usual = 40;
    const std::size_t count = lines.size() + (last != nullptr ? 1 : 0);
    if (count > usual) {
        to.reserve(count);
        to.append(lines);
        if (last != nullptr) to.append({last, 1});
        return;
    }
    // Not an array of fields: they would be cleared first.
    alignas(field) std::byte memory[usual * sizeof(field)];
    auto* const all = reinterpret_cast<field*>(memory);
    field* next = all;
    for (const field& f : lines) {
        const std::string_view name = f.id == field_id::other ? at(f.name) : to_string(f.id);
        ::new (static_cast<void*>(next++)) field{name, at(f.value), f.id};
    }
    if (last != nullptr) ::new (static_cast<void*>(next++)) field(*last);
    to.adopt(all, count);
}

}  // namespace coracle::http::h2
