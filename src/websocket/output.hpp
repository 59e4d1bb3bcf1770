#pragma once

#include "websocket/codec/frame.hpp"
#include "websocket/shared_frame.hpp"

#include <coracle/base/buffer.hpp>
#include <coracle/runtime/backend.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace coracle::websocket::detail {

/// Frames on their way into a stream, in order. Holds nothing while it is empty. Bytes that were
/// lent out as slices stay where they are until `consume`.
class output_queue {
public:
    static constexpr std::size_t most_slices = 8;

    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }

    /// Appends a frame; of a client's the payload is masked. Throws std::bad_alloc, and then
    /// nothing was appended.
    void append(const frame_header& h, std::string_view payload);
    /// Appends a frame whose payload, which is not masked, stays in its block. Throws as the other.
    void append(const frame_header& h, buffer payload);
    /// Appends the bytes of a frame from `from` on.
    void append(std::string_view frame);
    void append(std::shared_ptr<const shared_frame> frame, std::string_view bytes);

    /// Lends the first of the bytes.
    std::span<slice> lend(std::span<slice> into) noexcept;
    void consume(std::size_t bytes) noexcept;
    void clear() noexcept;

private:
    struct part {
        buffer own;
        std::shared_ptr<const shared_frame> shared;
        std::string_view rest;  ///< of what is shared
        std::string_view view() const noexcept { return shared ? rest : own.view(); }
    };
    char* make_room(std::size_t bytes);

    std::vector<part> parts_;
    std::size_t size_ = 0;
};

}  // namespace coracle::websocket::detail
