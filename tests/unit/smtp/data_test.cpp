// Bytes on the wire behind DATA: dots put in by the client's side, taken out by the sink's,
// and no second way to end a mail.

#include "smtp/dot_writer.hpp"
#include "smtp/incoming_data.hpp"

#include <gtest/gtest.h>

#include <string>

using namespace coracle::smtp::detail;
using fault = incoming_data::fault;

namespace {

std::string stuffed(std::string_view text, std::size_t step) {
    dot_writer dots;
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += step) dots.add(text.substr(at, step), out);
    dots.finish(out);
    return out;
}

}  // namespace

TEST(dot_writer, puts_a_dot_before_dots_that_begin_lines) {
    const struct {
        const char* text;
        const char* wanted;
    } rows[] = {
        {"", ".\r\n"},
        {"a", "a\r\n.\r\n"},
        {"a\r\n", "a\r\n.\r\n"},
        {".", "..\r\n.\r\n"},
        {".\r\n", "..\r\n.\r\n"},
        {"..\r\n.a\r\nb.\r\n", "...\r\n..a\r\nb.\r\n.\r\n"},
        {"a\r\n.\r\nMAIL FROM:<x>\r\n", "a\r\n..\r\nMAIL FROM:<x>\r\n.\r\n"},
    };
    for (const auto& row : rows) {
        for (std::size_t step = 1; step != 8; ++step)
            EXPECT_EQ(stuffed(row.text, step), row.wanted);
    }
}

TEST(incoming_data, takes_back_what_dot_writer_did_at_any_cut) {
    for (const std::string text : {"a\r\n", ".\r\n", "..\r\n\r\n.\r\n", "\r\n", "x.\r\n.y\r\n"}) {
        const std::string wire = stuffed(text, 100) + "QUIT\r\n";
        for (std::size_t cut = 0; cut <= wire.size(); ++cut) {
            incoming_data data(1000);
            const std::size_t first = data.add(std::string_view(wire).substr(0, cut));
            const std::size_t rest = data.add(std::string_view(wire).substr(first));
            EXPECT_TRUE(data.complete());
            EXPECT_EQ(wire.substr(first + rest), "QUIT\r\n") << "cut at " << cut;
            EXPECT_EQ(data.text(), text);
            EXPECT_EQ(data.problem(), fault::none);
        }
    }
}

TEST(incoming_data, ends_in_one_way_only) {
    const struct {
        const char* wire;
        fault wanted;
    } rows[] = {
        {"a\n.\nMAIL\r\n", fault::lone_lf},   {"a\n.\r\nMAIL\r\n", fault::lone_lf},
        {"a\r\n.\nMAIL\r\n", fault::lone_lf}, {"a\r.\r\nMAIL\r\n", fault::lone_cr},
        {"a\r.\rMAIL\r\n", fault::lone_cr},   {"a\r\n.\rMAIL\r\n", fault::lone_cr},
        {"a\r\r\n.\r\r\n", fault::lone_cr},   {"\n.\r\n", fault::lone_lf},
        {"a\r\n.\r.\r\n", fault::lone_cr},
    };
    for (const auto& row : rows) {
        incoming_data data(1000);
        data.add(row.wire);
        EXPECT_EQ(data.problem(), row.wanted) << row.wire;
    }
}

TEST(incoming_data, drops_what_is_too_much_and_goes_on_to_the_end) {
    incoming_data fits(6);
    fits.add("abcd\r\n.\r\n");
    EXPECT_TRUE(fits.complete());
    EXPECT_EQ(fits.problem(), fault::none);
    const std::string_view wire = "abcd\r\nefgh\r\n.\r\nX";
    for (std::size_t cut = 0; cut <= wire.size(); ++cut) {
        incoming_data data(5);
        const std::size_t first = data.add(wire.substr(0, cut));
        EXPECT_EQ(first + data.add(wire.substr(first)), 15u);
        EXPECT_TRUE(data.complete());
        EXPECT_EQ(data.problem(), fault::too_large);
        EXPECT_EQ(data.text(), "abcd\r") << "cut at " << cut;
    }
}
