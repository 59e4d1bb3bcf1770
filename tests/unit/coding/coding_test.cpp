#include "coding/decoder.hpp"
#include "coding/encoder.hpp"
#include "support/content.hpp"

#include <brotli/encode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

using namespace coracle::coding;
using coracle::testing::noise_of;
using coracle::testing::text_of;

namespace {

constexpr content_coding codings[] = {content_coding::gzip, content_coding::deflate,
                                      content_coding::brotli, content_coding::zstd};

std::string name_of(const testing::TestParamInfo<content_coding>& info) {
    return std::string(to_string(info.param));
}

class every_coding : public testing::TestWithParam<content_coding> {};
INSTANTIATE_TEST_SUITE_P(all, every_coding, testing::ValuesIn(codings), name_of);

void encode(encoder& e, std::string_view in, encode_action action, std::string& out,
            std::size_t room = 4096) {
    std::string piece(room, '\0');
    for (;;) {
        const auto r = e.encode(in, piece, action);
        out.append(piece, 0, r.produced);
        in.remove_prefix(r.consumed);
        if (r.done) return;
    }
}

std::string encoded(content_coding coding, std::string_view in, std::size_t step = SIZE_MAX) {
    const auto e = make_encoder(coding);
    std::string out;
    for (; in.size() > step; in.remove_prefix(step)) {
        encode(*e, in.substr(0, step), encode_action::process, out);
    }
    encode(*e, in, encode_action::finish, out);
    return out;
}

struct decoded {
    std::string bytes;
    coding_error error = coding_error::none;
};

/// Decodes `in`, given in pieces of `step`, with `room` for each step of the output.
coding_error feed(decoder& d, std::string_view in, std::string& out, std::size_t step = SIZE_MAX,
                  std::size_t room = 4096) {
    std::string piece(room, '\0');
    while (!in.empty()) {
        std::string_view some = in.substr(0, step);
        in.remove_prefix(some.size());
        for (bool full = true; full || !some.empty();) {
            const auto r = d.decode(some, piece);
            if (r.error != coding_error::none) return r.error;
            out.append(piece, 0, r.produced);
            some.remove_prefix(r.consumed);
            full = r.produced == piece.size();
        }
    }
    return coding_error::none;
}

decoded decode(content_coding coding, std::string_view in, std::size_t step = SIZE_MAX,
               std::size_t room = 4096, const decoding_limits& limits = {}) {
    decoder d(coding, limits);
    decoded all;
    all.error = feed(d, in, all.bytes, step, room);
    if (all.error == coding_error::none) all.error = d.finish();
    return all;
}

std::string raw_deflate(std::string_view text) {
    const std::string zlib = encoded(content_coding::deflate, text);
    return zlib.substr(2, zlib.size() - 6);  // without header and checksum
}

}  // namespace

