#pragma once

#include <coracle/smtp/message.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::smtp::detail {

/// Bytes that a part is made of, wherever they are.
struct content {
    std::shared_ptr<const std::string> bytes = {};  ///< null: of a file or a stream
    std::string path = {};
    source_opener open = {};
    std::optional<std::uint64_t> size = {};  ///< of a stream
};

struct attachment {
    std::string name = {};
    std::string type = {};
    std::string id = {};  ///< of one that the HTML shows
    content what = {};
};

/// A form of the text besides the plain one and the HTML.
struct alternative_form {
    std::string type;
    std::shared_ptr<const std::string> content;
    bool stands_before_html;
};

/// The fields that hold addresses, in the order in which they are written.
enum class address_field : std::uint8_t { from, sender, reply_to, to, cc, bcc, envelope, count };

struct message_state {
    using list = std::vector<mime::address>;

    list addresses[static_cast<std::size_t>(address_field::count)];
    std::optional<std::string> envelope_from = {};
    std::optional<std::string> subject = {};
    std::optional<mime::date> date = {};
    std::string id = {};  ///< without "<" and ">"
    std::string in_reply_to = {};
    std::vector<std::string> references = {};
    smtp::priority priority = smtp::priority::normal;
    std::vector<std::string> unsubscribe = {};
    bool one_click = false;
    std::vector<std::pair<std::string, std::string>> fields = {};
    std::shared_ptr<const std::string> text = {};
    std::shared_ptr<const std::string> html = {};
    std::vector<alternative_form> alternatives = {};
    std::vector<attachment> attachments = {};
    std::shared_ptr<const std::string> raw = {};
    bool raw_is_eight_bit = false;
    bool raw_header_is_utf8 = false;
    /// A field of recipients cannot be read: some would get nothing, unless the envelope has all.
    bool raw_recipients_unread = false;
    std::vector<dkim_signer> signers = {};
    std::optional<error> problem = {};

    list& of(address_field f) noexcept { return addresses[static_cast<std::size_t>(f)]; }
    const list& of(address_field f) const noexcept {
        return addresses[static_cast<std::size_t>(f)];
    }
    void refuse(std::string_view operation_subject);
    bool has_text() const noexcept {
        return text != nullptr || html != nullptr || !alternatives.empty();
    }
    bool has_content() const noexcept { return has_text() || !attachments.empty(); }
};

/// Returns whether it needs SMTPUTF8: for a local part beyond ASCII in the header or the envelope,
/// or for a header that was made elsewhere.
bool needs_utf8(const message_state& s) noexcept;
/// Returns whether it has a date and an id, or is as it was made elsewhere.
bool is_complete(const message_state& s) noexcept;
/// Sets what is not there yet: the date, and an id of these random bits.
void complete(message_state& s, std::int64_t unix_time, std::uint64_t high, std::uint64_t low);
/// The header up to MIME-Version, which is not in it.
std::expected<std::string, error> write_header(const message_state& s,
                                               mime::header_charset charset);

}  // namespace coracle::smtp::detail
