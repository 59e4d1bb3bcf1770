// zstd (RFC 8878).

#include "coding/decoder.hpp"
#include "coding/encoder.hpp"

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <bit>
#include <new>

namespace coracle::coding {
namespace {

constexpr int usual_level = 3;
constexpr int window_log = 18;
/// Half of what the level would take; costs a hundredth of the ratio.
constexpr int table_log = 15;
/// 8 MiB: what a decoder of this content coding must accept, and we accept no more (RFC 9659).
constexpr int largest_window_log = 23;
/// The smallest window that a decoder can be limited to (RFC 8878 section 3.1.1.1.2).
constexpr int smallest_window_log = 10;
/// The first whose own window may be that large.
constexpr int level_of_large_window = 16;

ZSTD_EndDirective directive_of(encode_action action) noexcept {
    switch (action) {
        case encode_action::flush: return ZSTD_e_flush;
        case encode_action::finish: return ZSTD_e_end;
        case encode_action::process: break;
    }
    return ZSTD_e_continue;
}

class zstd_encoder final : public encoder {
public:
    explicit zstd_encoder(encoder_level level) : context_(ZSTD_createCCtx()) {
        if (context_ == nullptr) throw std::bad_alloc();
        if (level) {
            const int most = ZSTD_maxCLevel();
            ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, std::clamp(*level, 1, most));
            // The strongest levels would take a window that decoders refuse.
            if (*level >= level_of_large_window) {
                ZSTD_CCtx_setParameter(context_, ZSTD_c_windowLog, largest_window_log);
            }
            return;
        }
        ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, usual_level);
        ZSTD_CCtx_setParameter(context_, ZSTD_c_windowLog, window_log);
        ZSTD_CCtx_setParameter(context_, ZSTD_c_hashLog, table_log);
        ZSTD_CCtx_setParameter(context_, ZSTD_c_chainLog, table_log);
    }
    ~zstd_encoder() override { ZSTD_freeCCtx(context_); }
    zstd_encoder(const zstd_encoder&) = delete;
    zstd_encoder& operator=(const zstd_encoder&) = delete;

    void begin(std::optional<std::uint64_t> size) override {
        ZSTD_CCtx_reset(context_, ZSTD_reset_session_only);
        if (size) ZSTD_CCtx_setPledgedSrcSize(context_, *size);
    }

    encode_result encode(std::string_view in, std::span<char> out, encode_action action) override {
        ZSTD_inBuffer from{in.data(), in.size(), 0};
        ZSTD_outBuffer to{out.data(), out.size(), 0};
        const std::size_t left = ZSTD_compressStream2(context_, &to, &from, directive_of(action));
        if (ZSTD_isError(left) != 0) throw std::bad_alloc();
        const bool all = from.pos == from.size;
        return {from.pos, to.pos, all && (action == encode_action::process || left == 0)};
    }

private:
    ZSTD_CCtx* context_;
};

class zstd_decoder final : public decoder_engine {
public:
    explicit zstd_decoder(std::uint64_t window) : context_(ZSTD_createDCtx()) {
        if (context_ == nullptr) throw std::bad_alloc();
        const int fits = static_cast<int>(std::bit_width(window)) - 1;
        ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax,
                               std::clamp(fits, smallest_window_log, largest_window_log));
    }
    ~zstd_decoder() override { ZSTD_freeDCtx(context_); }
    zstd_decoder(const zstd_decoder&) = delete;
    zstd_decoder& operator=(const zstd_decoder&) = delete;

    decode_result decode(std::string_view in, std::span<char> out) override {
        ZSTD_inBuffer from{in.data(), in.size(), 0};
        ZSTD_outBuffer to{out.data(), out.size(), 0};
        coding_error failed = coding_error::none;
        // It stops at the end of each frame.
        while (failed == coding_error::none && to.pos != to.size &&
               (from.pos != from.size || !complete_)) {
            const std::size_t before = from.pos + to.pos;
            failed = step(to, from);
            if (from.pos + to.pos == before) break;
        }
        return {from.pos, to.pos, failed};
    }

    bool complete() const noexcept override { return complete_; }
    std::size_t memory() const noexcept override { return ZSTD_sizeof_DCtx(context_); }

private:
    coding_error why_it_failed(std::size_t result) const noexcept {
        switch (ZSTD_getErrorCode(result)) {
            case ZSTD_error_frameParameter_windowTooLarge: return coding_error::window_too_large;
            case ZSTD_error_memory_allocation: return coding_error::no_memory;
            case ZSTD_error_prefix_unknown:
                return frames_ ? coding_error::trailing_data : coding_error::corrupt;
            default: return coding_error::corrupt;
        }
    }

    coding_error step(ZSTD_outBuffer& to, ZSTD_inBuffer& from) noexcept {
        const std::size_t left = ZSTD_decompressStream(context_, &to, &from);
        if (ZSTD_isError(left) != 0) return why_it_failed(left);
        complete_ = left == 0;
        frames_ = frames_ || complete_;
        return coding_error::none;
    }

    ZSTD_DCtx* context_;
    bool complete_ = false;
    bool frames_ = false;  ///< at least one has ended
};

}  // namespace

std::string version_of_zstd() {
    return ZSTD_versionString();
}

std::unique_ptr<encoder> make_zstd_encoder(encoder_level level) {
    return std::make_unique<zstd_encoder>(level);
}

std::unique_ptr<decoder_engine> make_zstd_decoder(std::uint64_t window) {
    return std::make_unique<zstd_decoder>(window);
}

}  // namespace coracle::coding
