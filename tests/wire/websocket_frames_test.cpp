// Frames and messages of WebSocket as bytes, cut at every position: what the cases 1 to 7 of the
// Autobahn testsuite look at, from RFC 6455.

#include "websocket/codec/close_payload.hpp"
#include "wire/websocket_bytes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace websocket_bytes;

std::string repeated(std::size_t n, char c = '*') {
    return std::string(n, c);
}

/// Cut at every position, or at every 97th of long ones, and byte by byte.
void expect_events(std::string_view bytes, const std::vector<std::string>& events,
                   role self = role::server) {
    const std::size_t step = bytes.size() < 2000 ? 1 : 97;
    for (std::size_t cut = 1; cut < bytes.size(); cut += step) {
        const heard h = decode(bytes, cut, self);
        ASSERT_EQ(h.why, fault::none) << "cut at " << cut;
        ASSERT_EQ(h.events, events) << "cut at " << cut;
    }
    if (bytes.size() < 2000) {
        EXPECT_EQ(decode(bytes, std::string_view::npos, self).events, events);
    }
}

/// The fault is the same however it is cut, and found once `by` bytes are there, if told so.
void expect_fault(std::string_view bytes, fault why, std::size_t by = 0, role self = role::server) {
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
        ASSERT_EQ(decode(bytes, cut, self).why, why) << "cut at " << cut;
    }
    const heard single = decode(bytes, std::string_view::npos, self);
    ASSERT_EQ(single.why, why);
    if (by != 0) {
        EXPECT_EQ(single.at, by);
    }
}

}  // namespace

// ---- sizes (cases 1)

TEST(websocket_frames, of_every_size_of_length_are_whole_messages) {
    for (const std::size_t n : {0U, 1U, 124U, 125U, 126U, 127U, 128U, 65535U, 65536U}) {
        expect_events(frame(frame_opcode::text, repeated(n)), {"text " + repeated(n)});
        expect_events(frame(frame_opcode::binary, repeated(n, '\xfe')),
                      {"binary " + repeated(n, '\xfe')});
        expect_events(frame(frame_opcode::binary, repeated(n), role::server),
                      {"binary " + repeated(n)}, role::client);
    }
}

