#include "http/h2/block_cache.hpp"

#include <algorithm>
#include <cstring>

namespace coracle::http::h2 {

namespace {

/// The begin of a line that is kept, before its text: the number of its name, a bit that no line
/// here has, since secrets are not kept, and the sizes of name and value. The text is the name,
/// where that has no number, and the value. Pseudo-fields always come in the same order, so the
/// sizes of their names are enough.
using line_start = std::uint64_t;

/// Neither is longer in a line that is kept.
constexpr std::size_t longest_part = 0xffff;

line_start start_of(const field& f) noexcept {
    return line_start{f.value.size()} << 32 | line_start{f.name.size()} << 16 |
           line_start{f.never_indexed} << 8 | static_cast<line_start>(f.id);
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

// Compares a part and moves behind it.
bool skip_if_equal(const char*& at, std::string_view part) noexcept {
    const bool same = std::memcmp(at, part.data(), part.size()) == 0;
    at += part.size();
    return same;
}

// Where the sizes are equal, as many bytes are there.
bool skip_if_equal(const char*& at, const char* end, std::span<const field> fields) noexcept {
    for (const field& f : fields) {
        line_start s = 0;
        if (static_cast<std::size_t>(end - at) < sizeof s) return false;
        if ((f.name.size() | f.value.size()) > longest_part) return false;
        std::memcpy(&s, at, sizeof s);
        at += sizeof s;
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

bool block_cache::entry::is_of(std::span<const field> control,
                               std::span<const field> lines) const noexcept {
    const char* at = fields.data();
    const char* const end = at + fields.size();
    return !block.empty() && skip_if_equal(at, end, control) && skip_if_equal(at, end, lines) &&
           at == end;
}

std::string_view block_cache::find(std::span<const field> control,
                                   std::span<const field> fields) noexcept {
    if (!any_) return {};
    if (entries_[last_].is_of(control, fields)) return entries_[last_].block;
    const std::size_t place = total_size(control, fields) % count;
    if (place == last_ || !entries_[place].is_of(control, fields)) return {};
    last_ = place;
    return entries_[place].block;
}

void block_cache::keep(std::span<const field> control, std::span<const field> fields,
                       std::string_view block) {
    const std::size_t size = total_size(control, fields);
    if (size > longest) return;
    last_ = size % count;
    entry& e = entries_[last_];
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
