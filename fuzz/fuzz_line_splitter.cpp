// A text that comes in pieces. The first byte of the input says how to cut the rest. Checked: any
// cut gives the lines that a plain search does, and meets the limit at the same one.
#include "exact_bytes.hpp"
#include "require.hpp"

#include <coracle/http/line_splitter.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using coracle::http::line_splitter;

namespace {

constexpr std::size_t limit = 24;

struct outcome {
    std::vector<std::string> lines;
    bool exceeded = false;
    friend bool operator==(const outcome&, const outcome&) = default;
};

outcome search(std::string_view text) {
    outcome out;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        // A CR alone ends no line.
        if (end != std::string_view::npos && line.ends_with('\r')) line.remove_suffix(1);
        if (line.size() > limit) {
            out.exceeded = true;
            return out;
        }
        out.lines.emplace_back(line);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return out;
}

outcome split(std::string_view text, std::size_t step) {
    line_splitter splitter(limit);
    outcome out;
    for (; !text.empty(); text.remove_prefix(std::min(step, text.size()))) {
        const exact_bytes exact(text.substr(0, step));
        std::string_view in = exact.view();
        for (;;) {
            const line_splitter::result r = splitter.parse(in);
            require(r.consumed <= in.size());
            in.remove_prefix(r.consumed);
            out.exceeded = r.what == line_splitter::status::limit_exceeded;
            if (out.exceeded) {
                require(splitter.finish() == line_splitter::status::limit_exceeded);
                return out;
            }
            if (r.what == line_splitter::status::need_more) break;
            out.lines.emplace_back(splitter.line());
        }
        require(in.empty());
    }
    const line_splitter::status end = splitter.finish();
    if (end == line_splitter::status::line) out.lines.emplace_back(splitter.line());
    out.exceeded = end == line_splitter::status::limit_exceeded;
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2 || size > 1024) return 0;
    const std::string_view text{reinterpret_cast<const char*>(data) + 1, size - 1};
    const outcome expected = search(text);
    require(split(text, text.size()) == expected);
    require(split(text, 1) == expected);
    require(split(text, data[0] % 32U + 1U) == expected);
    return 0;
}
