// Heads whose blocks came before: each is what the same bytes mean now, or it is read anew.
#include "http/h2/known_heads.hpp"

#include "http/h2/head_reader.hpp"
#include "support/hpack_blocks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::http::h2 {
namespace {

using hpack::encoder;
using hpack::fields;
using hpack::indexing;

void expect_in(std::string_view text, std::string_view part) {
    if (part.empty()) return;
    EXPECT_GE(part.data(), text.data());
    EXPECT_LE(part.data() + part.size(), text.data() + text.size());
}

/// All that a head says, which is in its one piece of text.
std::string text_of(const head& h) {
    std::string text = std::to_string(h.code) + ' ' + std::to_string(h.cost) + ' ' +
                       std::to_string(static_cast<int>(h.method)) + ' ' +
                       std::to_string(h.has_content_length ? h.content_length : 77) + '\n';
    for (const std::string_view part : {h.method_text, h.scheme, h.authority, h.path, h.protocol}) {
        expect_in(h.text, part);
        text.append(part).append("|");
    }
    for (const field& f : h.fields) {
        expect_in(h.text, f.name);
        expect_in(h.text, f.value);
        text.append("\n").append(f.name).append(": ").append(f.value);
        text.append(" ").append(std::to_string(static_cast<int>(f.id)));
    }
    return text;
}

/// One direction of a connection, read as a session reads it, and beside it without memory.
class line {
public:
    /// Reads a block; returns true if its head was known. Another that knows none reads the same.
    bool read(const std::string& block, head_kind kind = head_kind::response) {
        knows_.begin(kind, {}, true);
        plain_.begin(kind, {}, true);
        EXPECT_TRUE(plain_.read(block, true));
        head expected;
        EXPECT_EQ(plain_.finish({}, expected), head_fault::none);
        const head* const known = knows_.find(block);
        if (known != nullptr) {
            EXPECT_EQ(text_of(*known), text_of(expected));
        } else {
            EXPECT_TRUE(knows_.read(block, true));
            head got;
            EXPECT_EQ(knows_.finish(block, got), head_fault::none);
            EXPECT_EQ(text_of(got), text_of(expected));
            knows_.release();
        }
        plain_.release();
        return known != nullptr;
    }
    /// As often as it takes to know it.
    void learn(const std::string& block) {
        EXPECT_FALSE(read(block));
        EXPECT_FALSE(read(block));
        EXPECT_TRUE(read(block));
    }
    void trim() { knows_.trim(); }

private:
    head_reader knows_;
    head_reader plain_;
};

const fields ok = {{":status", "200"}, {"server", "x"}, {"content-length", "13"}};
const fields request = {{":method", "POST"},    {":scheme", "https"}, {":authority", "a.example"},
                        {":path", "/call?x=1"}, {"cookie", "a=1"},    {"cookie", "b=2"},
                        {"empty", ""}};

TEST(h2_known_heads, are_those_that_came_twice_and_changed_no_table) {
    encoder e;
    line l;
    const std::string first = write(e, ok);
    EXPECT_FALSE(l.read(first));  // indexes
    const std::string block = write(e, ok);
    l.learn(block);
    EXPECT_TRUE(l.read(block));
    // Bytes that begin alike, or have the size.
    std::string other = block;
    other.front() = static_cast<char>(0x89);  // 204
    EXPECT_FALSE(l.read(other));
    EXPECT_FALSE(l.read(block + static_cast<char>(0xbe)));
}

TEST(h2_known_heads, have_all_parts_of_a_request) {
    encoder e;
    line l;
    write(e, request);
    encoder fresh;
    EXPECT_FALSE(l.read(write(fresh, request), head_kind::request));
    const std::string block = write(fresh, request);
    for (int i = 0; i != 5; ++i) EXPECT_EQ(l.read(block, head_kind::request), i > 1) << i;
}

TEST(h2_known_heads, are_of_their_kind) {
    encoder e;
    line l;
    const fields both = {{"grpc-status", "0"}};
    static_cast<void>(l.read(write(e, both), head_kind::trailers));
    const std::string block = write(e, both);
    for (int i = 0; i != 3; ++i) static_cast<void>(l.read(block, head_kind::trailers));
    EXPECT_TRUE(l.read(block, head_kind::trailers));
    head_reader r;
    // As a response it has no status.
    r.begin(head_kind::response, {}, false);
    EXPECT_EQ(r.find(block), nullptr);
}

TEST(h2_known_heads, are_forgotten_when_the_table_changes) {
    encoder e;
    line l;
    EXPECT_FALSE(l.read(write(e, ok)));
    const std::string block = write(e, ok);
    l.learn(block);
    // One more entry: the same bytes refer to others.
    EXPECT_FALSE(l.read(write(e, {{":status", "200"}, {"new", "entry"}})));
    EXPECT_FALSE(l.read(block));
    EXPECT_FALSE(l.read(write(e, ok)));
    // A new size of the table, which keeps nothing.
    line sized;
    const std::string fixed("\x88", 1);
    sized.learn(fixed);
    EXPECT_FALSE(sized.read("\x20" + fixed));
    EXPECT_FALSE(sized.read(fixed));
}

TEST(h2_known_heads, are_not_those_that_change_the_table_each_time) {
    line l;
    const std::string adds("\x88\x40\x01n\x01v", 6);
    for (int i = 0; i != 5; ++i) EXPECT_FALSE(l.read(adds));
    // Each has made an entry: this is the first of the five.
    EXPECT_FALSE(l.read("\x88\xc2"));
}

TEST(h2_known_heads, are_forgotten_by_an_idle_connection) {
    line l;
    const std::string fixed("\x88", 1);
    l.learn(fixed);
    l.trim();
    l.learn(fixed);
}

TEST(h2_known_heads, hold_no_secrets_and_little_memory) {
    encoder e;
    line l;
    const std::string secret = write(e, {{":status", "200"}, {"set-cookie", "a"}}, indexing::never);
    for (int i = 0; i != 5; ++i) EXPECT_FALSE(l.read(secret));
    std::string many("\x88", 1);
    for (std::size_t i = 0; i != known_heads::most_fields; ++i) many.append("\x00\x01n\x01v", 5);
    l.learn(many);
    many.append("\x00\x01n\x01v", 5);
    for (int i = 0; i != 5; ++i) EXPECT_FALSE(l.read(many));
    const auto with_value = [](std::size_t size) {
        std::string block("\x88\x00\x01n\x7f", 5);
        const std::size_t rest = size - 127;
        block += static_cast<char>(0x80 | (rest & 0x7f));
        block += static_cast<char>(rest >> 7);
        return block + std::string(size, 'v');
    };
    l.learn(with_value(known_heads::longest - 100));
    const std::string large = with_value(known_heads::longest + 1);
    for (int i = 0; i != 5; ++i) EXPECT_FALSE(l.read(large));
}

TEST(h2_known_heads, are_right_whatever_comes_between) {
    std::size_t known = 0;
    for (std::uint32_t seed = 0; seed != 50; ++seed) {
        std::uint32_t state = seed + 1;
        const auto chance = [&state] { return state = state * 48271U % 2147483647U; };
        encoder e;
        line l;
        for (int i = 0; i != 300; ++i) {
            fields all = {{":status", chance() % 8 == 0 ? "404" : "200"}};
            for (unsigned n = chance() % 4; n != 0; --n) {
                all.emplace_back("n" + std::to_string(chance() % 3), std::to_string(chance() % 3));
            }
            const indexing how = chance() % 9 == 0 ? indexing::never : indexing::usual;
            if (l.read(write(e, all, how))) ++known;
        }
    }
    EXPECT_GT(known, 1000U);
}

}  // namespace
}  // namespace coracle::http::h2
