// The compression of heads: the examples of RFC 7541 appendix C, and what is refused.

#include "support/hpack_blocks.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace coracle::http::h2::hpack {
namespace {

std::string bytes_of(std::string_view hex) {
    std::string bytes;
    int high = -1;
    for (const char c : hex) {
        if (c == ' ') continue;
        const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
        if (high < 0) {
            high = digit;
        } else {
            bytes += static_cast<char>(high << 4 | digit);
            high = -1;
        }
    }
    return bytes;
}

struct example {
    const char* hex;
    fields decoded;
};

void expect_examples(const std::vector<example>& blocks, std::uint32_t table) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, plenty}) {
        reader r(table);
        for (const example& e : blocks) {
            EXPECT_EQ(r.read(bytes_of(e.hex), piece), text_of(e.decoded)) << e.hex;
        }
    }
}

const fields first_request = {
    {":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "www.example.com"}};
const fields second_request = {{":method", "GET"},
                               {":scheme", "http"},
                               {":path", "/"},
                               {":authority", "www.example.com"},
                               {"cache-control", "no-cache"}};
const fields third_request = {{":method", "GET"},
                              {":scheme", "https"},
                              {":path", "/index.html"},
                              {":authority", "www.example.com"},
                              {"custom-key", "custom-value"}};
const fields first_response = {{":status", "302"},
                               {"cache-control", "private"},
                               {"date", "Mon, 21 Oct 2013 20:13:21 GMT"},
                               {"location", "https://www.example.com"}};
const fields second_response = {{":status", "307"},
                                {"cache-control", "private"},
                                {"date", "Mon, 21 Oct 2013 20:13:21 GMT"},
                                {"location", "https://www.example.com"}};
const fields third_response = {
    {":status", "200"},
    {"cache-control", "private"},
    {"date", "Mon, 21 Oct 2013 20:13:22 GMT"},
    {"location", "https://www.example.com"},
    {"content-encoding", "gzip"},
    {"set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"}};

TEST(h2_hpack, reads_the_representations_of_appendix_c_2) {
    expect_examples({{"400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
                      {{"custom-key", "custom-header"}}}},
                    4096);
    expect_examples({{"040c 2f73 616d 706c 652f 7061 7468", {{":path", "/sample/path"}}}}, 4096);
    expect_examples({{"1008 7061 7373 776f 7264 0673 6563 7265 74", {{"password", "secret"}}}},
                    4096);
    expect_examples({{"82", {{":method", "GET"}}}}, 4096);
}

TEST(h2_hpack, reads_the_requests_of_appendix_c_3) {
    expect_examples({{"8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", first_request},
                     {"8286 84be 5808 6e6f 2d63 6163 6865", second_request},
                     {"8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
                      third_request}},
                    4096);
}

TEST(h2_hpack, reads_the_requests_of_appendix_c_4) {
    expect_examples(
        {{"8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", first_request},
         {"8286 84be 5886 a8eb 1064 9cbf", second_request},
         {"8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", third_request}},
        4096);
}

TEST(h2_hpack, reads_the_responses_of_appendix_c_5) {
    expect_examples(
        {{"4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 "
          "303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 "
          "6f6d",
          first_response},
         {"4803 3330 37c1 c0bf", second_response},
         {"88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 "
          "5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 "
          "5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
          third_response}},
        256);
}

TEST(h2_hpack, reads_the_responses_of_appendix_c_6) {
    expect_examples(
        {{"4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b "
          "ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
          first_response},
         {"4883 640e ffc1 c0bf", second_response},
         {"88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad "
          "94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 "
          "65c0 03ed 4ee5 b106 3d50 07",
          third_response}},
        256);
}

TEST(h2_hpack, writes_the_requests_of_appendix_c_4) {
    encoder e;
    EXPECT_EQ(write(e, first_request), bytes_of("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff"));
    EXPECT_EQ(write(e, second_request), bytes_of("8286 84be 5886 a8eb 1064 9cbf"));
    EXPECT_EQ(write(e, third_request),
              bytes_of("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf"));
}

// Appendix C.1, as the sizes of texts.
TEST(h2_hpack, reads_and_writes_numbers_of_any_size) {
    for (const std::size_t size :
         {0U, 1U, 30U, 31U, 126U, 127U, 128U, 254U, 255U, 1337U, 16511U, 70'000U}) {
        // A byte whose code is longer than itself.
        const fields one = {{"x", std::string(size, '~')}};
        encoder e;
        reader r;
        EXPECT_EQ(r.read(write(e, one), 7), text_of(one)) << size;
    }
    reader r;
    // 1337 with a prefix of 5 bits (C.1.2), here the size of the table; then one beyond it.
    EXPECT_EQ(r.read(bytes_of("3f9a0a 82")), ":method: GET\n");
    EXPECT_EQ(r.read(bytes_of("3fe21f")), "failed");
}

TEST(h2_hpack, refuses_what_is_no_field_block) {
    const std::pair<const char*, const char*> rows[] = {
        {"80", "index 0"},
        {"be", "an index beyond the table"},
        {"7e 00", "a name beyond the table"},
        {"ff ffff ffff 7f", "a number beyond 32 bits"},
        {"ff 8080 8080 8000", "a number of too many bytes"},
        {"0f 8080 8080 8000 0161", "one that would be small"},
        {"82 20", "a table size behind a field"},
        {"3f e2 1f", "a table above what was offered"},
        {"00 81 ff 00", "padding of eight ones"},
        {"00 81 fe 00", "padding that is no begin of EOS"},
        {"00 84 ffff ffff 00", "EOS"},
        {"00 82 ffff 00", "padding of sixteen ones"},
    };
    for (const auto& [hex, what] : rows) {
        for (const std::size_t piece : {std::size_t{1}, plenty}) {
            reader r;
            const std::string got = r.read(bytes_of(hex), piece);
            EXPECT_TRUE(got.ends_with("failed")) << what << ": " << got;
        }
    }
    for (const char* hex : {"ff", "40", "40 01", "40 01 61", "40 01 61 02 62", "3f", "00 82 84"}) {
        reader r;
        EXPECT_EQ(r.read(bytes_of(hex)), "cut") << hex;
    }
}

TEST(h2_hpack, knows_the_code_of_every_byte) {
    std::mt19937 chance(1);
    for (int round = 0; round != 3000; ++round) {
        std::string text;
        const auto size = static_cast<unsigned>(chance() % 40);
        for (unsigned i = 0; i != size; ++i) {
            text += static_cast<char>(round < 256 ? round : static_cast<int>(chance() % 256));
        }
        std::string coded(huffman_size(text), '\0');
        EXPECT_EQ(huffman_encode(coded.data(), text), coded.data() + coded.size());
        huffman_decoder d;
        d.begin();
        std::string back;
        for (std::size_t at = 0; at < coded.size();) {
            const std::string_view piece = std::string_view(coded).substr(at, 1 + chance() % 5);
            std::string room(huffman_decoder::room_for(piece.size()), '\0');
            const char* const end = d.decode(piece, room.data());
            ASSERT_NE(end, nullptr);
            back.append(room.data(), static_cast<std::size_t>(end - room.data()));
            at += piece.size();
        }
        EXPECT_TRUE(d.ends_well());
        EXPECT_EQ(back, text);
    }
}

TEST(h2_hpack, evicts_the_oldest_and_empties_the_table_for_what_is_too_large) {
    dynamic_table t(100);
    t.add({.name = "a", .value = "1"});
    t.add({.name = "b", .value = "2"});
    EXPECT_EQ(t.count(), 2U);
    t.add({.name = "c", .value = "3"});
    EXPECT_EQ(t.count(), 2U);
    EXPECT_EQ(t.at(0).name, "c");
    EXPECT_EQ(t.at(1).name, "b");
    t.set_limit(60);
    EXPECT_EQ(t.count(), 1U);
    EXPECT_EQ(t.at(0).value, "3");
    t.add({.name = "d", .value = std::string(28, 'x')});
    EXPECT_EQ(t.count(), 0U);
    t.add({.name = "d", .value = std::string(27, 'x')});
    EXPECT_EQ(t.count(), 1U);
    t.release();
    EXPECT_EQ(t.count(), 0U);
    t.add({.name = "e", .value = ""});
    EXPECT_EQ(t.at(0).name, "e");
}

TEST(h2_hpack, keeps_a_table_of_entries_of_any_size) {
    std::mt19937 chance(7);
    dynamic_table t(4096);
    std::vector<std::string> model;
    for (int round = 0; round != 20'000; ++round) {
        const std::string value(chance() % (round % 7 == 0 ? 3000 : 20),
                                static_cast<char>('a' + round % 26));
        t.add({.name = "n", .value = value});
        model.push_back(value);
        ASSERT_LE(t.count(), 124U);
        for (std::uint32_t i = 0; i != t.count(); ++i) {
            ASSERT_EQ(t.at(i).value, model[model.size() - 1 - i]) << round;
        }
        std::size_t size = 0;
        for (std::uint32_t i = 0; i != t.count(); ++i) size += t.at(i).value.size() + 33;
        ASSERT_LE(size, 4096U);
        // The next older one would not fit.
        if (t.count() < model.size()) {
            ASSERT_GT(size + model[model.size() - 1 - t.count()].size() + 33, 4096U);
        }
    }
}

TEST(h2_hpack, gives_nothing_of_what_is_too_large_and_reads_on) {
    encoder e;
    const std::string big(5000, 'b');
    for (const char fill : {'b', '~'}) {
        reader r;
        const std::string block =
            write(e, {{"x", "1"}, {"y", std::string(5000, fill)}, {"z", "2"}});
        EXPECT_EQ(r.read(block, 100, 4096), "x: 1\ntoo large\nz: 2\n");
        e = encoder();
    }
    // It empties the table all the same (section 4.4).
    const std::string huge = bytes_of("40 0179 7f89 26") + std::string(5000, 'b');
    reader r;
    EXPECT_EQ(r.read(bytes_of("40 0161 0162 be")), "a: b\na: b\n");
    EXPECT_EQ(r.read(huge, 100, 4096), "too large\n");
    EXPECT_EQ(r.read(bytes_of("be")), "failed");
}

TEST(h2_hpack, writes_what_is_shorter) {
    encoder e;
    EXPECT_NE(write(e, {{"x", "~~~~"}}).find("\x04~~~~"), std::string::npos);
    EXPECT_EQ(write(e, {{"y", "aaaaaaaa"}}).find("aaa"), std::string::npos);
}

TEST(h2_hpack, keeps_secrets_out_of_the_table) {
    encoder e;
    const fields secret = {{"authorization", "Bearer abc"}};
    const std::string first = write(e, secret, indexing::never);
    EXPECT_EQ(write(e, secret, indexing::never), first);
    EXPECT_EQ(static_cast<unsigned char>(first.front()) & 0xf0U, 0x10U);
}

TEST(h2_hpack, says_what_a_block_does_to_the_tables) {
    encoder e;
    const auto effect_of = [&e](const fields& all, indexing how = indexing::usual) {
        write(e, all, how);
        return e.effect();
    };
    EXPECT_EQ(effect_of({}), block_effect::none);
    EXPECT_EQ(effect_of({{":status", "200"}}), block_effect::none) << "a reference";
    EXPECT_EQ(effect_of({{"content-length", "13"}}), block_effect::none) << "not indexed";
    EXPECT_EQ(effect_of({{"a", "b"}}), block_effect::changes) << "added";
    EXPECT_EQ(effect_of({{"a", "b"}}), block_effect::none) << "a reference to what was added";
    EXPECT_EQ(effect_of({{"cookie", "c"}}, indexing::never), block_effect::secret);
    e.set_limit(0);
    EXPECT_EQ(effect_of({{":status", "200"}}), block_effect::changes) << "a new size";
    EXPECT_EQ(effect_of({{"a", "b"}}), block_effect::none) << "no table to add it to";
    e.set_limit(4096);
    static_cast<void>(effect_of({}));
    // Whatever comes behind an addition, or before it.
    char out[256];
    for (const indexing first : {indexing::usual, indexing::never}) {
        const indexing second = first == indexing::usual ? indexing::never : indexing::usual;
        const std::string name = first == indexing::usual ? "x" : "y";
        char* at = e.begin_block(out);
        at = e.write(at, name, "z", coracle::http::field_id::other, first);
        e.write(at, name, "z", coracle::http::field_id::other, second);
        EXPECT_EQ(e.effect(), block_effect::changes);
    }
}

TEST(h2_hpack, tells_the_peer_the_least_and_the_last_size_of_the_table) {
    encoder e;
    const fields one = {{"x", "1"}};
    reader r;
    EXPECT_EQ(r.read(write(e, one)), text_of(one));
    EXPECT_EQ(write(e, one), bytes_of("be"));
    e.set_limit(0);
    e.set_limit(2000);
    const std::string block = write(e, one);
    EXPECT_EQ(block.substr(0, 1), bytes_of("20"));
    EXPECT_EQ(block.substr(1, 3), bytes_of("3fb10f"));
    EXPECT_EQ(r.read(block), text_of(one));
    EXPECT_EQ(write(e, one), bytes_of("be"));
    e.set_limit(2000);
    EXPECT_EQ(write(e, one), bytes_of("be"));
}

TEST(h2_hpack, appends_no_field_of_a_table_that_is_to_be_skipped) {
    decoder d(4096);
    buffer out;
    d.begin_block();
    // "p: v" into the table, then twice from there.
    const std::string block = "\x40\x01p\x01v\xbe\xbe";
    std::string_view rest = block;
    ASSERT_EQ(d.next(rest, out, plenty), decoder::result::field);
    EXPECT_EQ(out.view(), "pv");
    d.skip_known_fields();
    for (int i = 0; i != 2; ++i) {
        ASSERT_EQ(d.next(rest, out, plenty), decoder::result::field);
        EXPECT_FALSE(d.is_whole());
        EXPECT_EQ(d.name_size() + d.value_size(), 2U);
    }
    EXPECT_EQ(out.view(), "pv");
    // A literal still goes into the table, and the next block is read as usual.
    rest = "\x40\x01q\x01w";
    ASSERT_EQ(d.next(rest, out, plenty), decoder::result::field);
    d.begin_block();
    out.clear();
    rest = "\xbf\xbe";
    ASSERT_EQ(d.next(rest, out, plenty), decoder::result::field);
    ASSERT_EQ(d.next(rest, out, plenty), decoder::result::field);
    EXPECT_TRUE(d.is_whole());
    EXPECT_EQ(out.view(), "pvqw");
}

}  // namespace
}  // namespace coracle::http::h2::hpack
