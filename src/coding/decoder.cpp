#include "coding/decoder.hpp"

#include <algorithm>

namespace coracle::coding {
namespace {

std::unique_ptr<decoder_engine> make_engine(content_coding coding) {
    switch (coding) {
        case content_coding::brotli: return make_brotli_decoder();
        case content_coding::zstd: return make_zstd_decoder();
        default: return make_zlib_decoder(coding);
    }
}

}  // namespace

decoder::decoder(content_coding coding, const decoding_limits& limits)
    : engine_(make_engine(coding)), limits_(limits) {}

coding_error decoder::check_limits() const noexcept {
    if (produced_ > limits_.decoded) return coding_error::too_large;
    const bool matters = limits_.ratio != 0 && produced_ > limits_.ratio_from;
    if (matters && produced_ / limits_.ratio >= consumed_ &&
        produced_ > consumed_ * limits_.ratio) {
        return coding_error::ratio_exceeded;
    }
    return coding_error::none;
}

decode_result decoder::decode(std::string_view in, std::span<char> out) {
    if (error_ != coding_error::none) return {0, 0, error_};
    // Room for one byte more than is allowed is enough to see that there is one.
    const std::uint64_t allowed = limits_.decoded - produced_;
    if (out.size() > allowed) out = out.first(static_cast<std::size_t>(allowed) + 1);
    decode_result r = engine_->decode(in, out);
    consumed_ += r.consumed;
    produced_ += r.produced;
    if (r.error == coding_error::none) r.error = check_limits();
    error_ = r.error;
    return r;
}

coding_error decoder::finish() const noexcept {
    if (error_ != coding_error::none) return error_;
    return engine_->complete() ? coding_error::none : coding_error::truncated;
}

}  // namespace coracle::coding
