#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::mime {

/// A mailbox: a display name and an address (RFC 5322 section 3.4). Texts are UTF-8.
struct mailbox {
    std::string name;     ///< without quotes and encodings; may be empty
    std::string address;  ///< local-part@domain, without "<" and ">"

    friend bool operator==(const mailbox&, const mailbox&) = default;
};

/// One entry of an address list: a mailbox, or a group with a name of its own.
struct address {
    std::vector<mailbox> members;  ///< exactly one for a mailbox
    std::optional<std::string> group = {};

    friend bool operator==(const address&, const address&) = default;
};

/// Limits of an address list.
struct address_limits {
    std::size_t mailboxes = 10'000;
};

/// Parses the value of From, To and similar fields: `Ada <ada@example.org>, "B, C" <b@c.org>,
/// d@e.org`, groups (`Crew: a@x.org, b@x.org;`), comments, quoted names, encoded words, routes
/// (which are dropped) and UTF-8 (RFC 6532). A comment after an address without a name is its name.
/// Returns nothing when the text is malformed. An empty list is valid.
[[nodiscard]] std::optional<std::vector<address>> parse_addresses(
    std::string_view text, const address_limits& limits = {});

/// Parses exactly one mailbox: `Mary <m@x.org>`, `"Mary" <m@x.org>`, `<m@x.org>` or `m@x.org`.
[[nodiscard]] std::optional<mailbox> parse_mailbox(std::string_view text);

/// Returns true if mail can be sent to or from `text`: a dot-atom or a quoted string, "@", and a
/// domain or an address literal, in UTF-8, without comments, within the limits of RFC 5321 section
/// 4.5.3.1 (64 bytes, 254 in all).
[[nodiscard]] bool is_address(std::string_view text) noexcept;

/// The characters that a header may contain.
enum class header_charset : std::uint8_t {
    ascii,  ///< RFC 5322: names as encoded words, domains in Punycode
    utf8,   ///< RFC 6532: unchanged UTF-8
};

/// Returns `m` as text for a header, which may be folded at its spaces: `"B, C" <b@c.org>`. In
/// ASCII a name becomes encoded words and a domain A-labels (RFC 5890) where needed. Returns
/// nothing when the local part is not ASCII then: it cannot be written.
[[nodiscard]] std::optional<std::string> format_mailbox(
    const mailbox& m, header_charset charset = header_charset::ascii);

/// Returns the address with its domain as A-labels and its local part unchanged; nothing when the
/// domain is invalid.
[[nodiscard]] std::optional<std::string> ascii_domain(std::string_view address);

}  // namespace coracle::mime
