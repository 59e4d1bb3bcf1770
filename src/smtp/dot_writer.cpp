#include "smtp/dot_writer.hpp"

namespace coracle::smtp::detail {

bool dot_writer::passes(std::string_view bytes) noexcept {
    if (bytes.empty()) return true;
    if ((line_begins_ && bytes.front() == '.') || bytes.find("\n.") != std::string_view::npos) {
        return false;
    }
    line_begins_ = bytes.back() == '\n';
    return true;
}

void dot_writer::add(std::string_view bytes, std::string& out) {
    if (passes(bytes)) {
        out += bytes;
        return;
    }
    if (line_begins_ && bytes.front() == '.') out += '.';
    for (;;) {
        const std::size_t end = bytes.find("\n.");
        if (end == std::string_view::npos) break;
        out.append(bytes.substr(0, end + 1)).append(".");
        bytes.remove_prefix(end + 1);
    }
    out += bytes;
    line_begins_ = bytes.back() == '\n';
}

void dot_writer::finish(std::string& out) {
    if (!line_begins_) out += "\r\n";
    out += ".\r\n";
    line_begins_ = true;
}

}  // namespace coracle::smtp::detail
