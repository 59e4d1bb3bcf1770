// Replies of a Redis server. The first byte of the input says how to cut the rest. Checked: any cut
// gives the same replies and fails at the same one, and limits hold.
#include "redis/protocol.hpp"
#include "require.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle;
using redis::reply;

namespace {

constexpr std::size_t largest_input = 4096;
/// Bytes count as they came, so that where replies nearly reach the limit the cut decides.
constexpr redis::reply_limits limits{.bytes = 2 * largest_input, .elements = 64};
constexpr redis::reply_limits narrow{.bytes = 512, .elements = 8};

/// Appends a reply as a text, and counts its elements.
std::size_t show(const reply& r, std::string& to, unsigned depth, const redis::reply_limits& with) {
    require(depth <= 8 && r.text().size() <= with.bytes);
    to += std::to_string(static_cast<int>(r.kind())) + ' ' + std::to_string(r.integer()) + ' ' +
          std::string(r.text()) + '\n';
    std::size_t elements = r.elements().size();
    for (const reply& e : r.elements()) elements += show(e, to, depth + 1, with);
    return elements;
}

std::string replies(std::string_view in, std::size_t step,
                    const redis::reply_limits& with = limits) {
    redis::detail::reply_reader reader(with);
    std::string out;
    while (!in.empty()) {
        const std::string piece(in.substr(0, step));
        in.remove_prefix(piece.size());
        if (!reader.feed(piece)) return out + "fault";
        for (;;) {
            const auto next = reader.next();
            if (!next) return out + "fault";
            if (!*next) break;
            require(show(**next, out, 0, with) <= with.elements);
        }
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2 || size > largest_input) return 0;
    const std::size_t step = data[0] % 32U + 1U;
    const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
    const std::string whole = replies(bytes, bytes.size());
    require(replies(bytes, 1) == whole && replies(bytes, step) == whole);
    static_cast<void>(replies(bytes, step, narrow));
    return 0;
}
