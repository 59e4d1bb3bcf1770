#include "http/h2/head_writer.hpp"

#include "base/ascii.hpp"
#include "http/message/connection_field.hpp"

#include <coracle/base/buffer.hpp>

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <vector>

namespace coracle::http::h2 {

namespace {

std::uint8_t* bytes(std::string_view text) noexcept {
    // nghttp2 takes pointers to non-const bytes, and does not change them.
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

bool is_credential(field_id id) noexcept {
    return id == field_id::authorization || id == field_id::proxy_authorization;
}

/// Keeps secrets that could be guessed by their compressed size out of all tables, ours and those
/// of intermediaries (RFC 7541 section 7.1.3).
bool is_never_indexed(field_id id) noexcept {
    return is_credential(id) || id == field_id::cookie || id == field_id::set_cookie;
}

nghttp2_nv line(std::string_view name, std::string_view value, field_id id) noexcept {
    // The texts live until the block has been written, so nothing is copied.
    unsigned flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;
    if (is_never_indexed(id)) flags |= NGHTTP2_NV_FLAG_NO_INDEX;
    return {bytes(name), bytes(value), name.size(), value.size(), static_cast<std::uint8_t>(flags)};
}

/// The lines of a block, with names in lower case; on the stack if they fit.
class block_lines {
public:
    block_lines(std::span<const field> control, std::span<const field> fields) {
        std::size_t names = 0;
        for (const field& f : fields) names += f.name.size();
        if (names > 0) names_.obtain(names);
        if (control.size() + fields.size() > few_.size())
            many_.reserve(control.size() + fields.size());
        for (const field& f : control) add(line(f.name, f.value, f.id));
        for (const field& f : fields) {
            if (!is_connection_field(f.id)) add(line(lower(f.name), f.value, f.id));
        }
    }
    [[nodiscard]] const nghttp2_nv* data() const noexcept {
        return in_many() ? many_.data() : few_.data();
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    [[nodiscard]] bool in_many() const noexcept { return many_.capacity() > 0; }
    void add(nghttp2_nv l) {
        if (in_many())
            many_.push_back(l);
        else
            few_[size_] = l;
        ++size_;
    }
    std::string_view lower(std::string_view name) noexcept {
        char* const begin = names_.spare();
        for (std::size_t i = 0; i < name.size(); ++i) begin[i] = coracle::detail::lower(name[i]);
        names_.commit(name.size());
        return {begin, name.size()};
    }

    std::array<nghttp2_nv, 48> few_;
    std::vector<nghttp2_nv> many_;
    buffer names_;
    std::size_t size_ = 0;
};

}  // namespace

void head_writer::free_deflater::operator()(nghttp2_hd_deflater* deflater) const noexcept {
    nghttp2_hd_deflate_del(deflater);
}

void head_writer::make() {
    auto repeated = std::make_unique<block_cache>();
    nghttp2_hd_deflater* made = nullptr;
    if (nghttp2_hd_deflate_new(&made, most) != 0) throw std::bad_alloc();
    deflater_.reset(made);
    repeated_ = std::move(repeated);
    // The size that was announced last may differ from that of a new table (RFC 7541 section 4.2).
    if (limited_) nghttp2_hd_deflate_change_table_size(made, table_size_);
}

void head_writer::set_table_size(std::uint32_t bytes) {
    table_size_ = std::min(bytes, most);
    limited_ = limited_ || table_size_ < most;
    if (!deflater_) return;
    nghttp2_hd_deflate_change_table_size(deflater_.get(), table_size_);
    repeated_->forget();
}

void head_writer::give_up() noexcept {
    deflater_.reset();
    repeated_.reset();
}

bool head_writer::write(std::span<const field> control, std::span<const field> fields,
                        buffer& out) {
    if (!deflater_) make();
    // -1,500 instructions a response; credentials are in none of these.
    if (const std::string_view block = repeated_->find(control, fields); !block.empty()) {
        out.reserve_spare(block.size());
        std::memcpy(out.spare(), block.data(), block.size());
        out.commit(block.size());
        return false;
    }
    const block_lines lines(control, fields);
    out.reserve_spare(nghttp2_hd_deflate_bound(deflater_.get(), lines.data(), lines.size()));
    const auto size =
        nghttp2_hd_deflate_hd(deflater_.get(), reinterpret_cast<std::uint8_t*>(out.spare()),
                              out.spare_size(), lines.data(), lines.size());
    if (size < 0) throw std::bad_alloc();
    repeated_->compressed(control, fields, {out.spare(), static_cast<std::size_t>(size)});
    out.commit(static_cast<std::size_t>(size));
    return std::ranges::any_of(fields, [](const field& f) { return is_credential(f.id); });
}

}  // namespace coracle::http::h2