TEST(websocket_frames, are_written_as_the_examples_of_the_rfc) {
    // RFC 6455 section 5.7.
    EXPECT_EQ(frame(frame_opcode::text, "Hello", role::server), "\x81\x05Hello");
    frame_header h;
    h.code = frame_opcode::text;
    h.length = 5;
    h.mask = 0x3d21fa37;  // 37 fa 21 3d, as bytes
    EXPECT_EQ(frame(frame_opcode::text, "Hello"), "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
    EXPECT_EQ(frame(frame_opcode::text, "Hel", role::server, false), "\x01\x03Hel");
    EXPECT_EQ(frame(frame_opcode::continuation, "lo", role::server), "\x80\x02lo");
    EXPECT_EQ(frame(frame_opcode::binary, repeated(256), role::server).substr(0, 4),
              std::string("\x82\x7e\x01\x00", 4));
    EXPECT_EQ(frame(frame_opcode::binary, repeated(65536), role::server).substr(0, 10),
              std::string("\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10));
    EXPECT_EQ(header_size(h), 6U);
}

// ---- pings and pongs (cases 2)

TEST(websocket_frames, of_control_are_whole_events) {
    expect_events(frame(frame_opcode::ping, "") + frame(frame_opcode::ping, "boat") +
                      frame(frame_opcode::pong, "unasked") + frame(frame_opcode::text, "Hi"),
                  {"ping ", "ping boat", "pong unasked", "text Hi"});
    expect_events(frame(frame_opcode::ping, repeated(125)), {"ping " + repeated(125)});
}

TEST(websocket_frames, of_control_beyond_125_bytes_are_refused_by_their_length) {
    expect_fault(frame(frame_opcode::ping, repeated(126)), fault::control_too_long, 2);
    expect_fault(frame(frame_opcode::close, repeated(126)), fault::control_too_long, 2);
    expect_fault(frame(frame_opcode::pong, repeated(70'000)).substr(0, 40), fault::control_too_long,
                 2);
}

// ---- reserved bits and opcodes (cases 3 and 4)

TEST(websocket_frames, with_reserved_bits_are_refused_at_their_first_byte) {
    for (unsigned bits = 1; bits != 8; ++bits) {
        for (const frame_opcode code :
             {frame_opcode::text, frame_opcode::binary, frame_opcode::ping, frame_opcode::close}) {
            std::string bytes = frame(code, "boat");
            bytes[0] = static_cast<char>(static_cast<unsigned char>(bytes[0]) | bits << 4);
            expect_fault(bytes, fault::reserved_bits, 1);
        }
    }
}

TEST(websocket_frames, with_reserved_opcodes_are_refused_at_their_first_byte) {
    for (const unsigned code : {3U, 4U, 5U, 6U, 7U, 11U, 12U, 13U, 14U, 15U}) {
        std::string bytes = frame(frame_opcode::text, "boat");
        bytes[0] = static_cast<char>(0x80U | code);
        expect_fault(bytes, fault::reserved_opcode, 1);
    }
}

// ---- masks and lengths

TEST(websocket_frames, masked_the_wrong_way_are_refused_at_their_second_byte) {
    expect_fault(frame(frame_opcode::text, "boat", role::server), fault::not_masked, 2);
    expect_fault(frame(frame_opcode::ping, "boat", role::server), fault::not_masked, 2);
    expect_fault(frame(frame_opcode::text, "boat"), fault::masked, 2, role::client);
}

TEST(websocket_frames, with_lengths_that_no_sender_writes_are_refused) {
    const std::string key = "\x37\xfa\x21\x3d";
    expect_fault(std::string("\x82\xfe\x00\x7d", 4) + key, fault::length_not_minimal, 4);
    expect_fault(std::string("\x82\xff\x00\x00\x00\x00\x00\x00\xff\xff", 10) + key,
                 fault::length_not_minimal, 10);
    expect_fault(std::string("\x82\xff\x80\x00\x00\x00\x00\x00\x00\x00", 10) + key,
                 fault::length_too_large, 10);
    expect_events(frame(frame_opcode::binary, repeated(126)), {"binary " + repeated(126)});
}

TEST(websocket_frames, of_63_bits_are_a_length_like_others) {
    const std::string head("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x37\xfa\x21\x3d", 14);
    message_decoder decoder(role::server);
    std::string bytes = head + "boat";
    const decoded d = decoder.next({bytes.data(), bytes.size()}, {});
    EXPECT_EQ(d.what, decoded_event::frame);
    EXPECT_EQ(decoder.frame_left(), 0x7fffffffffffffffU);
}

// ---- fragments (cases 5)

TEST(websocket_fragments, become_one_message_with_control_frames_between_them) {
    expect_events(frame(frame_opcode::text, "Hel", role::client, false) +
                      frame(frame_opcode::ping, "1") +
                      frame(frame_opcode::continuation, "", role::client, false) +
                      frame(frame_opcode::pong, "2") + frame(frame_opcode::continuation, "lo") +
                      frame(frame_opcode::binary, "next"),
                  {"ping 1", "pong 2", "text Hello", "binary next"});
}

TEST(websocket_fragments, out_of_order_are_refused_at_their_first_byte) {
    const std::string first = frame(frame_opcode::text, "Hel", role::client, false);
    expect_fault(frame(frame_opcode::continuation, "lo"), fault::unexpected_continuation, 1);
    expect_fault(frame(frame_opcode::continuation, "lo", role::client, false),
                 fault::unexpected_continuation, 1);
    expect_fault(first + frame(frame_opcode::text, "lo"), fault::missing_continuation,
                 first.size() + 1);
    const std::string whole = first + frame(frame_opcode::continuation, "lo");
    expect_fault(whole + frame(frame_opcode::continuation, "!"), fault::unexpected_continuation,
                 whole.size() + 1);
}

TEST(websocket_fragments, of_control_frames_are_refused) {
    expect_fault(frame(frame_opcode::ping, "boat", role::client, false), fault::control_fragmented,
                 1);
    expect_fault(frame(frame_opcode::close, "", role::client, false), fault::control_fragmented, 1);
}

TEST(websocket_fragments, are_as_many_as_the_limit_and_no_more) {
    std::string bytes = frame(frame_opcode::binary, "0", role::client, false);
    for (int i = 1; i != 15; ++i)
        bytes += frame(frame_opcode::continuation, "", role::client, false);
    expect_events(bytes + frame(frame_opcode::continuation, "e"), {"binary 0e"});
    bytes += frame(frame_opcode::continuation, "", role::client, false);
    expect_fault(bytes + frame(frame_opcode::continuation, "e"), fault::too_many_fragments);
}

// ---- UTF-8 (cases 6)

TEST(websocket_text, is_utf8_wherever_it_is_cut) {
    const std::string text = "\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5 \xf0\x9f\x9b\xb6 boat";
    expect_events(frame(frame_opcode::text, text), {"text " + text});
    for (std::size_t at = 0; at <= text.size(); ++at) {
        const std::string bytes =
            frame(frame_opcode::text, text.substr(0, at), role::client, false) +
            frame(frame_opcode::continuation, text.substr(at));
        EXPECT_EQ(decode(bytes, bytes.size() / 2).events, std::vector<std::string>{"text " + text});
    }
}

TEST(websocket_text, that_is_no_utf8_is_refused_at_its_first_wrong_byte) {
    struct bad {
        std::string_view bytes;
        std::size_t wrong;  ///< the place of the first byte that shows it; npos: only the end does
    };
    constexpr auto at_end = std::string_view::npos;
    const std::array cases{
        bad{"\xff", 0},
        bad{"\xfe", 0},
        bad{"\x80", 0},
        bad{"\xc0\xaf", 0},
        bad{"\xc1\xbf", 0},
        bad{"\xe0\x80\xaf", 1},
        bad{"\xe0\x9f\xbf", 1},
        bad{"\xf0\x80\x80\xaf", 1},
        bad{"\xf0\x8f\xbf\xbf", 1},
        bad{"\xed\xa0\x80", 1},
        bad{"\xed\xbf\xbf", 1},
        bad{"\xf4\x90\x80\x80", 1},
        bad{"\xf5\x80\x80\x80", 0},
        bad{"\xe1\x80 ", 2},
        bad{"\xf1\x80\x80 ", 3},
        bad{"\xc2 ", 1},
        bad{"\xc2", at_end},
        bad{"\xe1\x80", at_end},
        bad{"\xf1\x80\x80", at_end},
    };
    for (const std::size_t before : {0U, 3U, 31U, 32U, 100U}) {
        for (const bad& one : cases) {
            const std::string text = repeated(before) + std::string(one.bytes);
            const std::string bytes =
                frame(frame_opcode::text, text) + frame(frame_opcode::ping, "");
            const std::size_t head = text.size() < 126 ? 6 : 8;
            const std::size_t shows =
                one.wrong == at_end ? head + text.size() : head + before + one.wrong + 1;
            expect_fault(bytes, fault::invalid_utf8, shows);
            expect_events(frame(frame_opcode::binary, text), {"binary " + text});
        }
    }
}

TEST(websocket_text, has_every_character_of_unicode_and_no_surrogate) {
    for (unsigned c = 0; c <= 0x110000; c += c < 0x1000 ? 1 : 37) {
        std::string text;
        const auto put = [&text](unsigned byte) { text += static_cast<char>(byte); };
        if (c < 0x80) {
            put(c);
        } else if (c < 0x800) {
            put(0xc0 | c >> 6);
        } else if (c < 0x10000) {
            put(0xe0 | c >> 12);
            put(0x80 | (c >> 6 & 0x3f));
        } else {
            put(0xf0 | c >> 18);
            put(0x80 | (c >> 12 & 0x3f));
            put(0x80 | (c >> 6 & 0x3f));
        }
        if (c >= 0x80) put(0x80 | (c & 0x3f));
        const bool good = (c < 0xd800 || c > 0xdfff) && c <= 0x10ffff;
        ASSERT_EQ(is_utf8(text), good) << c;
    }
}

// ---- closing (cases 7)

TEST(websocket_close, tells_its_code_and_reason) {
    close_payload said;
    EXPECT_EQ(read_close("", said), fault::none);
    EXPECT_EQ(said.code, close_code::no_status);
    EXPECT_EQ(read_close("\x03\xe8", said), fault::none);
    EXPECT_EQ(said.code, close_code::normal);
    EXPECT_EQ(read_close("\x03\xe9gone", said), fault::none);
    EXPECT_EQ(said.code, close_code::going_away);
    EXPECT_EQ(said.reason, "gone");
    EXPECT_EQ(read_close("\x03", said), fault::bad_close);
    EXPECT_EQ(read_close("\x03\xe8\xce", said), fault::invalid_utf8);
}

TEST(websocket_close, has_codes_that_may_be_sent_and_others) {
    for (const unsigned code : {1000U, 1001U, 1002U, 1003U, 1007U, 1008U, 1009U, 1010U, 1011U,
                                1012U, 1013U, 1014U, 3000U, 3999U, 4000U, 4999U}) {
        EXPECT_TRUE(may_be_sent(static_cast<close_code>(code))) << code;
    }
    for (const unsigned code :
         {0U, 999U, 1004U, 1005U, 1006U, 1015U, 1016U, 1100U, 2000U, 2999U, 5000U, 65535U}) {
        EXPECT_FALSE(may_be_sent(static_cast<close_code>(code))) << code;
        close_payload said;
        const std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
        EXPECT_EQ(read_close(payload, said), fault::bad_close) << code;
    }
}

TEST(websocket_close, writes_what_there_is_room_for) {
    std::array<char, max_control_payload> out{};
    const auto written = [&out](close_code c, std::string_view reason) {
        const char* const end = write_close(out.data(), c, reason);
        return std::string(out.data(), static_cast<std::size_t>(end - out.data()));
    };
    EXPECT_EQ(written(close_code::no_status, "x"), "");
    EXPECT_EQ(written(close_code::normal, "bye"),
              "\x03\xe8"
              "bye");
    EXPECT_EQ(written(close_code::normal, repeated(124)).size(), 125U);
    // A character is not cut in two.
    EXPECT_EQ(written(close_code::normal, repeated(122) + "\xce\xba").size(), 124U);
    EXPECT_EQ(written(close_code::normal, repeated(121) + "\xce\xba").size(), 125U);
}

// ---- masking

TEST(websocket_masks, are_the_same_from_every_kernel_size_offset_and_place) {
    std::string from(300, '\0');
    for (std::size_t i = 0; i != from.size(); ++i) from[i] = static_cast<char>(i * 7 + 1);
    const masking_key key = 0x8a1bf052;
    std::array<char, 4> bytes{};
    std::memcpy(bytes.data(), &key, sizeof key);
    const mask_kernel wide = wide_mask_kernel();
    for (std::size_t place = 0; place != 9; ++place) {
        for (std::size_t size = 0; size + place < from.size(); size += size < 140 ? 1 : 31) {
            for (std::uint64_t offset = 0; offset != 5; ++offset) {
                std::string expected(size, '\0');
                for (std::size_t i = 0; i != size; ++i) {
                    expected[i] = static_cast<char>(from[place + i] ^ bytes[(offset + i) % 4]);
                }
                std::string to(size + 1, '#');
                mask_copy(to.data(), from.data() + place, size, key, offset);
                ASSERT_EQ(to, expected + "#");
                if (offset != 0) continue;
                mask_scalar(to.data(), from.data() + place, size, key);
                ASSERT_EQ(to, expected + "#");
                if (wide == nullptr) continue;
                wide(to.data(), from.data() + place, size, key);
                ASSERT_EQ(to, expected + "#");
            }
        }
    }
}
