// permessage-deflate (RFC 7692): what is negotiated, and compressed messages as bytes; what the
// cases 12 and 13 of the Autobahn testsuite look at.

#include "coding/raw_deflate.hpp"
#include "websocket/codec/deflate_offer.hpp"
#include "wire/websocket_bytes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using namespace websocket_bytes;
using namespace coracle;
using compression = message_decoder::compression;

std::string deflated(coding::raw_deflater& d, std::string_view text) {
    std::string out;
    std::string room(64, '\0');
    for (coding::encode_result r; !r.done;) {
        r = d.encode(text, room, coding::encode_action::flush);
        out.append(room, 0, r.produced);
        text.remove_prefix(r.consumed);
    }
    EXPECT_TRUE(out.ends_with(std::string("\0\0\xff\xff", 4)));
    return out.substr(0, out.size() - 4);
}

std::string packed(std::string_view payload, bool fin = true) {
    return frame(frame_opcode::text, payload, role::client, fin, true);
}

std::vector<std::string> texts(const std::vector<std::string>& all) {
    std::vector<std::string> out;
    for (const std::string& one : all) out.push_back("text " + one);
    return out;
}

/// Cut at every position, with rooms of several sizes.
void expect_texts(std::string_view bytes, const std::vector<std::string>& all,
                  compression c = compression::with_context) {
    for (const std::size_t room : {1U, 7U, 64U, 5000U}) {
        const std::size_t step = bytes.size() < 300 ? 1 : 41;
        for (std::size_t cut = 1; cut < bytes.size(); cut += step) {
            const heard h = decode(bytes, cut, role::server, c, room);
            ASSERT_EQ(h.why, fault::none) << "cut at " << cut << ", room " << room;
            ASSERT_EQ(h.events, texts(all)) << "cut at " << cut << ", room " << room;
        }
    }
}

compression_options with(compression_mode m, int bits = 15) {
    compression_options o;
    o.mode = m;
    o.window_bits = bits;
    return o;
}

constexpr auto per_message = compression_mode::per_message;
constexpr auto with_context = compression_mode::with_context;

}  // namespace

TEST(websocket_deflate, takes_the_examples_of_the_rfc) {
    // RFC 7692 sections 7.2.3.1 to 7.2.3.6.
    const std::string hello("\xf2\x48\xcd\xc9\xc9\x07\x00", 7);
    expect_texts(packed(hello), {"Hello"});
    expect_texts(
        packed(hello.substr(0, 3), false) + frame(frame_opcode::continuation, hello.substr(3)),
        {"Hello"});
    expect_texts(packed(hello) + packed(std::string("\xf2\x00\x11\x00\x00", 5)),
                 {"Hello", "Hello"});
    expect_texts(packed(std::string("\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00", 11)),
                 {"Hello"});
    expect_texts(packed(std::string("\xf3\x48\xcd\xc9\xc9\x07\x00\x00", 8)), {"Hello"});
    expect_texts(packed(std::string("\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00", 13)),
                 {"Hello"});
    expect_texts(packed(std::string("\x00", 1)), {""});
}

TEST(websocket_deflate, remembers_messages_behind_a_last_block) {
    // BFINAL in the first message, and the second refers to it.
    expect_texts(packed(std::string("\xf3\x48\xcd\xc9\xc9\x07\x00\x00", 8)) +
                     packed(std::string("\xf2\x00\x11\x00\x00", 5)),
                 {"Hello", "Hello"});
}

TEST(websocket_deflate, remembers_a_whole_window_behind_many_last_blocks) {
    std::string text;
    std::uint32_t state = 7;
    while (text.size() < 32'000) {
        state = state * 48271U % 2147483647U;
        text += static_cast<char>('a' + state % 26);
    }
    coding::raw_deflater d(15, 6);
    const std::string first = packed(deflated(d, text));
    std::string empty;
    for (int i = 0; i != 1000; ++i) empty.append("\x03\x00", 2);
    const std::string again = deflated(d, text);
    ASSERT_LT(again.size(), 500U);
    const std::string bytes = first + packed(empty + '\0') + packed(again);
    for (const std::size_t cut : {first.size() + 1000, bytes.size() - 1}) {
        const heard h = decode(bytes, cut, role::server, compression::with_context, 5000);
        EXPECT_EQ(h.why, fault::none);
        EXPECT_EQ(h.events, texts({text, "", text}));
    }
}

TEST(websocket_deflate, takes_messages_with_and_without_context) {
    std::uint32_t state = 7;
    const auto chance = [&state] { return state = state * 48271U % 2147483647U; };
    for (const int bits : {9, 12, 15}) {
        coding::raw_deflater d(bits, 6);
        std::string whole;
        std::string alone;
        std::vector<std::string> all;
        for (int i = 0; i != 4; ++i) {
            std::string text;
            const std::size_t size = i == 3 ? 3000 : chance() % 60;
            while (text.size() < size) text += "boat " + std::to_string(chance() % 50) + ' ';
            all.push_back(text);
            whole += packed(deflated(d, text));
            coding::raw_deflater own(bits, 6);
            alone += packed(deflated(own, text));
        }
        expect_texts(whole, all);
        expect_texts(alone, all, compression::per_message);
    }
}

