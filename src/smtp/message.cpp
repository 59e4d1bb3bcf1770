#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "mime/parameters.hpp"
#include "mime/text.hpp"
#include "smtp/message_state.hpp"

#include <coracle/mime/field.hpp>
#include <coracle/mime/media_type.hpp>
#include <coracle/smtp/message.hpp>

#include <algorithm>
#include <atomic>
#include <iterator>

namespace coracle::smtp {

using detail::address_field;
using detail::message_state;

namespace {

constexpr std::string_view own_fields[] = {"from",
                                           "sender",
                                           "reply-to",
                                           "to",
                                           "cc",
                                           "bcc",
                                           "resent-bcc",
                                           "subject",
                                           "date",
                                           "message-id",
                                           "in-reply-to",
                                           "references",
                                           "mime-version",
                                           "list-unsubscribe",
                                           "list-unsubscribe-post",
                                           "dkim-signature",
                                           "return-path",
                                           "x-priority",
                                           "importance"};

// CR, LF and NUL would end a field, and bytes that are no UTF-8 have no charset.
bool is_header_text(std::string_view text) noexcept {
    return mime::detail::is_field_value(text) && mime::detail::is_utf8(text);
}

/// A field of ASCII: what is beyond it needs the form of RFC 2231.
bool is_plain_text(std::string_view text) noexcept {
    return std::ranges::all_of(text, [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\t'; });
}

bool is_own_field(std::string_view name) {
    const std::string small = coracle::detail::lower(name);
    return small.starts_with("content-") ||
           std::ranges::find(own_fields, small) != std::end(own_fields);
}

// Such an id fits a line of its own.
constexpr std::size_t longest_id = 900;

// RFC 5322 section 3.6.4, without what is obsolete.
bool is_message_id(std::string_view id) noexcept {
    const std::size_t at = id.find('@');
    return at != 0 && at != std::string_view::npos && at + 1 != id.size() &&
           id.size() <= longest_id && std::ranges::all_of(id, [](char c) {
               return c > 0x20 && c < 0x7f && c != '<' && c != '>' && c != ',';
           });
}

std::string_view without_angles(std::string_view id) noexcept {
    id = coracle::detail::trim_blanks(id);
    if (id.starts_with('<') && id.ends_with('>')) id = id.substr(1, id.size() - 2);
    return id;
}

bool is_plain_url(std::string_view url) noexcept {
    return std::ranges::all_of(
        url, [](char c) { return c > 0x20 && c < 0x7f && c != '<' && c != '>' && c != ','; });
}

std::string_view file_name(std::string_view path) noexcept {
    return path.substr(path.rfind('/') + 1);
}

void add_flat(std::vector<std::string>& out, const message_state::list& list) {
    for (const mime::address& a : list) {
        for (const mime::mailbox& m : a.members) {
            if (std::ranges::find(out, m.address) == out.end()) out.push_back(m.address);
        }
    }
}

bool has_members(const message_state::list& list) noexcept {
    return std::ranges::any_of(list, [](const mime::address& a) { return !a.members.empty(); });
}

bool has_recipient(const message_state& s) noexcept {
    if (!s.of(address_field::envelope).empty()) return has_members(s.of(address_field::envelope));
    return has_members(s.of(address_field::to)) || has_members(s.of(address_field::cc)) ||
           has_members(s.of(address_field::bcc));
}

// Empty where there is none.
std::string_view first_sender(const message_state& s) noexcept {
    for (const address_field f : {address_field::sender, address_field::from}) {
        for (const mime::address& a : s.of(f)) {
            if (!a.members.empty()) return a.members.front().address;
        }
    }
    return {};
}

/// The name, or the id, of what is attached, and its type.
detail::attachment describe(message_state& s, std::string_view name, std::string_view type,
                            bool embedded) {
    detail::attachment a;
    const std::string what(embedded ? "embed" : "attach");
    a.type = type.empty() ? mime::media_type_of(name) : type;
    const auto read = mime::parse_media_type(a.type);
    // Parts of their own need a boundary.
    if (!read || read->essence.starts_with("multipart/") || !is_plain_text(a.type)) {
        s.refuse(what + ": no media type of content: " + std::string(type.substr(0, 100)));
    }
    if (!is_header_text(name)) s.refuse(what + ": a name that no field can hold");
    if (embedded) {
        a.id = without_angles(name);
        const bool plain = !a.id.empty() && a.id.size() <= longest_id && is_plain_url(a.id);
        if (!plain) s.refuse("embed: the id must be visible ASCII, of 900 bytes at most");
    } else {
        a.name = name;
    }
    return a;
}

}  // namespace

void message_state::refuse(std::string_view operation_subject) {
    if (!problem) problem = error(std::errc::invalid_argument, "message").on(operation_subject);
}

message::message() : state_(std::make_shared<message_state>()) {}
message::message(const message&) = default;
message::message(message&& other) noexcept = default;
message& message::operator=(const message&) = default;
message& message::operator=(message&&) noexcept = default;
message::~message() = default;

message_state& message::own_state() {
    if (state_ == nullptr) {
        state_ = std::make_shared<message_state>();
    } else if (state_.use_count() != 1) {
        state_ = std::make_shared<message_state>(*state_);
    } else {
        // Another thread may have read it before it dropped its copy.
        std::atomic_thread_fence(std::memory_order_acquire);
    }
    return *state_;
}

const message_state& message::state() const noexcept {
    static const message_state moved_away;
    return state_ == nullptr ? moved_away : *state_;
}

message& message::add_list(int which, std::string_view text) {
    constexpr std::string_view names[] = {"from", "sender", "reply_to",   "to",
                                          "cc",   "bcc",    "envelope_to"};
    message_state& s = own_state();
    const std::string name(names[which]);
    auto read = is_header_text(text) ? mime::parse_addresses(text) : std::nullopt;
    if (!read) {
        s.refuse(name + ": no list of addresses: " + std::string(text.substr(0, 200)));
        return *this;
    }
    for (const mime::address& a : *read) {
        for (const mime::mailbox& m : a.members) {
            if (!is_header_text(m.name)) s.refuse(name + ": a name that no field can hold");
        }
        if (a.group && !is_header_text(*a.group))
            s.refuse(name + ": a name that no field can hold");
    }
    auto& list = s.addresses[which];
    list.insert(list.end(), std::make_move_iterator(read->begin()),
                std::make_move_iterator(read->end()));
    return *this;
}

message& message::from(std::string_view addresses) {
    return add_list(static_cast<int>(address_field::from), addresses);
}
message& message::sender(std::string_view address) {
    own_state().of(address_field::sender).clear();
    add_list(static_cast<int>(address_field::sender), address);
    const auto& list = state_->of(address_field::sender);
    if (list.size() != 1 || list.front().group)
        own_state().refuse("sender: exactly one address is needed");
    return *this;
}
message& message::reply_to(std::string_view addresses) {
    return add_list(static_cast<int>(address_field::reply_to), addresses);
}
message& message::to(std::string_view addresses) {
    return add_list(static_cast<int>(address_field::to), addresses);
}
message& message::cc(std::string_view addresses) {
    return add_list(static_cast<int>(address_field::cc), addresses);
}
message& message::bcc(std::string_view addresses) {
    return add_list(static_cast<int>(address_field::bcc), addresses);
}
message& message::envelope_to(std::string_view addresses) {
    return add_list(static_cast<int>(address_field::envelope), addresses);
}
message& message::envelope_from(std::string_view address) {
    const std::string_view plain = without_angles(address);
    if (!plain.empty() && !mime::is_address(plain)) {
        own_state().refuse("envelope_from: no address: " + std::string(address.substr(0, 200)));
    } else {
        own_state().envelope_from = plain;
    }
    return *this;
}

message& message::subject(std::string_view text) {
    if (!is_header_text(text)) {
        own_state().refuse("subject: CR, LF, NUL or bytes that are no UTF-8");
    } else {
        own_state().subject = text;
    }
    return *this;
}

message& message::date(const mime::date& when) {
    own_state().date = when;
    return *this;
}

message& message::message_id(std::string_view id) {
    const std::string_view plain = without_angles(id);
    if (!is_message_id(plain)) {
        own_state().refuse("message_id: \"id@host\" is wanted");
    } else {
        own_state().id = plain;
    }
    return *this;
}

message& message::in_reply_to(std::string_view id) {
    const std::string_view plain = without_angles(id);
    if (!is_message_id(plain)) {
        own_state().refuse("in_reply_to: \"id@host\" is wanted");
    } else {
        own_state().in_reply_to = plain;
    }
    return *this;
}

message& message::references(std::string_view ids) {
    message_state& s = own_state();
    std::vector<std::string> all = s.references;
    while (!ids.empty()) {
        const std::string_view id = without_angles(coracle::detail::take_item(ids, ' '));
        if (id.empty()) continue;
        if (!is_message_id(id)) {
            s.refuse("references: \"id@host\", with blanks between, is wanted");
            return *this;
        }
        all.emplace_back(id);
    }
    s.references = std::move(all);
    return *this;
}

message& message::priority(smtp::priority p) {
    own_state().priority = p;
    return *this;
}

message& message::list_unsubscribe(std::string_view url, bool one_click) {
    message_state& s = own_state();
    const bool https = url.starts_with("https://");
    const bool known = https || url.starts_with("http://") || url.starts_with("mailto:");
    if (!known || !is_plain_url(url) || (one_click && !https)) {
        s.refuse(one_click ? "list_unsubscribe: an https URL is wanted for one click"
                           : "list_unsubscribe: an https, http or mailto URL is wanted");
        return *this;
    }
    s.unsubscribe.emplace_back(url);
    s.one_click = s.one_click || one_click;
    return *this;
}

message& message::header(std::string_view name, std::string_view value) {
    message_state& s = own_state();
    std::string tried;
    const bool fits = is_header_text(value) && mime::append_field(tried, name, "x").has_value();
    if (!fits) {
        s.refuse(
            "header: the name is none, or CR, LF, NUL or bytes that are no UTF-8 in the value");
    } else if (is_own_field(name)) {
        s.refuse("header: " + std::string(name) + " is set by a function of its own");
    } else {
        s.fields.emplace_back(name, value);
    }
    return *this;
}

message& message::text(std::string content) {
    if (!mime::detail::is_utf8(content)) own_state().refuse("text: bytes that are no UTF-8");
    own_state().text = std::make_shared<const std::string>(std::move(content));
    return *this;
}

message& message::html(std::string content) {
    if (!mime::detail::is_utf8(content)) own_state().refuse("html: bytes that are no UTF-8");
    own_state().html = std::make_shared<const std::string>(std::move(content));
    return *this;
}

message& message::alternative(std::string content, std::string_view type) {
    message_state& s = own_state();
    const auto read = mime::parse_media_type(type);
    const bool is_text = read && read->type() == "text" && is_plain_text(type);
    if (!is_text || read->essence == "text/plain" || read->essence == "text/html") {
        s.refuse("alternative: no media type of another text: " + std::string(type.substr(0, 100)));
    } else if (read->get("charset")) {
        s.refuse("alternative: the charset is UTF-8, and is added");
    }
    if (!mime::detail::is_utf8(content)) s.refuse("alternative: bytes that are no UTF-8");
    auto bytes = std::make_shared<const std::string>(std::move(content));
    s.alternatives.push_back({std::string(type), std::move(bytes), s.html == nullptr});
    return *this;
}

message& message::attach(std::string_view name, std::string content, std::string_view type) {
    message_state& s = own_state();
    detail::attachment a = describe(s, name, type, false);
    a.what.bytes = std::make_shared<const std::string>(std::move(content));
    s.attachments.push_back(std::move(a));
    return *this;
}

message& message::attach_file(std::string path, std::string_view name, std::string_view type) {
    message_state& s = own_state();
    if (path.empty()) s.refuse("attach_file: the path is empty");
    detail::attachment a = describe(s, name.empty() ? file_name(path) : name, type, false);
    a.what.path = std::move(path);
    s.attachments.push_back(std::move(a));
    return *this;
}

message& message::attach_stream(std::string_view name, source_opener open,
                                std::optional<std::uint64_t> size, std::string_view type) {
    message_state& s = own_state();
    detail::attachment a = describe(s, name, type, false);
    a.what.open = std::move(open);
    a.what.size = size;
    if (!a.what.open) s.refuse("attach_stream: the function is empty");
    s.attachments.push_back(std::move(a));
    return *this;
}

message& message::embed(std::string_view id, std::string content, std::string_view type) {
    message_state& s = own_state();
    detail::attachment a = describe(s, id, type, true);
    a.what.bytes = std::make_shared<const std::string>(std::move(content));
    s.attachments.push_back(std::move(a));
    return *this;
}

message& message::embed_file(std::string_view id, std::string path, std::string_view type) {
    message_state& s = own_state();
    if (path.empty()) s.refuse("embed_file: the path is empty");
    detail::attachment a = describe(s, id, type.empty() ? mime::media_type_of(path) : type, true);
    a.what.path = std::move(path);
    s.attachments.push_back(std::move(a));
    return *this;
}

message& message::dkim(dkim_signer signer) {
    own_state().signers.push_back(std::move(signer));
    return *this;
}

std::optional<error> message::problem() const {
    const message_state& s = state();
    if (s.problem) return s.problem;
    const auto missing = [](std::string_view what) {
        return error(std::errc::invalid_argument, "message").on(what);
    };
    if (s.raw == nullptr && s.of(address_field::from).empty()) return missing("no sender: from");
    if (s.of(address_field::from).size() > 1 && s.raw == nullptr &&
        s.of(address_field::sender).empty()) {
        return missing("no sender: several authors need one (RFC 5322 section 3.6.2)");
    }
    if (!s.envelope_from && first_sender(s).empty()) return missing("no sender: from");
    if (s.raw_recipients_unread && s.of(address_field::envelope).empty()) {
        return missing("raw: to, cc or bcc is no list of addresses, or it was resent twice");
    }
    if (!has_recipient(s)) return missing("no recipient: to, cc or bcc");
    return std::nullopt;
}

std::vector<std::string> message::recipients() const {
    const message_state& s = state();
    std::vector<std::string> all;
    if (!s.of(address_field::envelope).empty()) {
        add_flat(all, s.of(address_field::envelope));
        return all;
    }
    for (const address_field f : {address_field::to, address_field::cc, address_field::bcc}) {
        add_flat(all, s.of(f));
    }
    return all;
}

std::string message::envelope_sender() const {
    const message_state& s = state();
    return s.envelope_from ? *s.envelope_from : std::string(first_sender(s));
}

}  // namespace coracle::smtp
