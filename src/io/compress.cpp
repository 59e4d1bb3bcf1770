#include "coding/decoder.hpp"
#include "coding/encoder.hpp"

#include <coracle/io/compress.hpp>
#include <coracle/runtime/sleep.hpp>

#include <algorithm>

namespace coracle::io {
namespace {

using coding::coded_at_once;
using coding::encode_action;

error failure_of(coding::coding_error why) {
    error e(make_error_code(why), "decompress");
    if (why == coding::coding_error::too_large) e.on("decoding_limits::decoded");
    if (why == coding::coding_error::ratio_exceeded) e.on("decoding_limits::ratio");
    if (why == coding::coding_error::window_too_large) e.on("decoding_limits::window");
    return e;
}

std::unique_ptr<coding::encoder> begun(coding::content_coding coding, std::optional<int> level) {
    auto encoder = coding::make_encoder(coding, level);
    encoder->begin(std::nullopt);
    return encoder;
}

/// Lets other tasks run after this many bytes.
class coding_share {
public:
    std::size_t left() const noexcept { return coded_at_once - used_; }
    void use(std::size_t n) noexcept { used_ += std::min(n, left()); }
    task<std::expected<void, error>> renew() {
        if (left() != 0) co_return std::expected<void, error>();
        used_ = 0;
        co_return co_await as_result(yield());
    }

private:
    std::size_t used_ = 0;
};

}  // namespace

struct compressing_sink::state {
    std::unique_ptr<coding::encoder> encoder;
    std::unique_ptr<char[]> room = std::make_unique_for_overwrite<char[]>(coded_at_once);
    coding_share share;

    /// Encodes all of `in` and writes the result.
    task<std::expected<void, error>> encode(sink& to, std::string_view in, encode_action action) {
        for (;;) {
            auto yielded = co_await share.renew();
            if (!yielded) co_return yielded;
            const std::string_view some = in.substr(0, share.left());
            const bool last = some.size() == in.size();
            const auto r = encoder->encode(some, {room.get(), coded_at_once},
                                           last ? action : encode_action::process);
            in.remove_prefix(r.consumed);
            share.use(r.consumed);
            if (r.produced != 0) {
                slice piece(room.get(), r.produced);
                auto written = co_await to.write({&piece, 1});
                if (!written) co_return written;
            }
            if (last && r.done) co_return std::expected<void, error>();
        }
    }
};

compressing_sink::compressing_sink(sink& to, coding::content_coding coding,
                                   std::optional<int> level)
    : to_(&to) {
    if (coding == coding::content_coding::identity) return;
    state_ = std::make_unique<state>();
    state_->encoder = begun(coding, level);
}

compressing_sink::~compressing_sink() = default;

task<std::expected<void, error>> compressing_sink::write(std::span<slice> pieces) {
    if (state_ == nullptr) co_return co_await to_->write(pieces);
    for (const slice& s : pieces) {
        auto encoded = co_await state_->encode(*to_, {s.data, s.size}, encode_action::process);
        if (!encoded) co_return encoded;
    }
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> compressing_sink::flush() {
    if (state_ != nullptr) {
        auto encoded = co_await state_->encode(*to_, {}, encode_action::flush);
        if (!encoded) co_return encoded;
    }
    co_return co_await to_->flush();
}

task<std::expected<void, error>> compressing_sink::finish() {
    if (state_ != nullptr) {
        auto encoded = co_await state_->encode(*to_, {}, encode_action::finish);
        if (!encoded) co_return encoded;
    }
    co_return co_await to_->flush();
}

struct compressing_source::state {
    std::unique_ptr<coding::encoder> encoder;
    buffer in;
    buffer out;
    bool in_ended = false;
    bool out_ended = false;
    coding_share share;

    std::size_t give(std::span<char> into) {
        const std::size_t n = out.view().copy(into.data(), into.size());
        out.consume(n);
        return n;
    }

    void encode() {
        if (out.spare_size() < coding::encoder::least_room) out = buffer(buffer::default_capacity);
        const std::string_view some = in.view().substr(0, share.left());
        const bool last = in_ended && some.size() == in.size();
        const auto r = encoder->encode(some, {out.spare(), out.spare_size()},
                                       last ? encode_action::finish : encode_action::process);
        in.consume(r.consumed);
        out.commit(r.produced);
        share.use(r.consumed + r.produced);
        out_ended = last && r.done;
    }
};

compressing_source::compressing_source(source& from, coding::content_coding coding,
                                       std::optional<int> level)
    : from_(&from) {
    if (coding == coding::content_coding::identity) return;
    state_ = std::make_unique<state>();
    state_->encoder = begun(coding, level);
}

compressing_source::~compressing_source() = default;

task<std::expected<std::size_t, error>> compressing_source::read_some(std::span<char> into) {
    if (state_ == nullptr) co_return co_await from_->read_some(into);
    state& s = *state_;
    while (s.out.empty() && !s.out_ended) {
        auto yielded = co_await s.share.renew();
        if (!yielded) co_return std::unexpected(std::move(yielded).error());
        if (s.in.empty() && !s.in_ended) {
            auto n = co_await from_->fill(s.in, buffer::default_capacity);
            if (!n) co_return std::unexpected(std::move(n).error());
            s.in_ended = *n == 0;
        }
        s.encode();
    }
    co_return s.give(into);
}

struct decompressing_source::state {
    state(coding::content_coding coding, const coding::decoding_limits& limits)
        : decoder(coding, limits) {}

    coding::decoder decoder;
    buffer in;
    coding_share share;
};

decompressing_source::decompressing_source(source& from, coding::content_coding coding,
                                           const coding::decoding_limits& limits)
    : from_(&from) {
    if (coding == coding::content_coding::identity) return;
    state_ = std::make_unique<state>(coding, limits);
}

decompressing_source::~decompressing_source() = default;

task<std::expected<std::size_t, error>> decompressing_source::read_some(std::span<char> into) {
    if (state_ == nullptr) co_return co_await from_->read_some(into);
    state& s = *state_;
    for (;;) {
        auto yielded = co_await s.share.renew();
        if (!yielded) co_return std::unexpected(std::move(yielded).error());
        const auto r =
            s.decoder.decode(s.in.view(), into.first(std::min(into.size(), s.share.left())));
        if (r.error != coding::coding_error::none) co_return std::unexpected(failure_of(r.error));
        s.in.consume(r.consumed);
        s.share.use(r.consumed + r.produced);
        if (r.produced != 0) co_return r.produced;
        if (!s.in.empty()) continue;
        auto n = co_await from_->fill(s.in, buffer::default_capacity);
        if (!n) co_return std::unexpected(std::move(n).error());
        if (*n != 0) continue;
        const auto end = s.decoder.finish();
        if (end != coding::coding_error::none) co_return std::unexpected(failure_of(end));
        co_return std::size_t{0};
    }
}

}  // namespace coracle::io