TEST(websocket_deflate, takes_messages_that_are_not_compressed_between_others) {
    coding::raw_deflater d(15, 6);
    const std::string one = packed(deflated(d, "boats and boats and boats"));
    const std::string two = packed(deflated(d, "boats and boats"));
    expect_texts(one + frame(frame_opcode::text, "plain") + two,
                 {"boats and boats and boats", "plain", "boats and boats"});
}

TEST(websocket_deflate, takes_control_frames_between_fragments) {
    coding::raw_deflater d(15, 6);
    const std::string all = deflated(d, "boats and boats and boats");
    const std::string bytes = packed(all.substr(0, 5), false) + frame(frame_opcode::ping, "1") +
                              frame(frame_opcode::continuation, all.substr(5));
    for (std::size_t cut = 1; cut != bytes.size(); ++cut) {
        const heard h = decode(bytes, cut, role::server, compression::per_message);
        const std::vector<std::string> expected{"ping 1", "text boats and boats and boats"};
        ASSERT_EQ(h.events, expected) << cut;
    }
}

TEST(websocket_deflate, gives_all_of_a_fragment_before_the_next_one_comes) {
    coding::raw_deflater d(15, 6);
    const std::string text(5000, 'b');
    std::string bytes = packed(deflated(d, text) + std::string("\0\0\xff\xff", 4), false);
    message_decoder decoder(role::server, compression::with_context);
    std::string room(64, '\0');
    std::size_t came = 0;
    for (;;) {
        const decoded next = decoder.next({bytes.data(), bytes.size()}, room);
        if (next.what == decoded_event::need_more) break;
        came += next.bytes.size();
        bytes.erase(0, next.consumed);
    }
    EXPECT_EQ(came, text.size());
    EXPECT_FALSE(decoder.at_payload());
}

TEST(websocket_deflate, refuses_the_bit_where_it_means_nothing) {
    const std::string hello("\xf2\x48\xcd\xc9\xc9\x07\x00", 7);
    EXPECT_EQ(decode(packed(hello), 3).why, fault::reserved_bits);
    const auto c = compression::with_context;
    EXPECT_EQ(
        decode(frame(frame_opcode::ping, "", role::client, true, true), 3, role::server, c).why,
        fault::reserved_bits);
    const std::string second =
        packed(hello.substr(0, 3), false) +
        frame(frame_opcode::continuation, hello.substr(3), role::client, true, true);
    EXPECT_EQ(decode(second, 3, role::server, c).why, fault::reserved_bits);
}

TEST(websocket_deflate, refuses_what_is_no_deflate) {
    const auto c = compression::with_context;
    for (const std::string& bad : {std::string("\xff\xff\xff\xff"), std::string("\x07"),
                                   std::string("\x00\x05\x00\x00\x00garbage", 12)}) {
        for (std::size_t cut = 1; cut != 8; ++cut) {
            EXPECT_EQ(decode(packed(bad), cut, role::server, c).why, fault::bad_compression);
        }
    }
    // It refers to what never was: the window is empty.
    EXPECT_EQ(decode(packed(std::string("\xf2\x00\x11\x00\x00", 5)), 3, role::server, c).why,
              fault::bad_compression);
    // Likewise behind a message that it must not refer to.
    const std::string hello("\xf2\x48\xcd\xc9\xc9\x07\x00", 7);
    EXPECT_EQ(decode(packed(hello) + packed(std::string("\xf2\x00\x11\x00\x00", 5)), 3,
                     role::server, compression::per_message)
                  .why,
              fault::bad_compression);
}

TEST(websocket_deflate, refuses_text_that_is_no_utf8_when_it_is_inflated) {
    coding::raw_deflater d(15, 6);
    const std::string bytes = packed(deflated(d, "boats\xed\xa0\x80 and boats"));
    for (std::size_t cut = 1; cut != bytes.size(); ++cut) {
        EXPECT_EQ(decode(bytes, cut, role::server, compression::with_context, 3).why,
                  fault::invalid_utf8);
    }
}

// ---- negotiation

