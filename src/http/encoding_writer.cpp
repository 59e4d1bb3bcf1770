#include "http/encoding_writer.hpp"

#include <coracle/runtime/sleep.hpp>

#include <span>

namespace coracle::http::detail {

task<std::expected<void, error>> encoding_writer::encode(std::string_view in,
                                                         coding::encode_action action) {
    const std::span<char> room(encoded_.get(), coding::coded_at_once);
    for (;;) {
        if (since_yield_ >= coding::coded_at_once) {
            since_yield_ = 0;
            auto yielded = co_await as_result(yield());
            if (!yielded) co_return std::unexpected(std::move(yielded).error());
        }
        const std::string_view some = in.substr(0, coding::coded_at_once - since_yield_);
        const bool last = some.size() == in.size();
        const coding::encode_result r =
            encoder_->encode(some, room, last ? action : coding::encode_action::process);
        in.remove_prefix(r.consumed);
        since_yield_ += r.consumed;
        taken_ += r.consumed;
        if (r.produced != 0) {
            auto writing = out_->write(std::string_view(room.data(), r.produced));
            auto written = co_await as_result(writing);
            if (!written) co_return std::unexpected(std::move(written).error());
        }
        if (last && r.done) co_return std::expected<void, error>();
    }
}

// Every piece is flushed: what the handler has written is what the client can read.
task<std::expected<void, error>> encoding_writer::write_piece(std::string_view piece) {
    if (piece.empty()) co_return std::expected<void, error>();
    co_return co_await encode(piece, coding::encode_action::flush);
}

task<std::expected<void, error>> encoding_writer::send_head() {
    auto flushing = out_->flush();
    co_return co_await as_result(flushing);
}

}  // namespace coracle::http::detail
