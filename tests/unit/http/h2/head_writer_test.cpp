// Heads that are compressed again and again: what the peer's decoder makes of them is what was
// written, whatever came between.
#include "http/h2/head_writer.hpp"

#include "http/h2/block_cache.hpp"
#include "http/h2/head_reader.hpp"

#include <coracle/base/buffer.hpp>
#include <coracle/http/fields.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace coracle::http::h2 {
namespace {

constexpr std::string_view ok = "200";

std::string text_of(std::span<const field> fields) {
    std::string text;
    for (const field& f : fields) {
        text.append(f.name).append(f.never_indexed ? "=***" : "=").append(f.value).append(";");
    }
    return text;
}

// A connection in one direction: the compression of one side and the decompression of the other.
class line {
public:
    // The block's bytes, once it is known that it decodes to the same head.
    std::string write(std::string_view status, std::span<const field> fields) {
        const field control[] = {{":status", status, field_id::other}};
        buffer out;
        writer.write(control, fields, out);
        std::string block(out.view());
        reader_.begin(head_kind::response, {}, false);
        EXPECT_TRUE(reader_.read(block, true));
        head got;
        EXPECT_EQ(reader_.finish({}, got), head_fault::none);
        EXPECT_EQ(std::to_string(got.code), status);
        EXPECT_EQ(text_of(got.fields), text_of(fields));
        reader_.release();
        return block;
    }

