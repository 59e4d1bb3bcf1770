#include "http/h2/block_cache.hpp"

#include <algorithm>
#include <cstring>

namespace coracle::http::h2 {

namespace {

struct sizes {
    std::uint32_t name;
    std::uint32_t value;
};

std::size_t total_size(std::span<const field> control, std::span<const field> fields) noexcept {
    std::size_t size = 0;
    for (const auto part : {control, fields}) {
        for (const field& f : part) size += sizeof(sizes) + f.name.size() + f.value.size();
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
        sizes s;
        std::memcpy(&s, at, sizeof s);
        at += sizeof s;
        // Sizes that differ: the texts are not where they are looked for.
        if (s.name != f.name.size() || s.value != f.value.size()) return false;
        if (!skip_if_equal(at, f.name) || !skip_if_equal(at, f.value)) return false;
    }
    return true;
}

void append(std::string& out, std::span<const field> fields) {
    for (const field& f : fields) {
        const sizes s{static_cast<std::uint32_t>(f.name.size()),
                      static_cast<std::uint32_t>(f.value.size())};
        out.append(reinterpret_cast<const char*>(&s), sizeof s).append(f.name).append(f.value);
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
