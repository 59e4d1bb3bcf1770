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

// Takes an integer with a prefix of so many bits off the front (RFC 7541 section 5.1).
std::uint64_t take_integer(std::string_view& block, unsigned bits) noexcept {
    const std::uint64_t most = (1U << bits) - 1;
    std::uint64_t value = static_cast<unsigned char>(block.front()) & most;
    block.remove_prefix(1);
    if (value < most) return value;
    for (unsigned shift = 0; !block.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(block.front());
        block.remove_prefix(1);
        value += static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) break;
    }
    return value;
}

void skip_text(std::string_view& block) noexcept {
    if (block.empty()) return;
    const std::uint64_t size = take_integer(block, 7);
    block.remove_prefix(static_cast<std::size_t>(std::min<std::uint64_t>(size, block.size())));
}

enum class effect : std::uint8_t {
    none,     // on the table: references, and literals that are not indexed
    secret,   // none, but a literal is never to be indexed
    changes,  // the table
};

// Looks at the representations of a block that our own encoder made (RFC 7541 section 6).
effect effect_of(std::string_view block) noexcept {
    effect e = effect::none;
    while (!block.empty()) {
        const auto first = static_cast<unsigned char>(block.front());
        if ((first & 0x80) != 0) {
            take_integer(block, 7);
            continue;
        }
        // Incremental indexing, or a new size of the table.
        if ((first & 0xe0) != 0) return effect::changes;
        if ((first & 0x10) != 0) e = effect::secret;
        if (take_integer(block, 4) == 0) skip_text(block);
        skip_text(block);
    }
    return e;
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

void block_cache::compressed(std::span<const field> control, std::span<const field> fields,
                             std::string_view block) {
    const effect on_table = effect_of(block);
    if (on_table == effect::changes) forget();
    if (on_table != effect::none) return;
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