    head_writer writer;

private:
    head_reader reader_;
};

const field html[] = {{"content-type", "text/html", field_id::content_type},
                      {"server", "coracle", field_id::server}};
const field other[] = {{"content-type", "text/other", field_id::content_type},
                       {"server", "coracle", field_id::server}};

TEST(h2_head_writer, gives_the_same_bytes_for_the_same_fields_once_the_table_has_them) {
    line l;
    const std::string first = l.write(ok, html);
    const std::string second = l.write(ok, html);
    EXPECT_LT(second.size(), first.size());
    for (int i = 0; i != 10; ++i) EXPECT_EQ(l.write(ok, html), second);
    // The number of each entry of the table has changed.
    l.write(ok, other);
    EXPECT_NE(l.write(ok, html), second);
}

TEST(h2_head_writer, tells_apart_fields_of_the_same_sizes) {
    line l;
    const field a[] = {{"a", "bc", field_id::other}};
    const field b[] = {{"ab", "c", field_id::other}};
    const field c[] = {{"a", "bd", field_id::other}};
    for (int i = 0; i != 4; ++i) {
        l.write(ok, a);
        l.write(ok, b);
        l.write(ok, c);
        l.write("201", c);
    }
}

TEST(h2_head_writer, keeps_credentials_out_of_what_it_remembers) {
    line l;
    const field secret[] = {{"authorization", "Bearer x", field_id::authorization}};
    const field control[] = {{":status", ok, field_id::other}};
    for (int i = 0; i != 3; ++i) {
        buffer out;
        EXPECT_TRUE(l.writer.write(control, secret, out));
    }
}

TEST(h2_head_writer, indexes_nothing_that_is_marked_as_a_secret) {
    line l;
    const field open[] = {{"x-pin", "1234", field_id::other}};
    field marked[] = {{"x-pin", "1234", field_id::other, true}};
    const std::string first = l.write(ok, marked);
    EXPECT_EQ(first.substr(0, 3), "\x88\x10\x84");
    EXPECT_EQ(l.write(ok, marked), first);
    // It is in the table, and its block among those that are kept: no secret is written by them.
    for (int i = 0; i != 3; ++i) l.write(ok, open);
    const std::string later = l.write(ok, marked);
    EXPECT_EQ(later.substr(0, 3), "\x88\x1f\x2f");
    EXPECT_EQ(l.write(ok, marked), later);
}

TEST(h2_head_writer, follows_a_table_of_another_size_and_one_that_was_given_up) {
    line l;
    for (int i = 0; i != 3; ++i) l.write(ok, html);
    l.writer.set_table_size(0);
    for (int i = 0; i != 3; ++i) l.write(ok, html);
    l.writer.set_table_size(4096);
    for (int i = 0; i != 3; ++i) l.write(ok, html);
    l.writer.give_up();
    for (int i = 0; i != 3; ++i) l.write(ok, html);
}

TEST(h2_head_writer, is_understood_whatever_the_order_of_heads_and_sizes) {
    std::mt19937 chance(1);
    const auto up_to = [&](unsigned n) {
        return std::uniform_int_distribution<unsigned>(0, n)(chance);
    };
    const std::vector<std::string> names = {"date", "server", "x-a", "x-b", "set-cookie"};
    std::vector<std::string> values;
    for (const unsigned size : {1U, 2U, 3U, 40U, 900U}) {
        values.emplace_back(size, 'a');
        values.emplace_back(size, 'b');
    }
    line l;
    for (int round = 0; round != 3000; ++round) {
        std::vector<field> fields;
        for (unsigned n = up_to(3); n != 0; --n) {
            const std::string& name = names[up_to(4)];
            const field_id id = find_field_id(name);
            const bool is_secret = id == field_id::set_cookie || up_to(9) == 0;
            fields.push_back({name, values[up_to(9)], id, is_secret});
        }
        for (unsigned n = up_to(2) + 1; n != 0; --n) l.write(up_to(1) != 0 ? "200" : "404", fields);
        if (up_to(50) == 0) l.writer.set_table_size(up_to(5000));
        if (up_to(200) == 0) l.writer.give_up();
    }
}

TEST(h2_block_cache, gives_what_it_keeps_until_the_table_changes) {
    block_cache cache;
    const field control[] = {{":status", ok, field_id::other}};
    cache.keep(control, html, "\x88\xbe\xff\x01");
    EXPECT_EQ(cache.find(control, html), "\x88\xbe\xff\x01");
    EXPECT_EQ(cache.find(control, other), "");
    cache.forget();
    EXPECT_EQ(cache.find(control, html), "");
}

TEST(h2_block_cache, tells_names_of_one_size_apart) {
    block_cache cache;
    const std::vector<http::field> control{{":status", "200", http::field_id::other}};
    const std::vector<http::field> kept{{"x-a", "1", http::field_id::other},
                                        {"Server", "1", http::field_id::server}};
    cache.keep(control, kept, "block");
    EXPECT_EQ(cache.find(control, kept), "block");
    std::vector<http::field> others = kept;
    others[0].name = "x-b";
    EXPECT_EQ(cache.find(control, others), "");
    others = kept;
    others[1] = {"Accept", "1", http::field_id::accept};
    EXPECT_EQ(cache.find(control, others), "");
    others = kept;
    others[1].value = "2";
    EXPECT_EQ(cache.find(control, others), "");
    others = {kept[1], kept[0]};
    EXPECT_EQ(cache.find(control, others), "");
}

TEST(h2_block_cache, has_several_that_come_in_turn) {
    block_cache cache;
    const field control[] = {{":status", ok, field_id::other}};
    // Some have the place of others.
    std::vector<std::string> values;
    for (std::size_t size = 1; size != 9; ++size) values.emplace_back(size, 'x');
    const auto line = [&](std::size_t i) {
        return std::vector<field>{{"Server", values[i], field_id::server}};
    };
    for (std::size_t i = 0; i != values.size(); ++i) {
        cache.keep(control, line(i), std::to_string(i));
        EXPECT_EQ(cache.find(control, line(i)), std::to_string(i));
        EXPECT_EQ(cache.find({}, line(i)), "");
        EXPECT_EQ(cache.find(control, {}), "");
    }
    for (int round = 0; round != 3; ++round) {
        for (std::size_t i = 4; i != values.size(); ++i) {
            EXPECT_EQ(cache.find(control, line(i)), std::to_string(i));
            EXPECT_EQ(cache.find(control, line(i - 4)), "");
        }
    }
    // More lines than were kept, and longer ones than any.
    std::vector<field> more = line(7);
    more.push_back(more.front());
    EXPECT_EQ(cache.find(control, more), "");
    const std::string endless(0x10008, 'x');
    const std::vector<field> huge{{"Server", endless, field_id::server}};
    EXPECT_EQ(cache.find(control, huge), "");
}

TEST(h2_block_cache, keeps_nothing_that_is_long) {
    block_cache cache;
    const std::string long_value(block_cache::longest, 'x');
    const field control[] = {{":status", ok, field_id::other}};
    const field fields[] = {{"x", long_value, field_id::other}};
    cache.keep(control, fields, "\x88\xbe");
    EXPECT_EQ(cache.find(control, fields), "");
}

}  // namespace
}  // namespace coracle::http::h2
