#include "http/h1/body_decoder.hpp"

namespace coracle::http::h1 {

void body_decoder::begin(body_framing framing, std::uint64_t length, const chunk_limits& limits,
                         bool lenient) {
    framing_ = framing;
    lent_ = 0;
    left_ = framing == body_framing::length ? length : 0;
    is_chunked_ = framing == body_framing::chunked;
    if (is_chunked_) chunks_.emplace(limits, lenient);
}

std::expected<std::string_view, parse_error> body_decoder::next(buffer& input) {
    give_back(input);
    switch (framing_) {
        case body_framing::none: return std::string_view();
        case body_framing::until_close: return lend(input.view());
        case body_framing::chunked: return next_of_chunks(input);
        case body_framing::length: break;
    }
    if (left_ == 0) framing_ = body_framing::none;
    const std::string_view piece = lend(input.view().substr(0, left_));
    left_ -= piece.size();
    return piece;
}

std::expected<std::string_view, parse_error> body_decoder::next_of_chunks(buffer& input) {
    while (!input.empty()) {
        const chunk_event e = chunks_->decode(input.view());
        switch (e.status) {
            case chunk_status::data:
                // The framing before the data is done with; the data is lent.
                input.consume(static_cast<std::size_t>(e.data.data() - input.data()));
                return lend(e.data);
            case chunk_status::end:
                input.consume(e.consumed);
                framing_ = body_framing::none;
                return std::string_view();
            case chunk_status::need_more: input.consume(e.consumed); break;
            case chunk_status::error: return std::unexpected(e.error);
        }
    }
    return std::string_view();
}

std::optional<std::string_view> body_decoder::take_whole(buffer& input,
                                                         std::uint64_t most) noexcept {
    if (complete()) return std::string_view();
    if (!has_length() || left_ > most || left_ > input.size()) return std::nullopt;
    framing_ = body_framing::none;
    return lend(input.view().substr(0, static_cast<std::size_t>(std::exchange(left_, 0))));
}

std::optional<std::uint64_t> body_decoder::left() const noexcept {
    if (framing_ == body_framing::none) return 0;
    if (framing_ == body_framing::length) return left_;
    return std::nullopt;
}

std::span<const head_field> body_decoder::trailers() const noexcept {
    // A body before this one, which may be another client's, may have had some.
    if (!is_chunked_) return {};
    return chunks_->trailers();
}

}  // namespace coracle::http::h1
