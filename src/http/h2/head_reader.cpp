#include "http/h2/head_reader.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <new>

namespace coracle::http::h2 {

namespace {

std::string_view view(const std::uint8_t* bytes, std::size_t size) noexcept {
    return {reinterpret_cast<const char*>(bytes), size};
}

/// The most pseudo-fields that any head may have: those of extended CONNECT (RFC 8441 section 4).
constexpr std::uint32_t most_pseudo_fields = 5;

}  // namespace

void head_reader::free_inflater::operator()(nghttp2_hd_inflater* inflater) const noexcept {
    nghttp2_hd_inflate_del(inflater);
}

head_reader::head_reader() {
    nghttp2_hd_inflater* made = nullptr;
    if (nghttp2_hd_inflate_new(&made) != 0) throw std::bad_alloc();
    inflater_.reset(made);
}

void head_reader::begin(head_kind kind, const block_limits& limits, bool extended_connect) {
    release();
    kind_ = kind;
    limits_ = limits;
    extended_connect_ = extended_connect;
}

bool head_reader::read(std::string_view fragment, bool last) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(fragment.data());
    std::size_t left = fragment.size();
    for (;;) {
        nghttp2_nv field{};
        int found = 0;
        const auto used =
            nghttp2_hd_inflate_hd2(inflater_.get(), &field, &found, at, left, last ? 1 : 0);
        if (used == NGHTTP2_ERR_NOMEM) throw std::bad_alloc();
        if (used < 0) return false;
        at += used;
        left -= static_cast<std::size_t>(used);
        if ((found & NGHTTP2_HD_INFLATE_EMIT) != 0) {
            add(view(field.name, field.namelen), view(field.value, field.valuelen));
        }
        if ((found & NGHTTP2_HD_INFLATE_FINAL) != 0) {
            nghttp2_hd_inflate_end_headers(inflater_.get());
            return true;
        }
        if (left == 0 && (found & NGHTTP2_HD_INFLATE_EMIT) == 0) return !last;
    }
}

void head_reader::add(std::string_view name, std::string_view value) {
    // The size as in RFC 9113 section 6.5.2, decompressed: otherwise one byte that refers to a long
    // table entry could be repeated cheaply (the "HTTP/2 bomb").
    cost_ += name.size() + value.size() + 32;
    if (exceeds_a_limit(name)) {
        text_.release();
        lines_.clear();
        return;
    }
    // A block of the usual size is the cheapest, and fits nearly every head.
    if (!text_) text_.obtain(buffer::default_capacity);
    text_.reserve_spare(name.size() + value.size());
    const field_id id = find_field_id(name);
    const auto begin = static_cast<std::uint32_t>(text_.size());
    const auto name_size = static_cast<std::uint32_t>(name.size());
    const auto value_size = static_cast<std::uint32_t>(value.size());
    text_.append(name);
    text_.append(value);
    lines_.push_back({begin, name_size, begin + name_size, value_size, id});
    if (id == field_id::cookie) {
        ++cookies_;
        cookie_bytes_ += value_size + 2;
    }
}

/// Counts a field of this name, unless the block already exceeds a limit.
bool head_reader::exceeds_a_limit(std::string_view name) noexcept {
    if (excess_ != head_fault::none) return true;
    if (name.starts_with(':')) ++pseudo_fields_;
    const std::size_t counted = std::min(pseudo_fields_, most_pseudo_fields);
    if (cost_ > limits_.bytes) {
        excess_ = head_fault::too_large;
    } else if (lines_.size() + 1 > counted + limits_.fields) {
        excess_ = head_fault::too_many_fields;
    }
    return excess_ != head_fault::none;
}

std::string_view head_reader::at(std::uint32_t offset, std::uint32_t size) const noexcept {
    return {text_.data() + offset, size};
}

/// Joins the crumbs of a cookie into one field, as code for HTTP/1 expects it (RFC 9113 section
/// 8.2.3). Call it before taking views: the text may move.
std::string_view head_reader::join_cookies() {
    if (cookies_ < 2) return {};
    text_.reserve_spare(cookie_bytes_);
    const auto begin = static_cast<std::uint32_t>(text_.size());
    for (const line& l : lines_) {
        if (l.id != field_id::cookie) continue;
        if (text_.size() > begin) text_.append("; ");
        text_.append(at(l.value, l.value_size));
    }
    return at(begin, static_cast<std::uint32_t>(text_.size()) - begin);
}

head_fault head_reader::finish(head& out) {
    if (excess_ != head_fault::none) return excess_;
    const std::string_view cookies = join_cookies();
    std::vector<field> kept = std::move(out.fields);
    kept.clear();
    out = head{};
    out.fields = std::move(kept);
    out.cost = static_cast<std::uint32_t>(cost_);
    head_check check(kind_, extended_connect_);
    bool cookie_kept = false;
    for (const line& l : lines_) {
        const std::string_view name = at(l.name, l.name_size);
        const std::string_view value = at(l.value, l.value_size);
        if (!check.accept(name, value, l.id, out)) continue;
        const bool crumb = l.id == field_id::cookie && cookies_ > 1;
        if (!crumb) {
            out.fields.push_back({name, value, l.id});
        } else if (!cookie_kept) {
            cookie_kept = true;
            out.fields.push_back({name, cookies, l.id});
        }
    }
    check.finish(out);
    return check.malformed() ? head_fault::malformed : head_fault::none;
}

void head_reader::release() noexcept {
    text_.release();
    lines_.clear();
    cost_ = 0;
    cookies_ = 0;
    cookie_bytes_ = 0;
    pseudo_fields_ = 0;
    excess_ = head_fault::none;
}

}  // namespace coracle::http::h2
