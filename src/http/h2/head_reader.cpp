#include "http/h2/head_reader.hpp"

#include "http/message/token.hpp"

#include <algorithm>

namespace coracle::http::h2 {

namespace {

/// The most pseudo-fields that any head may have: those of extended CONNECT (RFC 8441 section 4).
constexpr std::uint32_t most_pseudo_fields = 5;

}  // namespace

void head_reader::begin(head_kind kind, const block_limits& limits, bool extended_connect) {
    release();
    decoder_.begin_block();
    kind_ = kind;
    limits_ = limits;
    extended_connect_ = extended_connect;
}

bool head_reader::read(std::string_view fragment, bool last) {
    // A block of the usual size is the cheapest, and fits nearly every head.
    if (!text_) text_.obtain(buffer::default_capacity);
    const std::size_t most = std::max<std::size_t>(limits_.bytes, table_size);
    for (;;) {
        switch (decoder_.next(fragment, text_, most)) {
            case hpack::decoder::result::field: add_field(); break;
            case hpack::decoder::result::more:
                if (last && decoder_.table_changed()) known_.forget();
                return !last || decoder_.between_fields();
            case hpack::decoder::result::failed: return false;
        }
    }
}

/// Takes over the field that was decoded to the end of the text.
void head_reader::add_field() {
    const std::uint64_t size = decoder_.name_size() + decoder_.value_size();
    // The size as in RFC 9113 section 6.5.2, decompressed: otherwise one byte that refers to a long
    // table entry could be repeated cheaply (the "HTTP/2 bomb").
    cost_ += size + 32;
    const auto begin = static_cast<std::uint32_t>(
        text_.size() - (decoder_.is_whole() ? static_cast<std::size_t>(size) : text_.size()));
    const bool is_pseudo_field =
        decoder_.is_whole() && decoder_.name_size() != 0 && text_.data()[begin] == ':';
    if (exceeds_a_limit(is_pseudo_field)) {
        decoder_.skip_known_fields();
        text_.clear();
        lines_.clear();
        return;
    }
    const auto name_size = static_cast<std::uint32_t>(decoder_.name_size());
    auto value_begin = begin + name_size;
    auto value_size = static_cast<std::uint32_t>(decoder_.value_size());
    if (!is_pseudo_field) trim(value_begin, value_size);
    lines_.push_back({begin, name_size, value_begin, value_size, decoder_.id(),
                      decoder_.is_well_formed(), decoder_.is_never_indexed()});
    if (decoder_.id() == field_id::cookie) {
        ++cookies_;
        cookie_bytes_ += value_size + 2;
    }
}

/// Takes blanks off the ends of a value. RFC 9113 section 8.2.1 calls such a field malformed, but
/// servers send them (a policy that ends in "; "), which other clients read; without its blanks it
/// harms no one that it is passed on to.
void head_reader::trim(std::uint32_t& begin, std::uint32_t& size) const noexcept {
    const std::string_view trimmed = trim_ows(at(begin, size));
    begin = static_cast<std::uint32_t>(trimmed.data() - text_.data());
    size = static_cast<std::uint32_t>(trimmed.size());
}

/// Counts a field, unless the block already exceeds a limit.
bool head_reader::exceeds_a_limit(bool is_pseudo_field) noexcept {
    if (excess_ != head_fault::none) return true;
    if (is_pseudo_field) ++pseudo_fields_;
    const std::size_t counted = std::min(pseudo_fields_, most_pseudo_fields);
    const bool is_crumb = cookies_ != 0 && decoder_.id() == field_id::cookie;
    // Browsers send each cookie by itself, and have up to 180 of them for a site.
    const std::size_t joined = is_crumb ? cookies_ : cookies_ - std::min(cookies_, 1U);
    if (cost_ > limits_.bytes) {
        excess_ = head_fault::too_large;
    } else if (lines_.size() + 1 - joined > counted + limits_.fields) {
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

head_fault head_reader::finish(std::string_view block, head& out) {
    if (excess_ != head_fault::none) return excess_;
    const std::string_view cookies = join_cookies();
    std::vector<field> kept = std::move(out.fields);
    kept.clear();
    out = head{};
    out.fields = std::move(kept);
    out.cost = static_cast<std::uint32_t>(cost_);
    out.text = text_.view();
    head_check check(kind_, extended_connect_);
    bool cookie_kept = false;
    for (const line& l : lines_) {
        const field f{at(l.name, l.name_size), at(l.value, l.value_size), l.id, l.never_indexed};
        if (!check.accept(f, l.well_formed, out)) continue;
        const bool crumb = l.id == field_id::cookie && cookies_ > 1;
        if (!crumb) {
            out.fields.push_back(f);
        } else if (!cookie_kept) {
            cookie_kept = true;
            out.fields.push_back({f.name, cookies, f.id});
        }
    }
    check.finish(out);
    if (check.malformed()) return head_fault::malformed;
    const bool may_be_kept = !decoder_.table_changed() && !decoder_.has_never_indexed();
    if (!block.empty() && may_be_kept) known_.note(block, kind_, out);
    return head_fault::none;
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
