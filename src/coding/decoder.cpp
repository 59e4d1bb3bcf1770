#include "coding/decoder.hpp"

#include <algorithm>

namespace coracle::coding {
namespace {

std::unique_ptr<decoder_engine> make_engine(content_coding coding, std::uint64_t window) {
    switch (coding) {
        case content_coding::brotli: return make_brotli_decoder(window);
        case content_coding::zstd: return make_zstd_decoder(window);
        default: return make_zlib_decoder(coding);
    }
}

}  // namespace

decoder::decoder(content_coding coding, const decoding_limits& limits, decoder_budget* budget)
    : engine_(make_engine(coding, limits.window)), limits_(limits), budget_(budget) {}

decoder::~decoder() {
    if (budget_ != nullptr) budget_->held -= held_;
}

/// Counts the memory against the budget. It is known only after each step: one decoder may exceed
/// the budget by its window.
coding_error decoder::check_budget() noexcept {
    if (budget_ == nullptr) return coding_error::none;
    const std::uint64_t now = engine_->memory();
    const bool grows = now > held_;
    budget_->held += now - held_;
    held_ = now;
    return grows && budget_->held > budget_->most ? coding_error::no_memory : coding_error::none;
}

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
    if (held_ == 0) error_ = check_budget();
    if (error_ != coding_error::none) return {0, 0, error_};
    // Room for one byte more than is allowed is enough to see that there is one.
    const std::uint64_t allowed = limits_.decoded - produced_;
    if (out.size() > allowed) out = out.first(static_cast<std::size_t>(allowed) + 1);
    decode_result r = engine_->decode(in, out);
    consumed_ += r.consumed;
    produced_ += r.produced;
    if (r.error == coding_error::none) r.error = check_limits();
    if (r.error == coding_error::none) r.error = check_budget();
    error_ = r.error;
    return r;
}

coding_error decoder::finish() const noexcept {
    if (error_ != coding_error::none) return error_;
    return engine_->complete() ? coding_error::none : coding_error::truncated;
}

}  // namespace coracle::coding
