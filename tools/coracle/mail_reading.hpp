#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tool {

/// A part of a mail that is no container, as its header describes it. Texts are as the sender gave
/// them.
struct mail_part {
    std::size_t index = 0;  ///< among the parts that are no containers
    std::string type;       ///< "image/png", lower case
    std::string charset;    ///< empty: not said
    std::string name;       ///< empty: none
    std::string id;         ///< of Content-ID, without "<" and ">"
    std::size_t size = 0;   ///< bytes of its content, decoded
    bool attached = false;  ///< neither the text nor the HTML of the mail
};

/// A mail as its reader sees it. Texts are UTF-8, encoded words decoded.
struct mail_reading {
    std::string from;
    std::string to;
    std::string cc;
    std::string reply_to;
    std::string subject;
    std::string date;
    std::vector<mail_part> parts;
    std::optional<std::size_t> text;  ///< the part with the plain text
    std::optional<std::size_t> html;
    /// Addresses, subject and texts in lower case (ASCII), for a search: the first 64 KiB.
    std::string words;
};

/// Reads a mail, however malformed it is.
mail_reading read_mail(std::string_view whole);

/// The content of a part, decoded; of a part that there is none of it is empty.
std::string content_of_part(std::string_view whole, std::size_t index);

/// Returns `text` with its ASCII letters in lower case.
std::string lower(std::string_view text);

/// The HTML of a mail for a frame: images that stand in the mail ("cid:") become data, and links
/// open another page. Beyond 16 MiB, and 100 of them, images are left out.
std::string html_for_frame(std::string_view whole, const mail_reading& m);

}  // namespace coracle::tool
