#include <coracle/mime/base64.hpp>
#include <coracle/mime/quoted_printable.hpp>
#include <coracle/mime/transfer_encoding.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>

using namespace coracle::mime;
using enum transfer_encoding;

namespace {

transfer_encoding cheapest(std::string_view bytes, bool text, transport_abilities server = {}) {
    transfer_encoding whole{};
    for (const std::size_t step : {bytes.size() + 1, std::size_t{1}}) {
        content_scan scan;
        for (std::size_t at = 0; at < bytes.size(); at += step) scan.add(bytes.substr(at, step));
        const transfer_encoding e = scan.cheapest(text, server);
        if (step != 1) whole = e;
        EXPECT_EQ(e, whole) << "in pieces";
    }
    return whole;
}

std::string decode(transfer_encoding e, std::string_view bytes, std::size_t step) {
    content_decoder decoder(e);
    std::string out;
    for (std::size_t at = 0; at < bytes.size(); at += step)
        decoder.add(bytes.substr(at, step), out);
    decoder.finish(out);
    return out;
}

}  // namespace

TEST(content_scan, chooses_the_shortest_safe_form) {
    constexpr transport_abilities eight{.eight_bit = true, .binary = false};
    constexpr transport_abilities binary{.eight_bit = true, .binary = true};
    using namespace std::string_view_literals;
    const std::string long_line(999, 'x');
    const std::string high(200, '\xe9');
    const struct {
        std::string_view bytes;
        bool text;
        transfer_encoding plain;
        transfer_encoding with_eight;
        transfer_encoding with_binary;
    } rows[] = {
        {"", true, seven_bit, seven_bit, seven_bit},
        {"Hello\r\n", false, seven_bit, seven_bit, seven_bit},
        {"Hello\n", true, seven_bit, seven_bit, seven_bit},
        {"Hello\nmore of it\n", false, quoted_printable, quoted_printable,
         transfer_encoding::binary},
        {"Gr\xc3\xbc\xc3\x9f"
         "e, und noch mehr Text\r\n",
         true, quoted_printable, eight_bit, transfer_encoding::binary},
        {high, false, base64, eight_bit, transfer_encoding::binary},
        {long_line, true, quoted_printable, quoted_printable, transfer_encoding::binary},
        {std::string_view(long_line).substr(1), true, seven_bit, seven_bit, seven_bit},
        {"a lone \r is no line\r\n", true, quoted_printable, quoted_printable,
         transfer_encoding::binary},
        {"ends with \r", true, quoted_printable, quoted_printable, transfer_encoding::binary},
        {"abcdefgh\0"sv, true, quoted_printable, quoted_printable, transfer_encoding::binary},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(cheapest(row.bytes, row.text), row.plain) << row.bytes;
        EXPECT_EQ(cheapest(row.bytes, row.text, eight), row.with_eight) << row.bytes;
        EXPECT_EQ(cheapest(row.bytes, row.text, binary), row.with_binary) << row.bytes;
    }
}

TEST(base64_writer, writes_what_base64_encode_writes) {
    std::mt19937 chance(3);
    for (std::size_t size = 0; size != 400; ++size) {
        std::string bytes(size, '\0');
        for (char& c : bytes) c = static_cast<char>(chance());
        const std::string wanted = base64_encode(bytes, base64_alphabet::standard, 76);
        EXPECT_EQ(base64_writer::encoded_size(size), wanted.size()) << size;
        for (const std::size_t step : {std::size_t{1}, std::size_t{2}, std::size_t{57}, size + 1}) {
            base64_writer writer;
            std::string out;
            for (std::size_t at = 0; at < size; at += step) {
                writer.add(std::string_view(bytes).substr(at, step), out);
            }
            writer.finish(out);
            EXPECT_EQ(out, wanted) << size << " by " << step;
        }
    }
}

TEST(content_decoder, decodes_at_any_cut) {
    std::string bytes;
    for (int i = 0; i != 700; ++i) bytes += static_cast<char>(i * 7);
    const std::string in_base64 = base64_encode(bytes, base64_alphabet::standard, 76);
    std::string text = "Grüße, = und \t\r\nlange Zeilen ";
    text += std::string(300, 'x') + " ein Ende\t \r\n.\r\n" + std::string(600, '=');
    const std::string quoted = quoted_printable_encode(text);
    for (std::size_t step = 1; step != 90; ++step) {
        EXPECT_EQ(decode(base64, in_base64, step), bytes);
        EXPECT_EQ(decode(quoted_printable, quoted, step), text) << step;
        EXPECT_EQ(decode(eight_bit, text, step), text);
    }
    // A line that does not end.
    const std::string endless = "=41" + std::string(5000, 'y') + " =C3=A9 z";
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, endless.size()}) {
        EXPECT_EQ(decode(quoted_printable, endless, step), "A" + std::string(5000, 'y') + " é z");
    }
}

TEST(content_decoder, says_what_has_no_place) {
    const auto damaged = [](std::string_view text) {
        content_decoder d(base64);
        std::string out;
        d.add(text, out);
        d.finish(out);
        return d.damaged();
    };
    EXPECT_FALSE(damaged("aGFsbG8=\r\n"));
    EXPECT_FALSE(damaged("aGFs bG8"));
    EXPECT_TRUE(damaged("aGFs*bG8="));
    EXPECT_TRUE(damaged("aGFsb"));
    EXPECT_TRUE(damaged("aGFsbG8=aGFs"));
    EXPECT_EQ(decode(base64, "aGFs*bG8=trailing", 1), "hallo");
}

TEST(parse_transfer_encoding, knows_all_names) {
    for (const transfer_encoding e :
         {seven_bit, eight_bit, quoted_printable, base64, transfer_encoding::binary}) {
        EXPECT_EQ(parse_transfer_encoding(to_string(e)), e);
    }
    EXPECT_EQ(parse_transfer_encoding(" Base64 "), base64);
    EXPECT_FALSE(parse_transfer_encoding("x-uuencode"));
    EXPECT_FALSE(parse_transfer_encoding(""));
}
