#include "http/h2/head_writer.hpp"

#include "base/ascii.hpp"
#include "http/message/connection_field.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace coracle::http::h2 {

namespace {

bool is_credential(field_id id) noexcept {
    return id == field_id::authorization || id == field_id::proxy_authorization;
}

/// Keeps secrets that could be guessed by their compressed size out of all tables, ours and those
/// of intermediaries (RFC 7541 section 7.1.3).
hpack::indexing indexing_of(const field& f) noexcept {
    const bool is_secret = f.never_indexed || is_credential(f.id) || f.id == field_id::cookie ||
                           f.id == field_id::set_cookie;
    return is_secret ? hpack::indexing::never : hpack::indexing::usual;
}

/// A name in lower case, valid until the next one is made.
class lower_names {
public:
    std::string_view lower(std::string_view name) {
        char* to = few_.data();
        if (name.size() > few_.size()) {
            many_.resize(name.size());
            to = many_.data();
        }
        for (std::size_t i = 0; i != name.size(); ++i) to[i] = coracle::detail::lower(name[i]);
        return {to, name.size()};
    }

private:
    std::array<char, 64> few_;
    std::string many_;
};

/// The most bytes that a block takes.
std::size_t room_for(std::span<const field> control, std::span<const field> fields) noexcept {
    std::size_t size = hpack::encoder::room_for_begin;
    for (const auto part : {control, fields}) {
        for (const field& f : part) {
            size += hpack::encoder::room_for(f.name.size(), f.value.size());
        }
    }
    return size;
}

}  // namespace

void head_writer::set_table_size(std::uint32_t bytes) {
    encoder_.set_limit(std::min(bytes, most));
    if (repeated_) repeated_->forget();
}

void head_writer::give_up() noexcept {
    encoder_.release();
    repeated_.reset();
}

bool head_writer::write(std::span<const field> control, std::span<const field> fields,
                        buffer& out) {
    if (!repeated_) repeated_ = std::make_unique<block_cache>();
    // -1,500 instructions a response; credentials are in none of these.
    if (const std::string_view block = repeated_->find(control, fields); !block.empty()) {
        out.append(block);
        return false;
    }
    try {
        const std::size_t size = compress(control, fields, out);
        if (encoder_.effect() == hpack::block_effect::none)
            repeated_->keep(control, fields, {out.spare(), size});
        else if (encoder_.effect() == hpack::block_effect::changes)
            repeated_->forget();
        encoder_.block_is_sent();
        out.commit(size);
    } catch (...) {
        // The peer does not get this block, so nothing may be referred to that is in it.
        give_up();
        throw;
    }
    return std::ranges::any_of(fields, [](const field& f) { return is_credential(f.id); });
}

/// Returns the size of the block, which is written to the spare room of `out`.
std::size_t head_writer::compress(std::span<const field> control, std::span<const field> fields,
                                  buffer& out) {
    out.reserve_spare(room_for(control, fields));
    char* const begin = out.spare();
    char* at = encoder_.begin_block(begin);
    for (const field& f : control) {
        at = encoder_.write(at, f.name, f.value, f.id, indexing_of(f));
    }
    lower_names names;
    for (const field& f : fields) {
        if (is_connection_field(f.id)) continue;
        at = encoder_.write(at, names.lower(f.name), f.value, f.id, indexing_of(f));
    }
    return static_cast<std::size_t>(at - begin);
}

}  // namespace coracle::http::h2
