#include "http/h1/repair.hpp"

#include "base/ascii.hpp"
#include "http/message/fold.hpp"
#include "http/message/token.hpp"

namespace coracle::http::h1 {
namespace {

/// Removes a line from the front of `rest` and returns it without its end; nothing where the end
/// has not come.
std::optional<std::string_view> take_line(std::string_view& rest) noexcept {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

/// Appends a field line, unless it says nothing.
void append_repaired(std::string& out, std::string_view line) {
    const std::size_t colon = line.find(':');
    // A fold stays one.
    if (colon == std::string_view::npos || coracle::detail::is_blank(line.front())) {
        out.append(line).append("\r\n");
        return;
    }
    std::string_view name = line.substr(0, colon);
    while (!name.empty() && coracle::detail::is_blank(name.back())) name.remove_suffix(1);
    const std::string_view value = line.substr(colon + 1);
    if (is_folded(name, "transfer-encoding") && is_folded(trim_ows(value), "identity")) return;
    out.append(name).append(":").append(value).append("\r\n");
}

}  // namespace

std::optional<repaired_head> repair_response_head(std::string_view bytes) {
    repaired_head head;
    std::string_view rest = bytes;
    head.text.reserve(bytes.size() + 64);
    for (bool in_fields = false;; in_fields = true) {
        const auto line = take_line(rest);
        if (!line) return std::nullopt;
        if (line->empty()) break;
        if (in_fields)
            append_repaired(head.text, *line);
        else
            head.text.append(*line).append("\r\n");
    }
    head.text += "\r\n";
    head.size = bytes.size() - rest.size();
    return head;
}

}  // namespace coracle::http::h1
