// The compression of heads, with nghttp2 as the other side of the connection.

#include "support/nghttp2_hpack.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>

namespace coracle::http::h2::hpack {
namespace {

/// Fields as they come on one connection: few names, values that come again and some that do not.
class traffic {
public:
    explicit traffic(unsigned seed) { chance_.seed(seed); }
    unsigned up_to(unsigned n) { return static_cast<unsigned>(chance_() % (n + 1)); }
    fields next() {
        fields all;
        for (unsigned n = up_to(8); n != 0; --n) {
            const char* const names[] = {":path",
                                         ":status",
                                         ":authority",
                                         "date",
                                         "server",
                                         "accept",
                                         "x-long-name-of-its-own",
                                         "content-length",
                                         "set-cookie",
                                         "via",
                                         "x"};
            std::string value = "v" + std::to_string(up_to(20));
            if (up_to(9) == 0) value.assign(up_to(1500), 'l');
            if (up_to(9) == 0) value += static_cast<char>(up_to(255));
            all.emplace_back(names[up_to(10)], std::move(value));
        }
        return all;
    }

private:
    std::mt19937 chance_{1};
};

TEST(h2_hpack_beside_nghttp2, is_understood_by_nghttp2) {
    for (unsigned seed = 0; seed != 20; ++seed) {
        traffic t(seed);
        encoder ours;
        nghttp2_reader theirs;
        for (int block = 0; block != 300; ++block) {
            const fields sent = t.next();
            if (t.up_to(30) == 0) ours.set_limit(t.up_to(4096));
            if (t.up_to(60) == 0) ours.release();
            const auto how = t.up_to(20) == 0 ? indexing::never : indexing::usual;
            ASSERT_EQ(theirs.read(write(ours, sent, how)), text_of(sent)) << seed;
        }
    }
}

TEST(h2_hpack_beside_nghttp2, understands_nghttp2) {
    for (unsigned seed = 0; seed != 20; ++seed) {
        traffic t(seed);
        nghttp2_writer theirs;
        reader ours;
        for (int block = 0; block != 300; ++block) {
            const fields sent = t.next();
            if (t.up_to(30) == 0) theirs.set_limit(t.up_to(4096));
            ASSERT_EQ(ours.read(theirs.write(sent), 1 + t.up_to(40)), text_of(sent)) << seed;
        }
    }
}

TEST(h2_hpack_beside_nghttp2, judges_mutated_blocks_as_nghttp2_does) {
    for (unsigned seed = 0; seed != 3000; ++seed) {
        traffic t(seed);
        nghttp2_writer writer;
        nghttp2_reader theirs;
        reader ours;
        for (int block = 0; block != 4; ++block) {
            std::string bytes(writer.write(t.next()));
            for (unsigned n = t.up_to(2); n != 0 && !bytes.empty(); --n) {
                bytes[t.up_to(static_cast<unsigned>(bytes.size()) - 1)] =
                    static_cast<char>(t.up_to(255));
            }
            const std::string expected = theirs.read(bytes);
            std::string got = ours.read(bytes, 1 + t.up_to(10));
            if (got.ends_with("cut")) got.replace(got.size() - 3, 3, "failed");
            ASSERT_EQ(got, expected) << seed;
            if (expected.ends_with("failed")) break;
        }
    }
}

}  // namespace
}  // namespace coracle::http::h2::hpack
