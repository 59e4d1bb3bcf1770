// Content codings. The first byte of the input says which coding, the second how to cut the rest.
// Checked: what is decoded keeps to its limits, any cut gives the same bytes and verdict (of zstd
// the same bytes as far as both go), and what is encoded decodes to itself.
#include "coding/decoder.hpp"
#include "coding/encoder.hpp"
#include "require.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

using namespace coracle::coding;

namespace {

struct outcome {
    std::string bytes;
    coding_error error = coding_error::none;

    friend bool operator==(const outcome&, const outcome&) = default;
};

// Without a limit of the ratio, which looks at a moment that depends on the cut.
decoding_limits only_size(std::uint64_t size) {
    return {.decoded = size, .ratio = UINT32_MAX, .ratio_from = UINT64_MAX};
}

// One piece, in memory of exactly its size.
coding_error feed(decoder& d, std::string_view piece, std::size_t room, std::string& out) {
    const std::unique_ptr<char[]> in{new char[piece.size()]};
    std::memcpy(in.get(), piece.data(), piece.size());
    const std::unique_ptr<char[]> to{new char[room]};
    std::string_view rest{in.get(), piece.size()};
    for (bool full = true; full || !rest.empty();) {
        const decode_result r = d.decode(rest, {to.get(), room});
        require(r.consumed <= rest.size() && r.produced <= room);
        if (r.error != coding_error::none) {
            return r.error;
        }
        require(r.consumed == rest.size() || r.produced == room);
        out.append(to.get(), r.produced);
        rest.remove_prefix(r.consumed);
        full = r.produced == room;
    }
    return coding_error::none;
}

outcome decode(content_coding coding, std::string_view bytes, std::size_t step, std::size_t room,
               const decoding_limits& limits) {
    decoder d{coding, limits};
    outcome all;
    for (std::size_t at = 0; at < bytes.size() && all.error == coding_error::none; at += step) {
        all.error = feed(d, bytes.substr(at, step), room, all.bytes);
        require(all.bytes.size() <= limits.decoded);
    }
    if (all.error == coding_error::none) {
        all.error = d.finish();
    }
    return all;
}

void require_limits(content_coding coding, std::string_view bytes) {
    const decoding_limits limits{.decoded = 4096, .ratio = 20, .ratio_from = 512};
    constexpr std::size_t room = 256;
    const outcome all = decode(coding, bytes, 64, room, limits);
    require(all.bytes.size() <= limits.decoded);
    require(all.bytes.size() <= limits.ratio_from + limits.ratio * bytes.size() + room);
}

void require_round_trip(content_coding coding, std::string_view bytes, std::size_t step) {
    const std::unique_ptr<encoder> e = make_encoder(coding);
    std::string encoded;
    char out[encoder::least_room];
    for (std::size_t at = 0, turn = 0;; at += step, ++turn) {
        std::string_view piece = bytes.substr(at < bytes.size() ? at : bytes.size(), step);
        const bool last = at + step >= bytes.size();
        const encode_action action = last            ? encode_action::finish
                                     : turn % 3 == 2 ? encode_action::flush
                                                     : encode_action::process;
        for (bool done = false; !done;) {
            const encode_result r = e->encode(piece, out, action);
            require(r.consumed <= piece.size() && r.produced <= sizeof out);
            encoded.append(out, r.produced);
            piece.remove_prefix(r.consumed);
            done = r.done;
            require(!done || piece.empty());
        }
        if (last) {
            break;
        }
    }
    const outcome back = decode(coding, encoded, encoded.size(), 4096, only_size(bytes.size()));
    require(back.error == coding_error::none && back.bytes == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 3) {
        return 0;
    }
    constexpr content_coding codings[] = {content_coding::gzip, content_coding::deflate,
                                          content_coding::brotli, content_coding::zstd};
    const content_coding coding = codings[data[0] % 4];
    const std::size_t step = data[1] % 64U + 1U;
    const std::string_view bytes{reinterpret_cast<const char*>(data) + 2, size - 2};
    const decoding_limits limits = only_size(std::uint64_t{64} * 1024);
    const outcome whole = decode(coding, bytes, bytes.size(), 4096, limits);
    const outcome cut = decode(coding, bytes, step, data[1] % 7U + 1U, limits);
    const bool same_verdict =
        (whole.error == coding_error::none) == (cut.error == coding_error::none);
    // libzstd decodes a frame that is there as a whole in one pass, which takes some blocks without
    // content that the others refuse.
    require(same_verdict || coding == content_coding::zstd);
    if (!same_verdict) {
        require(whole.bytes.starts_with(cut.bytes) || cut.bytes.starts_with(whole.bytes));
    } else if (whole.error == coding_error::none) {
        require(cut == whole);
    }
    require_limits(coding, bytes);
    require_round_trip(coding, bytes, step);
    return 0;
}
