// gzip (RFC 1952) and deflate (RFC 1950, RFC 1951).

#include "coding/decoder.hpp"
#include "coding/encoder.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace coracle::coding {
namespace {

constexpr int usual_level = 6;
constexpr int window_bits = 15;
constexpr int memory_level = 8;
/// zlib's codes for its formats: the number to add to the window bits for gzip, and the sign for
/// raw deflate.
constexpr int gzip_format = 16;
constexpr int raw_format = -1;

/// zlib counts with 32 bits.
constexpr std::size_t most_at_once = std::size_t{1} << 30;

void lend(z_stream& z, std::string_view in, std::span<char> out) noexcept {
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    z.avail_in = static_cast<uInt>(std::min(in.size(), most_at_once));
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(std::min(out.size(), most_at_once));
}

int flush_of(encode_action action) noexcept {
    switch (action) {
        case encode_action::flush: return Z_SYNC_FLUSH;
        case encode_action::finish: return Z_FINISH;
        case encode_action::process: break;
    }
    return Z_NO_FLUSH;
}

class zlib_encoder final : public encoder {
public:
    zlib_encoder(int bits, int level) {
        if (deflateInit2(&z_, level, Z_DEFLATED, bits, memory_level, Z_DEFAULT_STRATEGY) != Z_OK) {
            throw std::bad_alloc();
        }
    }
    ~zlib_encoder() override { deflateEnd(&z_); }
    zlib_encoder(const zlib_encoder&) = delete;
    zlib_encoder& operator=(const zlib_encoder&) = delete;

    void begin(std::optional<std::uint64_t>) override { deflateReset(&z_); }

    encode_result encode(std::string_view in, std::span<char> out, encode_action action) override {
        const bool all = in.size() <= most_at_once;
        lend(z_, in, out);
        const uInt given = z_.avail_in;
        const uInt room = z_.avail_out;
        const int status = deflate(&z_, all ? flush_of(action) : Z_NO_FLUSH);
        encode_result r{given - z_.avail_in, room - z_.avail_out, false};
        if (action == encode_action::finish)
            r.done = status == Z_STREAM_END;
        else
            r.done =
                all && z_.avail_in == 0 && (action == encode_action::process || z_.avail_out != 0);
        return r;
    }

private:
    z_stream z_{};
};

/// A decoder that recognizes which of two formats `deflate` is by its first two bytes, which it
/// keeps until both have come.
class zlib_decoder final : public decoder_engine {
public:
    explicit zlib_decoder(content_coding coding) : gzip_(coding == content_coding::gzip) {
        const int bits = gzip_ ? window_bits + gzip_format : window_bits;
        if (inflateInit2(&z_, bits) != Z_OK) throw std::bad_alloc();
    }
    ~zlib_decoder() override { inflateEnd(&z_); }
    zlib_decoder(const zlib_decoder&) = delete;
    zlib_decoder& operator=(const zlib_decoder&) = delete;

    decode_result decode(std::string_view in, std::span<char> out) override {
        decode_result r;
        if (!gzip_ && !recognise(in, r)) return r;
        if (used_ != seen_) {
            const decode_result head =
                inflate_some({head_ + used_, static_cast<std::size_t>(seen_ - used_)}, out);
            used_ = static_cast<std::uint8_t>(used_ + head.consumed);
            out = out.subspan(head.produced);
            r.produced = head.produced;
            r.error = head.error;
        }
        while (r.error == coding_error::none && !in.empty() && !out.empty()) {
            if (ended_ && !next_member(in.front())) {
                r.error = coding_error::trailing_data;
                break;
            }
            inflate_next(in, out, r);
        }
        // Bytes that zlib holds back for lack of output space are written without further input.
        if (r.error == coding_error::none && in.empty() && !out.empty() && !ended_) {
            inflate_next(in, out, r);
        }
        return r;
    }

    bool complete() const noexcept override { return ended_; }
    std::size_t memory() const noexcept override { return usual_memory; }

private:
    /// The size of its state and its window, which zlib allocates with the first output.
    static constexpr std::size_t usual_memory = 40 * 1024;

    static bool is_zlib_header(unsigned char first, unsigned char second) noexcept {
        return (first & 15) == Z_DEFLATED && first >> 4 <= window_bits - 8 &&
               (first * 256U + second) % 31 == 0;
    }

    // Returns false until both bytes have been received.
    bool recognise(std::string_view& in, decode_result& r) noexcept {
        if (seen_ == 2) return true;
        while (seen_ != 2 && !in.empty()) {
            head_[seen_++] = in.front();
            in.remove_prefix(1);
            ++r.consumed;
        }
        if (seen_ != 2) return false;
        if (!is_zlib_header(static_cast<unsigned char>(head_[0]),
                            static_cast<unsigned char>(head_[1]))) {
            inflateReset2(&z_, window_bits * raw_format);
        }
        return true;
    }

    bool next_member(char first) noexcept {
        if (!gzip_ || first != '\x1f') return false;
        inflateReset(&z_);
        ended_ = false;
        return true;
    }

    void inflate_next(std::string_view& in, std::span<char>& out, decode_result& r) noexcept {
        const decode_result step = inflate_some(in, out);
        in.remove_prefix(step.consumed);
        out = out.subspan(step.produced);
        r.consumed += step.consumed;
        r.produced += step.produced;
        r.error = step.error;
    }

    decode_result inflate_some(std::string_view in, std::span<char> out) noexcept {
        lend(z_, in, out);
        const uInt given = z_.avail_in;
        const uInt room = z_.avail_out;
        const int status = inflate(&z_, Z_NO_FLUSH);
        decode_result r{given - z_.avail_in, room - z_.avail_out, coding_error::none};
        if (status == Z_STREAM_END)
            ended_ = true;
        else if (status != Z_OK && status != Z_BUF_ERROR)
            r.error = status == Z_MEM_ERROR ? coding_error::no_memory : coding_error::corrupt;
        return r;
    }

    z_stream z_{};
    bool gzip_;
    bool ended_ = false;
    char head_[2]{};
    std::uint8_t seen_ = 0;  ///< bytes of `head_` that have come
    std::uint8_t used_ = 0;  ///< bytes of it that zlib has
};

}  // namespace

std::string version_of_zlib() {
    return zlibVersion();
}

std::unique_ptr<encoder> make_zlib_encoder(content_coding coding, encoder_level level) {
    const bool gzip = coding == content_coding::gzip;
    return std::make_unique<zlib_encoder>(
        gzip ? window_bits + gzip_format : window_bits,
        std::clamp(level.value_or(usual_level), Z_NO_COMPRESSION, Z_BEST_COMPRESSION));
}

std::unique_ptr<decoder_engine> make_zlib_decoder(content_coding coding) {
    return std::make_unique<zlib_decoder>(coding);
}

}  // namespace coracle::coding