TEST(websocket_deflate_offers, are_chosen_from_as_the_options_say) {
    struct offer {
        std::string_view text;
        compression_options ours;
        std::string_view response;  ///< empty: refused
    };
    const offer table[] = {
        {"permessage-deflate", with(with_context), "permessage-deflate"},
        {"permessage-deflate", with(per_message),
         "permessage-deflate; server_no_context_takeover; client_no_context_takeover"},
        {"permessage-deflate", with(compression_mode::off), ""},
        {"permessage-deflate; client_max_window_bits", with(with_context), "permessage-deflate"},
        {"permessage-deflate; client_max_window_bits=10", with(with_context),
         "permessage-deflate; client_max_window_bits=10"},
        {"permessage-deflate; server_max_window_bits=10", with(with_context),
         "permessage-deflate; server_max_window_bits=10"},
        {"permessage-deflate; server_max_window_bits=\"10\"", with(with_context),
         "permessage-deflate; server_max_window_bits=10"},
        {"permessage-deflate", with(with_context, 11),
         "permessage-deflate; server_max_window_bits=11"},
        {"permessage-deflate; server_no_context_takeover", with(with_context),
         "permessage-deflate; server_no_context_takeover"},
        {"permessage-deflate ;client_no_context_takeover", with(with_context),
         "permessage-deflate; client_no_context_takeover"},
        // Bounds that there cannot be are taken for the nearest.
        {"permessage-deflate", with(with_context, 16), "permessage-deflate"},
        {"permessage-deflate", with(with_context, 0),
         "permessage-deflate; server_max_window_bits=9"},
        // zlib has no such window: the next offer is taken.
        {"permessage-deflate; server_max_window_bits=8", with(with_context), ""},
        {"permessage-deflate; server_max_window_bits=8, permessage-deflate", with(with_context),
         "permessage-deflate"},
        {"x-webkit-deflate-frame, permessage-deflate", with(with_context), "permessage-deflate"},
        {", permessage-deflate,", with(with_context), "permessage-deflate"},
        {"permessage-deflate; unknown", with(with_context), ""},
        {"permessage-deflate; server_max_window_bits=7", with(with_context), ""},
        {"permessage-deflate; server_max_window_bits=16", with(with_context), ""},
        {"permessage-deflate; server_max_window_bits=010", with(with_context), ""},
        {"permessage-deflate; server_max_window_bits", with(with_context), ""},
        {"permessage-deflate; server_no_context_takeover=1", with(with_context), ""},
        {"permessage-deflate; server_no_context_takeover; server_no_context_takeover",
         with(with_context), ""},
        {"", with(with_context), ""},
    };
    for (const offer& o : table) {
        const deflate_choice c = choose_deflate(o.text, o.ours);
        EXPECT_FALSE(c.malformed) << o.text;
        EXPECT_EQ(c.response, o.response) << o.text;
        EXPECT_EQ(c.agreement.has_value(), !o.response.empty()) << o.text;
    }
}

TEST(websocket_deflate_offers, that_are_no_list_are_malformed) {
    for (const std::string_view bad :
         {"permessage-deflate;", "permessage-deflate; =1", "permessage-deflate; a=", ";",
          "permessage-deflate a", "permessage-deflate; a=\"b", "permessage-deflate; a=\"\"",
          "\x01"}) {
        EXPECT_TRUE(choose_deflate(bad, with(with_context)).malformed) << bad;
    }
}

TEST(websocket_deflate_offers, of_ours_are_taken_by_ours) {
    for (const auto mode : {per_message, with_context}) {
        for (const int bits : {-1, 9, 12, 15, 16}) {
            const auto theirs = choose_deflate(offer_deflate(with(mode, bits)), with(with_context));
            ASSERT_TRUE(theirs.agreement);
            std::optional<deflate_agreement> chosen;
            ASSERT_TRUE(read_deflate_choice(theirs.response, with(mode, bits), chosen));
            ASSERT_TRUE(chosen);
            EXPECT_EQ(*chosen, *theirs.agreement) << theirs.response;
        }
    }
    EXPECT_EQ(offer_deflate(with(compression_mode::off)), "");
}

TEST(websocket_deflate_offers, get_no_other_response_than_one_to_them) {
    std::optional<deflate_agreement> chosen;
    const auto accepts = [&chosen](std::string_view text, compression_options o) {
        return read_deflate_choice(text, o, chosen);
    };
    EXPECT_TRUE(accepts("", with(with_context)));
    EXPECT_FALSE(chosen);
    EXPECT_FALSE(accepts("permessage-deflate", with(compression_mode::off)));
    EXPECT_FALSE(accepts("x-deflate", with(with_context)));
    EXPECT_FALSE(accepts("permessage-deflate, permessage-deflate", with(with_context)));
    EXPECT_FALSE(accepts("permessage-deflate; unknown", with(with_context)));
    EXPECT_FALSE(accepts("permessage-deflate; client_max_window_bits", with(with_context)));
    EXPECT_FALSE(accepts("permessage-deflate; server_max_window_bits=99", with(with_context)));
    // A parameter that was required was not granted.
    EXPECT_FALSE(accepts("permessage-deflate", with(per_message)));
    EXPECT_TRUE(accepts("permessage-deflate; server_no_context_takeover", with(per_message)));
    EXPECT_TRUE(accepts("permessage-deflate; client_max_window_bits=9", with(with_context, 12)));
    EXPECT_EQ(chosen->client_window_bits, 9);
}
