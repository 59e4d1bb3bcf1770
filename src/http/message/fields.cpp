#include "base/ascii.hpp"
#include "http/message/token.hpp"

#include <coracle/base/error.hpp>
#include <coracle/http/fields.hpp>

#include <cstring>
#include <utility>

namespace coracle::http {

fields::fields(const fields& other) {
    append(std::span(other.begin(), other.size()));
}

fields& fields::operator=(const fields& other) {
    if (this != &other) *this = fields(other);
    return *this;
}

fields::fields(fields&& other) noexcept
    : memory_(std::move(other.memory_)), lines_(std::exchange(other.lines_, nullptr)),
      size_(std::exchange(other.size_, 0)), capacity_(std::exchange(other.capacity_, 0)) {}

fields& fields::operator=(fields&& other) noexcept {
    if (this != &other) {
        memory_ = std::move(other.memory_);
        lines_ = std::exchange(other.lines_, nullptr);
        size_ = std::exchange(other.size_, 0);
        capacity_ = std::exchange(other.capacity_, 0);
    }
    return *this;
}

bool fields::same_name(const field& f, std::string_view name, field_id id) noexcept {
    return f.id == id && (id != field_id::other || equal_ignoring_case(f.name, name));
}

const field* fields::find(std::string_view name) const noexcept {
    const field_id id = find_field_id(name);
    for (const field& f : *this) {
        if (same_name(f, name, id)) return &f;
    }
    return nullptr;
}

std::string_view fields::get(std::string_view name) const noexcept {
    const field* f = find(name);
    return f == nullptr ? std::string_view() : f->value;
}

std::string_view fields::get(field_id id) const noexcept {
    for (const field& f : *this) {
        if (f.id == id) return f.value;
    }
    return {};
}

bool fields::contains(field_id id) const noexcept {
    for (const field& f : *this) {
        if (f.id == id) return true;
    }
    return false;
}

bool fields::has_token(field_id id, std::string_view token) const noexcept {
    for (const field& f : *this) {
        if (f.id != id) continue;
        std::string_view rest = f.value;
        while (!rest.empty()) {
            const std::string_view item = coracle::detail::take_item(rest);
            if (equal_ignoring_case(trim_ows(item), token)) return true;
        }
    }
    return false;
}

void fields::reserve(std::size_t lines) {
    if (lines <= capacity_) return;
    field* const wider = memory_.allocate_array<field>(lines);
    if (size_ != 0) std::memcpy(static_cast<void*>(wider), lines_, size_ * sizeof(field));
    lines_ = wider;
    capacity_ = static_cast<std::uint32_t>(lines);
}

void fields::append(std::span<const field> lines) {
    reserve(size_ + lines.size());
    for (const field& f : lines) append(f);
}

void fields::append(const field& line) {
    if (size_ == capacity_) reserve(capacity_ == 0 ? 8 : std::size_t{capacity_} * 2);
    const bool has_other_name = line.id == field_id::other;
    const std::string_view name = has_other_name ? memory_.copy(line.name) : to_string(line.id);
    const std::string_view value = memory_.copy(line.value);
    ::new (static_cast<void*>(lines_ + size_)) field{name, value, line.id, line.never_indexed};
    ++size_;
}

namespace {

void check(std::string_view name, std::string_view value) {
    if (is_token(name) && is_field_value(value)) return;
    throw_exception(error(std::errc::invalid_argument, "field").on(is_token(name) ? name : "name"));
}

}  // namespace

void fields::add(std::string_view name, std::string_view value) {
    check(name, value);
    append({name, value, find_field_id(name)});
}

void fields::add(const field& line) {
    check(line.name, line.value);
    append({line.name, line.value, find_field_id(line.name), line.never_indexed});
}

void fields::never_index(std::string_view name) noexcept {
    const field_id id = find_field_id(name);
    for (std::uint32_t i = 0; i != size_; ++i) {
        if (same_name(lines_[i], name, id)) lines_[i].never_indexed = true;
    }
}

void fields::set(std::string_view name, std::string_view value) {
    check(name, value);
    const std::string_view copy = memory_.copy(value);
    remove(name);
    append({name, copy, find_field_id(name)});
}

void fields::remove(std::string_view name) noexcept {
    const field_id id = find_field_id(name);
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i != size_; ++i) {
        if (!same_name(lines_[i], name, id)) lines_[kept++] = lines_[i];
    }
    size_ = kept;
}

void fields::adopt(const field* lines, std::size_t count) {
    lines_ = memory_.allocate_array<field>(count == 0 ? 1 : count);
    if (count != 0) std::memcpy(static_cast<void*>(lines_), lines, count * sizeof(field));
    size_ = capacity_ = static_cast<std::uint32_t>(count);
}

}  // namespace coracle::http
