// Replies of a mail server, and the mail behind DATA as a sink takes it. The first byte of the
// input says how to cut the rest. Checked: any cut gives the same replies, fault and text, limits
// hold, and what was taken out of its dots goes back into the same bytes.
#include "require.hpp"
#include "smtp/dot_writer.hpp"
#include "smtp/incoming_data.hpp"

#include <coracle/smtp/reply.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle::smtp;

namespace {

constexpr reply_limits limits{.line = 64, .lines = 8};

std::string replies(std::string_view in, std::size_t step) {
    reply_parser parser(limits);
    std::string out;
    while (!in.empty()) {
        const std::string piece(in.substr(0, step));
        const auto r = parser.parse(piece);
        require(r.consumed <= piece.size());
        if (r.fault != reply_fault::none) {
            return out + "fault " + std::to_string(static_cast<int>(r.fault));
        }
        require(r.complete || r.consumed == piece.size());
        in.remove_prefix(r.consumed);
        if (!r.complete) continue;
        const reply said = parser.take();
        require(said.code >= 200 && said.code < 600 && !said.lines.empty());
        require(said.lines.size() <= limits.lines);
        out += said.to_string() + '\n';
        const capabilities can = read_capabilities(said);
        require(can.mechanisms.size() <= 64);
    }
    return out;
}

struct taken {
    std::string text;
    std::size_t consumed = 0;
    bool complete = false;
    detail::incoming_data::fault problem{};

    friend bool operator==(const taken&, const taken&) = default;
};

taken take(std::string_view in, std::size_t step) {
    detail::incoming_data data(200);
    taken t;
    while (t.consumed != in.size() && !data.complete()) {
        t.consumed += data.add(in.substr(t.consumed, step));
    }
    t.text = data.text();
    t.complete = data.complete();
    t.problem = data.problem();
    require(t.text.size() <= 200);
    return t;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::size_t step = data[0] % 32U + 1U;
    const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
    const std::string whole = replies(bytes, bytes.size());
    require(replies(bytes, 1) == whole && replies(bytes, step) == whole);
    const taken t = take(bytes, bytes.size());
    require(take(bytes, 1) == t && take(bytes, step) == t);
    if (t.complete && t.problem == detail::incoming_data::fault::none) {
        detail::dot_writer dots;
        std::string again;
        for (std::size_t at = 0; at < t.text.size(); at += step) {
            dots.add(std::string_view(t.text).substr(at, step), again);
        }
        dots.finish(again);
        // A dot that was put in where none was needed has no way back.
        const taken once_more = take(again, again.size());
        require(once_more.text == t.text && once_more.complete);
        require(once_more.consumed == again.size());
    }
    return 0;
}
