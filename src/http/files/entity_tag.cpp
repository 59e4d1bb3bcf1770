#include "http/files/entity_tag.hpp"

#include "http/message/token.hpp"

#include <charconv>

namespace coracle::http::detail {
namespace {

// Returns true if a list of tags has `tag`. A tag may hold commas, so the list is cut at quotes.
bool list_has_tag(std::string_view list, std::string_view tag, tag_comparison how) noexcept {
    for (;;) {
        const std::size_t start = list.find_first_not_of(" \t,");
        if (start == std::string_view::npos) return false;
        list.remove_prefix(start);
        const bool weak = list.starts_with("W/");
        if (weak) list.remove_prefix(2);
        if (!list.starts_with('"')) return false;
        const std::size_t end = list.find('"', 1);
        if (end == std::string_view::npos) return false;
        const bool comparable = !weak || how == tag_comparison::weak;
        if (comparable && list.substr(0, end + 1) == tag) return true;
        list.remove_prefix(end + 1);
    }
}

void append_hexadecimal(std::string& text, std::uint64_t value) {
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, value, 16).ptr;
    text.append(digits, static_cast<std::size_t>(end - digits));
}

}  // namespace

std::string entity_tag_of(const file_status& status) {
    std::string tag = "\"";
    append_hexadecimal(tag, status.size);
    tag += '-';
    append_hexadecimal(tag, static_cast<std::uint64_t>(status.modified_ns));
    tag += '-';
    append_hexadecimal(tag, status.inode);
    tag += '"';
    return tag;
}

bool any_tag_matches(const fields& all, field_id id, std::string_view tag,
                     tag_comparison how) noexcept {
    const bool is_weak = tag.starts_with("W/");
    if (is_weak) tag.remove_prefix(2);
    const bool is_comparable = !is_weak || how == tag_comparison::weak;
    for (const field& f : all) {
        if (f.id != id) continue;
        if (trim_ows(f.value) == "*") return true;
        if (is_comparable && list_has_tag(f.value, tag, how)) return true;
    }
    return false;
}

}  // namespace coracle::http::detail