TEST_P(every_coding, gives_back_what_it_was_given) {
    for (const std::size_t size : {0UZ, 1UZ, 2UZ, 100UZ, 65'536UZ, 1'000'003UZ}) {
        for (const std::string& in : {text_of(size), noise_of(size), std::string(size / 4, 'a')}) {
            const std::string out = encoded(GetParam(), in, 50'000);
            const decoded back = decode(GetParam(), out);
            EXPECT_EQ(back.error, coding_error::none) << size;
            EXPECT_TRUE(back.bytes == in) << size;
        }
    }
}

TEST_P(every_coding, makes_text_much_smaller) {
    EXPECT_LT(encoded(GetParam(), text_of(100'000)).size(), 25'000U);
}

TEST_P(every_coding, decodes_the_same_however_it_is_cut) {
    const std::string in = text_of(20'000);
    const std::string out = encoded(GetParam(), in, 3000);
    for (const std::size_t step : {1UZ, 2UZ, 3UZ, 1000UZ}) {
        for (const std::size_t room : {1UZ, 7UZ, 100'000UZ}) {
            const decoded back = decode(GetParam(), out, step, room);
            EXPECT_EQ(back.error, coding_error::none);
            EXPECT_TRUE(back.bytes == in) << step << ' ' << room;
        }
    }
}

TEST_P(every_coding, shows_what_was_flushed) {
    const auto e = make_encoder(GetParam());
    decoder d(GetParam());
    std::string all;
    for (int i = 0; i != 50; ++i) {
        const std::string event = "data: " + std::to_string(i) + "\n\n";
        std::string out;
        encode(*e, event, encode_action::flush, out, encoder::least_room);
        std::string back;
        EXPECT_EQ(feed(d, out, back), coding_error::none);
        EXPECT_EQ(back, event);
    }
    EXPECT_EQ(d.finish(), coding_error::truncated);
    std::string end;
    encode(*e, {}, encode_action::finish, end);
    std::string back;
    EXPECT_EQ(feed(d, end, back), coding_error::none);
    EXPECT_EQ(d.finish(), coding_error::none);
    EXPECT_EQ(back, "");
}

TEST_P(every_coding, begins_anew_in_the_midst_of_a_content) {
    const auto e = make_encoder(GetParam());
    std::string lost;
    encode(*e, text_of(70'000), encode_action::process, lost);
    for (const auto size : {std::optional<std::uint64_t>(5), std::optional<std::uint64_t>()}) {
        e->begin(size);
        std::string out;
        encode(*e, "hello", encode_action::finish, out);
        EXPECT_EQ(decode(GetParam(), out).bytes, "hello");
    }
}

TEST_P(every_coding, tells_a_content_that_is_cut_short) {
    const std::string out = encoded(GetParam(), text_of(5000));
    for (const std::size_t size : {0UZ, 1UZ, 5UZ, out.size() / 2, out.size() - 1}) {
        EXPECT_EQ(decode(GetParam(), out.substr(0, size)).error, coding_error::truncated) << size;
    }
}

TEST_P(every_coding, tells_what_follows_its_end) {
    const std::string out = encoded(GetParam(), text_of(5000)) + "GET / HTTP/1.1";
    for (const std::size_t step : {1UZ, 1000UZ, SIZE_MAX}) {
        EXPECT_EQ(decode(GetParam(), out, step).error, coding_error::trailing_data) << step;
    }
}

TEST_P(every_coding, tells_what_is_corrupt) {
    std::string out = encoded(GetParam(), text_of(5000));
    for (std::size_t i = out.size() / 2; i != out.size() / 2 + 20; ++i) out[i] = '\xff';
    const coding_error error = decode(GetParam(), out).error;
    // Damage within the data may also look like a content that goes on.
    EXPECT_TRUE(error == coding_error::corrupt || error == coding_error::truncated);
    EXPECT_NE(decode(GetParam(), std::string(100, '\xff')).error, coding_error::none);
}

TEST_P(every_coding, keeps_to_the_size_that_it_may_have) {
    const std::string out = encoded(GetParam(), text_of(10'000));
    const auto within = [&](std::uint64_t limit) {
        decoding_limits limits;
        limits.decoded = limit;
        return decode(GetParam(), out, SIZE_MAX, 4096, limits).error;
    };
    EXPECT_EQ(within(10'001), coding_error::none);
    EXPECT_EQ(within(10'000), coding_error::none);
    EXPECT_EQ(within(9'999), coding_error::too_large);
    EXPECT_EQ(within(4'096), coding_error::too_large);
    EXPECT_EQ(within(0), coding_error::too_large);
}

TEST_P(every_coding, keeps_to_the_ratio_that_it_may_have) {
    const std::string in(100'000, 'a');
    const std::string out = encoded(GetParam(), in);
    const auto within = [&](std::size_t ratio, std::uint64_t from) {
        decoding_limits limits;
        limits.ratio = static_cast<std::uint32_t>(ratio);
        limits.ratio_from = from;
        return decode(GetParam(), out, SIZE_MAX, 1000, limits).error;
    };
    const std::size_t ratio = in.size() / out.size();
    EXPECT_EQ(within(in.size(), 0), coding_error::none);
    EXPECT_EQ(within(ratio / 2, 0), coding_error::ratio_exceeded);
    EXPECT_EQ(within(0, 0), coding_error::none);
    EXPECT_EQ(within(1, in.size()), coding_error::none);
    EXPECT_EQ(within(1, in.size() - 1), coding_error::ratio_exceeded);
}

TEST_P(every_coding, keeps_to_the_very_ratio) {
    const std::string noise = noise_of(4'000);
    std::string in;
    for (std::size_t at = 0; at != noise.size(); at += 4) {
        in.append(noise, at, 4).append(96, 'a');
    }
    const std::string out = encoded(GetParam(), in);
    const std::size_t ratio = in.size() / out.size();
    ASSERT_GT(ratio, 8U) << "or one more is much more";
    const auto within = [&](std::size_t most) {
        decoding_limits limits;
        limits.ratio = static_cast<std::uint32_t>(most);
        limits.ratio_from = in.size() - 1;  // looked at where all is there
        return decode(GetParam(), out, SIZE_MAX, 1000, limits).error;
    };
    EXPECT_EQ(within(ratio + 1), coding_error::none);
    EXPECT_EQ(within(ratio - 1), coding_error::ratio_exceeded);
}

namespace {

/// Text that fills a window: nothing of it comes again.
std::string distinct_text(std::size_t size) {
    coracle::testing::number_sequence numbers;
    std::string text;
    while (text.size() < size) text += std::to_string(numbers.next()) + '\n';
    text.resize(size);
    return text;
}

std::string brotli_with_window(std::string_view in, int window_bits, int quality = 2) {
    std::size_t size = BrotliEncoderMaxCompressedSize(in.size()) + 1024;
    std::string out(size, '\0');
    EXPECT_EQ(BrotliEncoderCompress(quality, window_bits, BROTLI_MODE_GENERIC, in.size(),
                                    reinterpret_cast<const std::uint8_t*>(in.data()), &size,
                                    reinterpret_cast<std::uint8_t*>(out.data())),
              BROTLI_TRUE);
    out.resize(size);
    return out;
}

/// As servers do that send what they have: the decoder's window grows as the content comes.
std::string brotli_in_flushed_pieces(std::string_view in, int window_bits) {
    const std::unique_ptr<BrotliEncoderState, void (*)(BrotliEncoderState*)> state(
        BrotliEncoderCreateInstance(nullptr, nullptr, nullptr), BrotliEncoderDestroyInstance);
    BrotliEncoderSetParameter(state.get(), BROTLI_PARAM_QUALITY, 2);
    BrotliEncoderSetParameter(state.get(), BROTLI_PARAM_LGWIN,
                              static_cast<std::uint32_t>(window_bits));
    std::string out;
    while (!BrotliEncoderIsFinished(state.get())) {
        const std::string_view piece = in.substr(0, 256 * 1024);
        in.remove_prefix(piece.size());
        std::size_t left = piece.size();
        const auto* next = reinterpret_cast<const std::uint8_t*>(piece.data());
        std::string room(512 * 1024, '\0');
        std::size_t free = room.size();
        auto* to = reinterpret_cast<std::uint8_t*>(room.data());
        const auto what = in.empty() ? BROTLI_OPERATION_FINISH : BROTLI_OPERATION_FLUSH;
        EXPECT_TRUE(
            BrotliEncoderCompressStream(state.get(), what, &left, &next, &free, &to, nullptr));
        EXPECT_EQ(left, 0U);
        out.append(room, 0, room.size() - free);
    }
    return out;
}

decoding_limits of_window(std::uint64_t bytes) {
    decoding_limits limits;
    limits.window = bytes;
    return limits;
}

constexpr std::uint64_t mebibyte = 1024 * 1024;

}  // namespace

TEST(windows, of_brotli_are_bounded_by_what_the_content_fills) {
    const std::string small = brotli_with_window(distinct_text(100'000), 24);
    EXPECT_EQ(decode(content_coding::brotli, small, SIZE_MAX, 4096, of_window(mebibyte)).error,
              coding_error::none);
    const std::string large = brotli_with_window(distinct_text(6 * mebibyte), 24);
    EXPECT_EQ(decode(content_coding::brotli, large, SIZE_MAX, 4096, of_window(mebibyte)).error,
              coding_error::window_too_large);
    EXPECT_EQ(decode(content_coding::brotli, large, SIZE_MAX, 4096).error, coding_error::none);
}

TEST(windows, of_brotli_are_taken_for_the_nearest_that_there_can_be) {
    const std::string small = brotli_with_window(distinct_text(200), 24);
    const std::string large = brotli_with_window(distinct_text(6 * mebibyte), 24);
    for (const std::uint64_t window : {std::uint64_t(0), std::uint64_t(1055), UINT64_MAX}) {
        EXPECT_EQ(decode(content_coding::brotli, small, SIZE_MAX, 4096, of_window(window)).error,
                  coding_error::none)
            << window;
    }
    EXPECT_EQ(decode(content_coding::brotli, large, SIZE_MAX, 4096, of_window(UINT64_MAX)).error,
              coding_error::none);
    EXPECT_EQ(decode(content_coding::brotli, large, SIZE_MAX, 4096, of_window(0)).error,
              coding_error::window_too_large);
}

TEST(windows, of_brotli_leave_room_for_its_codes) {
    // Pieces of many kinds, each of which gets codes of its own.
    coracle::testing::number_sequence numbers;
    std::string mixed;
    for (int piece = 0; piece != 400; ++piece) {
        std::string letters;
        for (int i = 0; i != 48; ++i) letters += static_cast<char>(numbers.next());
        for (int i = 0; i != 4096; ++i) {
            const std::uint64_t n = numbers.next();
            mixed += letters[n % (1 + (n >> 8) % letters.size())];
        }
    }
    const std::string out = brotli_with_window(mixed, 14, 9);
    EXPECT_EQ(decode(content_coding::brotli, out, SIZE_MAX, 4096, of_window(64 * 1024)).error,
              coding_error::none);
}

TEST(windows, of_brotli_may_grow_to_their_limit) {
    const std::pair<int, std::uint64_t> rows[] = {{24, 16}, {22, 4}};
    for (const auto& [bits, limit] : rows) {
        const std::string in = distinct_text((limit + 2) * mebibyte);
        const std::string out = brotli_in_flushed_pieces(in, bits);
        EXPECT_EQ(
            decode(content_coding::brotli, out, SIZE_MAX, 64 * 1024, of_window(limit * mebibyte))
                .error,
            coding_error::none)
            << bits;
    }
}

TEST(windows, of_zstd_are_bounded_by_what_the_frame_asks_for) {
    const auto e = make_encoder(content_coding::zstd, 9);
    e->begin(std::nullopt);
    const std::string in = distinct_text(4 * mebibyte);
    std::string large(2 * in.size(), '\0');
    const auto r = e->encode(in, large, encode_action::finish);
    ASSERT_TRUE(r.done);
    large.resize(r.produced);
    EXPECT_EQ(decode(content_coding::zstd, large, SIZE_MAX, 4096, of_window(mebibyte)).error,
              coding_error::window_too_large);
    EXPECT_EQ(decode(content_coding::zstd, large, SIZE_MAX, 4096).error, coding_error::none);
}

TEST_P(every_coding, counts_what_its_decoder_holds_in_a_budget) {
    const std::string out = encoded(GetParam(), text_of(100'000));
    decoder_budget budget{.most = 8 * mebibyte};
    std::string room(4096, '\0');
    {
        decoder first(GetParam(), {}, &budget);
        EXPECT_EQ(first.decode(out, room).error, coding_error::none);
        EXPECT_GT(budget.held, 4096U);
        budget.most = budget.held;
        {
            decoder second(GetParam(), {}, &budget);
            EXPECT_EQ(second.decode(out, room).error, coding_error::no_memory);
            EXPECT_EQ(second.finish(), coding_error::no_memory);
        }
        EXPECT_EQ(budget.held, budget.most) << "the second one has given back what it held";
    }
    EXPECT_EQ(budget.held, 0U);
}

TEST_P(every_coding, keeps_its_error) {
    decoder d(GetParam());
    std::string out;
    EXPECT_NE(feed(d, std::string(100, '\xff'), out), coding_error::none);
    EXPECT_EQ(feed(d, encoded(GetParam(), "hello"), out), d.finish());
    EXPECT_NE(d.finish(), coding_error::none);
}

TEST(gzip, may_have_several_members) {
    const std::string two =
        encoded(content_coding::gzip, "one ") + encoded(content_coding::gzip, "two");
    for (const std::size_t step : {1UZ, 7UZ, SIZE_MAX}) {
        const decoded back = decode(content_coding::gzip, two, step);
        EXPECT_EQ(back.error, coding_error::none);
        EXPECT_EQ(back.bytes, "one two");
    }
    EXPECT_EQ(decode(content_coding::gzip, two + '\x1f').error, coding_error::truncated);
}

TEST(zstd, may_have_several_frames) {
    const std::string two =
        encoded(content_coding::zstd, "one ") + encoded(content_coding::zstd, "two");
    for (const std::size_t step : {1UZ, 7UZ, SIZE_MAX}) {
        const decoded back = decode(content_coding::zstd, two, step);
        EXPECT_EQ(back.error, coding_error::none);
        EXPECT_EQ(back.bytes, "one two");
    }
}

TEST(zstd, may_not_ask_for_a_window_beyond_8_MiB) {
    // The head of a frame: magic, no single segment, the window descriptor; then a raw block that
    // ends it, of one byte (RFC 8878 section 3.1.1).
    const auto frame = [](unsigned exponent, unsigned mantissa) {
        const std::string magic = "\x28\xb5\x2f\xfd";
        const char window = static_cast<char>(exponent << 3 | mantissa);
        return magic + '\0' + window + '\x09' + std::string(2, '\0') + 'x';
    };
    EXPECT_EQ(decode(content_coding::zstd, frame(12, 0)).bytes, "x");
    EXPECT_EQ(decode(content_coding::zstd, frame(13, 0)).bytes, "x");  // 2^(10 + 13)
    EXPECT_EQ(decode(content_coding::zstd, frame(13, 1)).error, coding_error::window_too_large);
    EXPECT_EQ(decode(content_coding::zstd, frame(14, 0)).error, coding_error::window_too_large);
}

TEST(brotli, may_not_ask_for_a_large_window) {
    // 0x11 begins the form of large windows, which RFC 7932 reserves.
    EXPECT_EQ(decode(content_coding::brotli, "\x11\x1e\x00\x00\x00").error, coding_error::corrupt);
}

TEST(deflate, is_also_read_without_its_header) {
    for (const std::size_t size : {0UZ, 1UZ, 2UZ, 100UZ, 100'000UZ}) {
        for (const std::string& in : {text_of(size), noise_of(size)}) {
            for (const std::size_t step : {1UZ, 2UZ, SIZE_MAX}) {
                const decoded back = decode(content_coding::deflate, raw_deflate(in), step, 1);
                EXPECT_EQ(back.error, coding_error::none) << size;
                EXPECT_TRUE(back.bytes == in) << size;
            }
        }
    }
}

TEST(content_coding, has_its_registered_name) {
    EXPECT_EQ(to_string(content_coding::brotli), "br");
    EXPECT_EQ(find_content_coding("BR"), content_coding::brotli);
    EXPECT_EQ(find_content_coding("x-gzip"), content_coding::gzip);
    EXPECT_EQ(find_content_coding("identity"), content_coding::identity);
    EXPECT_EQ(find_content_coding("compress"), std::nullopt);
    EXPECT_EQ(find_content_coding(""), std::nullopt);
}
