#include "http/h2/block_cache.hpp"

#include <algorithm>
#include <cstring>

namespace coracle::http::h2 {

namespace {

/// The begin of a line that is kept, before its text: its name where that has no number, and its
/// value. Pseudo-fields always come in the same order, so the sizes of their names are enough.
struct line_start {
    bool operator==(const line_start&) const noexcept = default;

    std::uint32_t id = 0;
    std::uint32_t name_size = 0;
    std::uint32_t value_size = 0;
};

line_start start_of(const field& f) noexcept {
    return {static_cast<std::uint32_t>(f.id), static_cast<std::uint32_t>(f.name.size()),
            static_cast<std::uint32_t>(f.value.size())};
}

/// The bytes of its name that are kept.
std::string_view name_of(const field& f) noexcept {
    const bool is_kept = f.id == field_id::other && !f.name.starts_with(':');
    return is_kept ? f.name : std::string_view();
}

std::size_t total_size(std::span<const field> control, std::span<const field> fields) noexcept {
    std::size_t size = 0;
    for (const auto part : {control, fields}) {
        for (const field& f : part) size += sizeof(line_start) + name_of(f).size() + f.value.size();
    }
    return size;
}

// Compares a part and moves `at` behind it. There are as many bytes as the sizes of all parts.
bool skip_if_equal(const char*& at, std::string_view part) noexcept {
    const bool same = std::memcmp(at, part.data(), part.size()) == 0;
    at += part.size();
    return same;
}

bool skip_if_equal(const char*& at, std::span<const field> fields) noexcept {
    for (const field& f : fields) {
        line_start s;
        std::memcpy(&s, at, sizeof s);
        at += sizeof s;
        // Sizes that differ: the texts are not where they are looked for.
        if (s != start_of(f)) return false;
        const std::string_view name = name_of(f);
        if (!name.empty() && !skip_if_equal(at, name)) return false;
        if (!skip_if_equal(at, f.value)) return false;
    }
    return true;
}

void append(std::string& out, std::span<const field> fields) {
    for (const field& f : fields) {
        const line_start s = start_of(f);
        out.append(reinterpret_cast<const char*>(&s), sizeof s).append(name_of(f)).append(f.value);
    }
}

}  // namespace

std::string_view block_cache::find(std::span<const field> control,
                                   std::span<const field> fields) const noexcept {
    if (!any_) return {};
    const std::size_t size = total_size(control, fields);
    const entry& e = entries_[size % count];
    if (e.block.empty() || e.fields.size() != size) return {};
    const char* at = e.fields.data();
    return skip_if_equal(at, control) && skip_if_equal(at, fields) ? std::string_view(e.block)
                                                                   : std::string_view();
}

void block_cache::keep(std::span<const field> control, std::span<const field> fields,
                       std::string_view block) {
    const std::size_t size = total_size(control, fields);
    if (size > longest) return;
    entry& e = entries_[size % count];
    e.block.clear();
    e.fields.clear();
    e.fields.reserve(size);
    append(e.fields, control);
    append(e.fields, fields);
    e.block = block;
    any_ = true;
}

void block_cache::forget() noexcept {
    if (!any_) return;
    for (entry& e : entries_) e.block.clear();
    any_ = false;
}

}  // namespace coracle::http::h2
