// The header of a message: its fields, in order.

#include "base/ascii.hpp"
#include "mime/text.hpp"
#include "smtp/message_state.hpp"

#include <coracle/mime/encoded_word.hpp>
#include <coracle/mime/field.hpp>

namespace coracle::smtp::detail {
namespace {

using written = std::expected<void, error>;

class header_writer {
public:
    explicit header_writer(mime::header_charset charset) noexcept : charset_(charset) {}

    bool good() const noexcept { return !failure_; }
    std::expected<std::string, error> finish() {
        if (failure_) return std::unexpected(*std::move(failure_));
        return std::move(out_);
    }

    void plain(std::string_view name, std::string_view value) {
        if (failure_) return;
        if (auto w = mime::append_field(out_, name, value); !w) failure_ = std::move(w).error();
    }
    /// Text without structure.
    void text(std::string_view name, std::string_view value) {
        if (charset_ == mime::header_charset::utf8) {
            plain(name, value);
        } else {
            plain(name, mime::encode_words(value, name.size() + 2));
        }
    }
    void addresses(std::string_view name, const message_state::list& list) {
        if (list.empty()) return;
        std::string value;
        for (const mime::address& a : list) {
            if (!value.empty()) value += ", ";
            if (a.group) {
                add_phrase(value, *a.group);
                value += ':';
            }
            for (const mime::mailbox& m : a.members) {
                if (a.group) value += value.ends_with(':') ? " " : ", ";
                add_mailbox(value, m);
            }
            if (a.group) value += ';';
        }
        plain(name, value);
    }

private:
    void add_mailbox(std::string& value, const mime::mailbox& m) {
        auto text = mime::format_mailbox(m, charset_);
        if (text) {
            value += *text;
        } else if (!failure_) {
            failure_ = error(std::errc::invalid_argument, "message").on("no address: " + m.address);
        }
    }
    // The name of a group is written as that of a mailbox.
    void add_phrase(std::string& value, const std::string& name) {
        if (name.empty()) {
            value += "\"\"";
            return;
        }
        auto text = mime::format_mailbox({name, "x@x"}, charset_).value_or(std::string());
        value += text.substr(0, text.rfind(" <"));
    }

    mime::header_charset charset_;
    std::string out_;
    std::optional<error> failure_;
};

std::string ids_of(const std::vector<std::string>& ids) {
    std::string all;
    for (const std::string& id : ids) {
        if (!all.empty()) all += ' ';
        all.append("<").append(id).append(">");
    }
    return all;
}

std::string urls_of(const std::vector<std::string>& urls) {
    std::string all;
    for (const std::string& url : urls) {
        if (!all.empty()) all += ", ";
        all.append("<").append(url).append(">");
    }
    return all;
}

void write_priority(header_writer& out, smtp::priority p) {
    if (p == smtp::priority::normal) return;
    const bool high = p == smtp::priority::high;
    out.plain("X-Priority", high ? "1 (Highest)" : "5 (Lowest)");
    out.plain("Importance", high ? "high" : "low");
}

bool has_utf8_local_part(std::string_view address) noexcept {
    return !mime::detail::is_ascii(address.substr(0, address.rfind('@')));
}

}  // namespace

bool needs_utf8(const message_state& s) noexcept {
    if (s.raw_header_is_utf8) return true;
    for (const message_state::list& list : s.addresses) {
        // In no header, and in the envelope only where that has no list of its own.
        const bool is_unseen = &list == &s.of(address_field::bcc);
        if (is_unseen && !s.of(address_field::envelope).empty()) continue;
        for (const mime::address& a : list) {
            for (const mime::mailbox& m : a.members) {
                if (has_utf8_local_part(m.address)) return true;
            }
        }
    }
    return s.envelope_from && has_utf8_local_part(*s.envelope_from);
}

bool is_complete(const message_state& s) noexcept {
    return s.raw != nullptr || (s.date && !s.id.empty());
}

void complete(message_state& s, std::int64_t unix_time, std::uint64_t high, std::uint64_t low) {
    if (is_complete(s)) return;
    if (!s.date) s.date = mime::date{unix_time, 0};
    if (!s.id.empty()) return;
    std::string host = "localhost";
    for (const mime::address& a : s.of(address_field::from)) {
        if (a.members.empty()) continue;
        const auto ascii = mime::ascii_domain(a.members.front().address);
        if (ascii) host = ascii->substr(ascii->rfind('@') + 1);
        break;
    }
    coracle::detail::append_hex(s.id, high);
    coracle::detail::append_hex(s.id, low);
    s.id.append("@").append(host);
}

std::expected<std::string, error> write_header(const message_state& s,
                                               mime::header_charset charset) {
    header_writer out(charset);
    if (s.date) out.plain("Date", mime::format_date(*s.date));
    out.addresses("From", s.of(address_field::from));
    out.addresses("Sender", s.of(address_field::sender));
    out.addresses("Reply-To", s.of(address_field::reply_to));
    out.addresses("To", s.of(address_field::to));
    out.addresses("Cc", s.of(address_field::cc));
    // Without any of them some relays add a field that shows the envelope.
    if (s.of(address_field::to).empty() && s.of(address_field::cc).empty()) {
        out.plain("To", "undisclosed-recipients:;");
    }
    if (s.subject) out.text("Subject", *s.subject);
    if (!s.id.empty()) out.plain("Message-ID", '<' + s.id + '>');
    if (!s.in_reply_to.empty()) out.plain("In-Reply-To", '<' + s.in_reply_to + '>');
    if (!s.references.empty()) out.plain("References", ids_of(s.references));
    write_priority(out, s.priority);
    if (!s.unsubscribe.empty()) out.plain("List-Unsubscribe", urls_of(s.unsubscribe));
    if (s.one_click) out.plain("List-Unsubscribe-Post", "List-Unsubscribe=One-Click");
    for (const auto& [name, value] : s.fields) out.text(name, value);
    return out.finish();
}

}  // namespace coracle::smtp::detail
