#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http::h1 {

/// A head that was brought into the form of RFC 9112.
struct repaired_head {
    std::string text;      ///< up to the empty line, and with it
    std::size_t size = 0;  ///< that it had before
};

/// Repairs the head of a response that `bytes` begin with, as old servers and devices send it:
/// lines that end in LF alone get CRLF, blanks between a name and its colon go (RFC 9112 section
/// 5.1), and "Transfer-Encoding: identity" of RFC 2616, which says that there is no coding. Returns
/// nothing where its end has not come. Whatever else is wrong stays for the parser to refuse.
std::optional<repaired_head> repair_response_head(std::string_view bytes);

}  // namespace coracle::http::h1
