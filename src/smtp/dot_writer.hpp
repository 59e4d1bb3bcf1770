#pragma once

#include <string>
#include <string_view>

namespace coracle::smtp::detail {

/// Puts a dot before each line that begins with one, and the line with a dot alone behind all (RFC
/// 5321 section 4.5.2). Lines end with CRLF.
class dot_writer {
public:
    void add(std::string_view bytes, std::string& out);
    void finish(std::string& out);
    /// Returns whether `bytes` go as they are; if so they count as added.
    bool passes(std::string_view bytes) noexcept;

private:
    bool line_begins_ = true;
};

}  // namespace coracle::smtp::detail
