// The head of a response with folded fields. Checked: folds become blanks and nothing else changes,
// none is left, a second time there is nothing to do, and what the parser makes of a head without
// folds stays what it was.
#include "http/h1/unfold.hpp"
#include "require.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

using coracle::http::h1::unfold;

namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/// Returns the end of the head: after the empty line, or the end of the bytes.
std::size_t end_of_head(std::string_view bytes) {
    if (bytes.starts_with("\r\n")) return 2;
    const std::size_t end = bytes.find("\r\n\r\n");
    return end == std::string_view::npos ? bytes.size() : end + 4;
}

/// Returns true if a line after the first field goes on with the one before, as far as that can be
/// seen.
bool has_fold(std::string_view head) {
    bool in_fields = false;
    for (std::size_t at = 0;;) {
        const std::size_t end = head.find("\r\n", at);
        if (end == std::string_view::npos || end + 2 >= head.size()) return false;
        at = end + 2;
        if (in_fields && is_blank(head[at])) return true;
        in_fields = in_fields || !is_blank(head[at]);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string before(reinterpret_cast<const char*>(data), size);
    // Exactly as long as the input, so that a read beyond it is found.
    const std::unique_ptr<char[]> bytes(new char[size]);
    if (size != 0) std::memcpy(bytes.get(), data, size);
    const bool found = unfold(bytes.get(), size);
    const std::string_view after(bytes.get(), size);

    const std::size_t head = end_of_head(before);
    require(found == has_fold(std::string_view(before).substr(0, head)));
    for (std::size_t i = 0; i != size; ++i) {
        if (before[i] == after[i]) continue;
        const bool was_of_fold = is_blank(before[i]) || before[i] == '\r' || before[i] == '\n';
        require(was_of_fold && after[i] == ' ');
    }
    require(!has_fold(after.substr(0, end_of_head(after))));
    require(!unfold(bytes.get(), size));
    return 0;
}
