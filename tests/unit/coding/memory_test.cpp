// The memory of an encoder and of a decoder, by the account of the C library (which is silent under
// a sanitizer).

#include "coding/decoder.hpp"
#include "coding/encoder_pool.hpp"
#include "support/content.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

using namespace coracle::coding;

namespace {

std::size_t held() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/// Text that never repeats far, so that every table fills.
std::string piece_of_text(coracle::testing::number_sequence& numbers) {
    std::string text;
    while (text.size() < 64 * 1024) text += "word" + std::to_string(numbers.next() % 20'000) + ' ';
    text.resize(64 * 1024);
    return text;
}

/// 4 MiB as they are encoded, and the most KiB that the encoder holds meanwhile.
std::size_t encode(content_coding coding, std::string& all) {
    coracle::testing::number_sequence numbers;
    std::string out(128 * 1024, '\0');
    all.reserve(8 * 1024 * 1024);
    std::size_t most = 0;
    const std::size_t before = held();
    const auto e = make_encoder(coding);
    e->begin(std::nullopt);
    for (int i = 0; i != 64; ++i) {
        {
            const std::string text = piece_of_text(numbers);
            const auto action = i == 63 ? encode_action::finish : encode_action::flush;
            const auto r = e->encode(text, out, action);
            EXPECT_TRUE(r.done);
            all.append(out, 0, r.produced);
        }
        most = std::max(most, held() - before);
    }
    return most / 1024;
}

/// The most KiB that the decoder holds.
std::size_t decode(content_coding coding, std::string_view in) {
    std::string back(64 * 1024, '\0');
    std::size_t most = 0;
    const std::size_t before = held();
    decoder d(coding);
    for (bool full = true; full || !in.empty();) {
        const auto r = d.decode(in, back);
        EXPECT_EQ(r.error, coding_error::none);
        in.remove_prefix(r.consumed);
        full = r.produced == back.size();
        most = std::max(most, held() - before);
    }
    EXPECT_EQ(d.finish(), coding_error::none);
    return most / 1024;
}

void expect_held(content_coding coding, std::size_t encoder_kib, std::size_t decoder_kib) {
    std::string all;
    EXPECT_LE(encode(coding, all), encoder_kib);
    EXPECT_LE(decode(coding, all), decoder_kib);
}

}  // namespace

TEST(an_encoder_and_a_decoder, of_gzip_hold_what_is_said) {
    expect_held(content_coding::gzip, 270, 48);
}

TEST(an_encoder_and_a_decoder, of_brotli_hold_what_is_said) {
    expect_held(content_coding::brotli, 1900, 600);
}

TEST(an_encoder_and_a_decoder, of_zstd_hold_what_is_said) {
    expect_held(content_coding::zstd, 1350, 800);
}

TEST(a_pooled_encoder, is_used_again) {
    for (const content_coding coding :
         {content_coding::gzip, content_coding::brotli, content_coding::zstd}) {
        const std::string text = "a text that is encoded again and again";
        char out[1024];
        const auto use = [&] {
            pooled_encoder e(coding, text.size());
            const auto r = e->encode(text, out, encode_action::finish);
            EXPECT_TRUE(r.done);
            return held();
        };
        const std::size_t at_first = use();
        for (int i = 0; i != 10; ++i) EXPECT_EQ(use(), at_first) << to_string(coding);
    }
}

TEST(a_pooled_encoder, is_freed_when_enough_are_kept) {
    const auto use = [](std::size_t n) {
        std::vector<std::unique_ptr<pooled_encoder>> all;
        for (std::size_t i = 0; i != n; ++i) {
            all.push_back(std::make_unique<pooled_encoder>(content_coding::gzip, std::nullopt));
        }
    };
    use(pooled_encoder::most_kept);
    const std::size_t kept = held();
    use(pooled_encoder::most_kept + 8);
    EXPECT_LT(held(), kept + 16 * 1024);
}
