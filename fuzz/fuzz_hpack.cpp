#include "base/ascii.hpp"
#include "require.hpp"
#include "support/nghttp2_hpack.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

// The compression of heads beside nghttp2's, in both directions of a connection. Blocks of any
// bytes get the same verdict and give the same fields; fields that one side writes the other one
// reads.

using namespace coracle::http::h2::hpack;

namespace {

/// Gives the input part by part.
class source {
public:
    source(const std::uint8_t* data, std::size_t size)
        : rest_(reinterpret_cast<const char*>(data), size) {}

    bool empty() const noexcept { return rest_.empty(); }
    unsigned byte() noexcept {
        if (rest_.empty()) return 0;
        const auto b = static_cast<unsigned char>(rest_.front());
        rest_.remove_prefix(1);
        return b;
    }
    std::string text(std::size_t size) {
        const std::string_view some = rest_.substr(0, size);
        rest_.remove_prefix(some.size());
        return std::string(some);
    }

private:
    std::string_view rest_;
};

void read_anything(source& in) {
    reader ours;
    nghttp2_reader theirs;
    while (!in.empty()) {
        const std::size_t piece = 1 + in.byte() % 32;
        const std::string block = in.text(1 + in.byte() * 4);
        std::string got = ours.read(block, piece);
        if (got.ends_with("cut")) got.replace(got.size() - 3, 3, "failed");
        require(got == theirs.read(block));
        if (got.ends_with("failed")) return;
    }
}

fields next_fields(source& in) {
    constexpr const char* names[] = {":path", ":status", ":method", "date", "server",
                                     "via",   "x-a",     "cookie",  "etag"};
    fields all;
    for (unsigned n = in.byte() % 6; n != 0; --n) {
        const unsigned name = in.byte();
        const unsigned size = in.byte();
        std::string value = in.text(size % 16);
        // Now and then one that fills much of the table.
        if (size > 250) value.append(in.byte() * 17, 'x');
        const std::size_t known = std::size(names);
        // Names are in lower case in HTTP/2; those that have a number are written so in any case.
        all.emplace_back(name % 16 < known ? std::string(names[name % 16])
                                           : coracle::detail::lower(in.text(name % 8)),
                         value);
    }
    return all;
}

void write_and_read(source& in) {
    encoder ours;
    nghttp2_reader reads_ours;
    nghttp2_writer theirs;
    reader reads_theirs;
    while (!in.empty()) {
        const unsigned what = in.byte();
        const fields all = next_fields(in);
        if (what % 8 == 0) {
            const unsigned limit = std::min(in.byte() * 20, 4096U);
            ours.set_limit(limit);
            theirs.set_limit(limit);
        }
        if (what % 16 == 1) ours.release();
        const auto how = what % 4 == 2 ? indexing::never : indexing::usual;
        require(reads_ours.read(write(ours, all, how)) == text_of(all));
        require(reads_theirs.read(theirs.write(all), 1 + what % 9) == text_of(all));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    source in(data, size);
    if (in.byte() % 2 == 0)
        read_anything(in);
    else
        write_and_read(in);
    return 0;
}
