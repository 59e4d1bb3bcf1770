#include "websocket/output.hpp"

#include "websocket/codec/masking.hpp"

#include <algorithm>
#include <cstring>

namespace coracle::websocket::detail {
namespace {

constexpr std::size_t small_part = 4096;

}  // namespace

/// Never moves bytes that are in a part already: they may have been lent out.
char* output_queue::make_room(std::size_t bytes) {
    if (!parts_.empty()) {
        part& last = parts_.back();
        if (last.own && last.own.spare_size() >= bytes) return last.own.spare();
    }
    // Frames that follow soon go into the same part.
    const bool follows = !parts_.empty();
    const std::size_t least = follows ? buffer::default_capacity : small_part;
    buffer fresh(std::max(bytes, least));
    parts_.emplace_back();
    parts_.back().own = std::move(fresh);
    return parts_.back().own.spare();
}

void output_queue::append(const frame_header& h, std::string_view payload) {
    const std::size_t bytes = header_size(h) + payload.size();
    char* const at = write_header(make_room(bytes), h);
    if (h.mask)
        mask_copy(at, payload.data(), payload.size(), *h.mask, 0);
    else if (!payload.empty())
        std::memcpy(at, payload.data(), payload.size());
    parts_.back().own.commit(bytes);
    size_ += bytes;
}

void output_queue::append(const frame_header& h, buffer payload) {
    const std::size_t size = header_size(h);
    const std::size_t all = size + payload.size();
    const bool fits_before = payload.front_size() >= size;
    buffer lone;
    if (!fits_before) lone.obtain(size);
    parts_.resize(parts_.size() + (fits_before ? 1 : 2));
    if (fits_before) {
        // Where the header of the received frame was.
        write_header(payload.prepend(size), h);
    } else {
        write_header(lone.spare(), h);
        lone.commit(size);
        parts_[parts_.size() - 2].own = std::move(lone);
    }
    parts_.back().own = std::move(payload);
    size_ += all;
}

void output_queue::append(std::string_view frame) {
    std::memcpy(make_room(frame.size()), frame.data(), frame.size());
    parts_.back().own.commit(frame.size());
    size_ += frame.size();
}

void output_queue::append(std::shared_ptr<const shared_frame> frame, std::string_view bytes) {
    part p;
    p.shared = std::move(frame);
    p.rest = bytes;
    parts_.push_back(std::move(p));
    size_ += bytes.size();
}

std::span<slice> output_queue::lend(std::span<slice> into) noexcept {
    std::size_t count = 0;
    for (const part& p : parts_) {
        if (count == into.size()) break;
        const std::string_view bytes = p.view();
        if (!bytes.empty()) into[count++] = slice(bytes.data(), bytes.size());
    }
    return into.first(count);
}

void output_queue::consume(std::size_t bytes) noexcept {
    size_ -= bytes;
    if (size_ == 0) {
        clear();
        return;
    }
    std::size_t done = 0;
    while (bytes != 0) {
        part& first = parts_[done];
        const std::size_t n = std::min(bytes, first.view().size());
        if (first.shared)
            first.rest.remove_prefix(n);
        else
            first.own.consume(n);
        bytes -= n;
        if (first.view().empty()) ++done;
    }
    parts_.erase(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(done));
}

void output_queue::clear() noexcept {
    size_ = 0;
    parts_ = std::vector<part>();
}

}  // namespace coracle::websocket::detail
