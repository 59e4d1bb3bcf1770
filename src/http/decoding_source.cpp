#include "http/decoding_source.hpp"

#include "coding/encoder.hpp"

#include <coracle/runtime/sleep.hpp>

namespace coracle::http::detail {

std::unexpected<error> decoding_source::fail(coding_error why) {
    error e(make_error_code(why), "body", phase::receive);
    if (why == coding_error::too_large && !names_.decoded.empty()) e.on(names_.decoded);
    if (why == coding_error::ratio_exceeded && !names_.ratio.empty()) e.on(names_.ratio);
    return std::unexpected(encoded_.refuse(std::move(e)));
}

task<std::expected<std::string_view, error>> decoding_source::read() {
    for (;;) {
        if (since_yield_ >= coding::coded_at_once) {
            since_yield_ = 0;
            auto yielded = co_await as_result(yield());
            if (!yielded) co_return std::unexpected(std::move(yielded).error());
        }
        const coding::decode_result r = decoder_.decode(in_, {room_.get(), room_size});
        if (r.error != coding_error::none) co_return fail(r.error);
        in_.remove_prefix(r.consumed);
        since_yield_ += r.consumed + r.produced;
        if (r.produced != 0) co_return std::string_view(room_.get(), r.produced);
        if (!in_.empty()) continue;
        if (encoded_.ended()) {
            // Servers send the field for content that is empty too, and then nothing encoded.
            const coding_error end = received_any_ ? decoder_.finish() : coding_error::none;
            if (end != coding_error::none) co_return fail(end);
            co_return std::string_view();
        }
        auto reading = encoded_.read();
        auto piece = co_await as_result(reading);
        if (!piece) co_return std::unexpected(std::move(piece).error());
        in_ = *piece;
        received_any_ = received_any_ || !in_.empty();
    }
}

}  // namespace coracle::http::detail
