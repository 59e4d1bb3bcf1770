#pragma once

#include <coracle/base/error.hpp>
#include <coracle/io/source.hpp>
#include <coracle/mime/address.hpp>
#include <coracle/mime/date.hpp>
#include <coracle/runtime/operation.hpp>
#include <coracle/smtp/dkim.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::io {
class sink;
}

namespace coracle::smtp {

namespace detail {
struct message_state;
}

enum class priority : std::uint8_t { normal, high, low };

/// Opens content that is read while it is sent; once for each attempt, and once more to sign it.
using source_opener = std::function<std::unique_ptr<io::source>()>;

/// A mail: whom it is from and for, and what it says. A value; copies share what they hold until
/// one of them changes. Different copies may be used by different threads.
///
///     smtp::message m;
///     m.from("Ada <ada@example.org>").to("bob@example.net").subject("Hello").text("How are
///     you?\n"); m.attach_file("report.pdf");
///
/// Texts are UTF-8. A setter that cannot do what it is told does not throw: sending the message
/// fails, before anything is sent, with `std::errc::invalid_argument` and what was wrong. So does a
/// message without a sender or without recipients. No text that is given here can become a field of
/// its own: CR, LF and NUL are refused.
class message {
public:
    message();
    message(const message&);
    message(message&&) noexcept;
    message& operator=(const message&);
    message& operator=(message&&) noexcept;
    ~message();

    // ---- who: "Mary <m@x.org>", "m@x.org"; lists with commas, and groups. `to`, `cc` and `bcc`
    // add
    //      to what is there; of each there is one field.

    /// The authors. The first one is the sender of the envelope, unless `sender` or `envelope_from`
    /// names another.
    message& from(std::string_view addresses);
    /// Sets the sender, who acts for several authors (RFC 5322 section 3.6.2).
    message& sender(std::string_view address);
    message& reply_to(std::string_view addresses);
    message& to(std::string_view addresses);
    message& cc(std::string_view addresses);
    /// Recipients that no other recipient sees: they are in the envelope and never in the header.
    message& bcc(std::string_view addresses);
    /// Where reports about its delivery go (MAIL FROM). Empty: nowhere, as for reports themselves.
    message& envelope_from(std::string_view address);
    /// Adds recipients to the envelope alone, and takes those of To, Cc and Bcc out of it.
    message& envelope_to(std::string_view addresses);

    // ---- about what

    message& subject(std::string_view text);
    /// Default: when it is first sent, in UTC.
    message& date(const mime::date& when);
    /// "id@host", with or without "<" and ">". Default: a random one with the domain of the sender.
    message& message_id(std::string_view id);
    message& in_reply_to(std::string_view id);
    /// Ids with blanks between them, or one; adds to what is there.
    message& references(std::string_view ids);
    message& priority(smtp::priority p);
    /// Where a reader unsubscribes: an https or mailto URL (RFC 2369); may be given twice. With
    /// `one_click` (RFC 8058) a POST to the https URL is enough; the fields have to be signed then.
    message& list_unsubscribe(std::string_view url, bool one_click = false);
    /// Adds any other field; what has a setter of its own, and the fields of MIME, are refused.
    /// Text beyond ASCII becomes encoded words.
    message& header(std::string_view name, std::string_view value);

    // ---- content

    /// Plain text. Lines may end with LF or CRLF, and arrive with CRLF. With `html` too, readers
    /// choose.
    message& text(std::string content);
    message& html(std::string content);
    /// Adds another form of the same content, as a text of this media type: readers show the last
    /// form that they know (RFC 2046 section 5.1.4). It stands before the HTML where it is given
    /// before that. "text/calendar; method=REQUEST" is an invitation (RFC 6047).
    message& alternative(std::string content, std::string_view type);
    /// Adds a file: bytes, the content of a file, or of a source that is opened when it is sent.
    /// `name` is what readers see; `type` is by the name unless it is given. They arrive byte for
    /// byte.
    message& attach(std::string_view name, std::string content, std::string_view type = {});
    message& attach_file(std::string path, std::string_view name = {}, std::string_view type = {});
    /// `size`, where it is known, lets a server refuse early, and must be right.
    message& attach_stream(std::string_view name, source_opener open,
                           std::optional<std::uint64_t> size = {}, std::string_view type = {});
    /// Adds what the HTML shows as "cid:ID".
    message& embed(std::string_view id, std::string content, std::string_view type);
    message& embed_file(std::string_view id, std::string path, std::string_view type = {});

    /// A whole mail that was made elsewhere (RFC 5322), in place of all fields and content. LF
    /// becomes CRLF, Bcc and Resent-Bcc are left out, and nothing else is changed; a CR alone, NUL
    /// and a line of more than 998 bytes (RFC 5322 section 2.1.1) are refused.
    /// Without `envelope_from` and `envelope_to` the envelope is that of its fields; of a mail that
    /// was resent, those beginning with Resent (RFC 5322 section 3.6.6), and of one that was resent
    /// more than once none.
    message& raw(std::string whole);

    /// Signs it (RFC 6376) when it is sent; several times: several signatures.
    message& dkim(dkim_signer signer);

    // ---- looking at it

    /// Returns what a setter could not do, or what is missing; nothing: it can be sent.
    std::optional<error> problem() const;
    /// Returns the addresses of the envelope, or else of To, Cc and Bcc, each once, as RCPT has
    /// them.
    std::vector<std::string> recipients() const;
    /// The address of MAIL FROM; empty: nobody.
    std::string envelope_sender() const;

    /// Writes it as it would be sent to a server that takes lines of ASCII only, without what SMTP
    /// adds. Date and Message-ID are set from then on. Fails as sending it does, and with
    /// `smtp::errc::needs_smtputf8` where an address cannot be written in ASCII. `to` must live
    /// until it has completed.
    operation<> write_to(io::sink& to);
    /// Returns the same as a text.
    operation<std::string> str();

    /// For the client.
    const detail::message_state& state() const noexcept;
    detail::message_state& own_state();

private:
    message& add_list(int which, std::string_view text);

    std::shared_ptr<detail::message_state> state_;
};

}  // namespace coracle::smtp
