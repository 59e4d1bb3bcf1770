#include "smtp/dkim_signature.hpp"

#include "base/ascii.hpp"
#include "mime/parameters.hpp"

#include <coracle/mime/address.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/mime/field.hpp>
#include <coracle/tls/signing_key.hpp>

#include <algorithm>
#include <vector>

namespace coracle::smtp {

namespace {

// RFC 6376 section 5.4.1, with what a list's one-click form wants (RFC 8058 section 4).
constexpr std::string_view default_fields[] = {"From",
                                               "Sender",
                                               "Reply-To",
                                               "Subject",
                                               "Date",
                                               "Message-ID",
                                               "To",
                                               "Cc",
                                               "MIME-Version",
                                               "Content-Type",
                                               "Content-Transfer-Encoding",
                                               "In-Reply-To",
                                               "References",
                                               "List-Unsubscribe",
                                               "List-Unsubscribe-Post"};

/// Readers show these, or reply to them: one that is put in front of a mail without it deceives.
/// Lists of mail add others with good reason.
bool is_shown(std::string_view name) noexcept {
    constexpr std::string_view shown[] = {"From", "Reply-To", "Subject", "To", "Cc"};
    return std::ranges::any_of(shown, [name](std::string_view one) {
        return mime::detail::equal_ignoring_case(name, one);
    });
}

bool is_dns_name(std::string_view name) noexcept {
    return !name.empty() && name.size() <= 253 && name.find("..") == std::string_view::npos &&
           !name.starts_with('.') && !name.ends_with('.') && std::ranges::all_of(name, [](char c) {
               return coracle::detail::is_letter(c) || coracle::detail::is_digit(c) || c == '-' ||
                      c == '.' || c == '_';
           });
}

/// The domain or one below it (RFC 6376 section 3.5, the tag "i").
bool is_within(std::string_view name, std::string_view domain) {
    const std::string inner = coracle::detail::lower(name);
    const std::string outer = coracle::detail::lower(domain);
    return inner == outer || inner.ends_with('.' + outer);
}

/// dkim-quoted-printable (RFC 6376 section 2.11).
std::string dkim_quoted(std::string_view text) {
    constexpr std::string_view hex = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte > 0x20 && byte < 0x7f && c != ';' && c != '=') {
            out += c;
        } else {
            out += '=';
            out += hex[byte >> 4];
            out += hex[byte & 15U];
        }
    }
    return out;
}

tls::signing_key read_key(const dkim_options& o) {
    auto key = tls::signing_key::read(o.key, o.password);
    if (!key) throw_exception(std::move(key).error());
    return *std::move(key);
}

[[noreturn]] void refuse(std::string_view what) {
    throw_exception(error(std::errc::invalid_argument, "dkim").on(what));
}

std::string bytes_of(std::string_view hex) {
    std::string out;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        out += static_cast<char>(coracle::detail::hex_value(hex[i]) << 4 |
                                 coracle::detail::hex_value(hex[i + 1]));
    }
    return out;
}

struct header_field {
    std::string_view name;
    std::string_view whole;  ///< with its line end
};

std::vector<header_field> fields_of(std::string_view header) {
    std::vector<header_field> all;
    while (!header.empty()) {
        std::size_t end = 0;
        do {
            end = header.find("\r\n", end);
            end = end == std::string_view::npos ? header.size() : end + 2;
        } while (end < header.size() && coracle::detail::is_blank(header[end]));
        const std::string_view whole = header.substr(0, end);
        all.push_back({coracle::detail::trim_blanks(whole.substr(0, whole.find(':'))), whole});
        header.remove_prefix(end);
    }
    return all;
}

std::string_view name_of(canonicalization c) noexcept {
    return c == canonicalization::relaxed ? "relaxed" : "simple";
}

}  // namespace

dkim_signer::dkim_signer(dkim_options o) {
    if (!is_dns_name(o.domain)) refuse("domain: no name: " + o.domain);
    if (!is_dns_name(o.selector)) refuse("selector: no name: " + o.selector);
    const std::string who = o.identity.starts_with('@') ? "x" + o.identity : o.identity;
    if (!who.empty() && !mime::is_address(who)) refuse("identity: no address: " + o.identity);
    if (!who.empty() && !is_within(who.substr(who.rfind('@') + 1), o.domain)) {
        refuse("identity: not of " + o.domain + ": " + o.identity);
    }
    key_ = std::make_shared<const tls::signing_key>(read_key(o));
    if (o.fields.empty()) o.fields.assign(std::begin(default_fields), std::end(default_fields));
    const auto is_from = [](const std::string& n) {
        return mime::detail::equal_ignoring_case(n, "from");
    };
    // RFC 6376 section 5.4: From has to be signed.
    if (std::ranges::none_of(o.fields, is_from)) o.fields.insert(o.fields.begin(), "From");
    for (const std::string& name : o.fields) {
        if (!mime::detail::is_token(name)) refuse("fields: no name of a field: " + name);
    }
    // A verifier takes each field once. A name that is listed more often than there are fields
    // signs that there are no more, so a name is listed once here.
    std::vector<std::string> named;
    std::erase_if(o.fields, [&named](const std::string& name) {
        std::string small = coracle::detail::lower(name);
        const bool again = std::ranges::find(named, small) != named.end();
        named.push_back(std::move(small));
        return again;
    });
    options_ = std::make_shared<const dkim_options>(std::move(o));
}

namespace detail {

void canonical_body::end_line() noexcept {
    blank_ = false;
    ++ends_;
}

// Bytes of a line: those that stand before them are no end of the body.
void canonical_body::put(std::string_view run, std::string& out) {
    for (; ends_ != 0; --ends_) out += "\r\n";
    if (blank_) out += ' ';
    blank_ = false;
    out += run;
    any_ = true;
}

void canonical_body::add(std::string_view bytes, std::string& out) {
    const bool relaxed = how_ == canonicalization::relaxed;
    const std::string_view special = relaxed ? "\r\n \t" : "\r\n";
    while (!bytes.empty()) {
        const char c = bytes.front();
        if (c == '\n' && cr_) {
            cr_ = false;
            end_line();
            bytes.remove_prefix(1);
            continue;
        }
        if (cr_) put("\r", out);
        cr_ = c == '\r';
        if (cr_) {
            bytes.remove_prefix(1);
            continue;
        }
        if (relaxed && coracle::detail::is_blank(c)) {
            blank_ = true;
            bytes.remove_prefix(1);
            continue;
        }
        const std::size_t end =
            std::max<std::size_t>(std::min(bytes.find_first_of(special), bytes.size()), 1);
        put(bytes.substr(0, end), out);
        bytes.remove_prefix(end);
    }
}

void canonical_body::finish(std::string& out) {
    if (cr_) put("\r", out);
    if (any_ || how_ == canonicalization::simple) out += "\r\n";
}

std::string canonical_field(std::string_view field, canonicalization how) {
    if (how == canonicalization::simple) return std::string(field);
    const std::size_t colon = field.find(':');
    std::string out = coracle::detail::lower(coracle::detail::trim_blanks(field.substr(0, colon)));
    out += ':';
    bool blank = false;
    bool any = false;
    for (const char c : field.substr(colon + 1)) {
        if (coracle::detail::is_blank(c)) {
            blank = true;
        } else if (c != '\r' && c != '\n') {
            if (blank && any) out += ' ';
            blank = false;
            any = true;
            out += c;
        }
    }
    return out += "\r\n";
}

namespace {

struct chosen_fields {
    std::string names;      ///< of the tag h=, with blanks to fold it at
    std::string canonical;  ///< what is signed of them
};

chosen_fields choose_fields(const std::vector<header_field>& all, const dkim_options& o) {
    chosen_fields chosen;
    std::size_t line = 0;
    const auto list = [&](std::string_view name) {
        std::string& names = chosen.names;
        if (!names.empty()) names += ':';
        if (names.size() - line > 50) {
            names += ' ';
            line = names.size();
        }
        names += coracle::detail::lower(name);
    };
    for (const std::string& name : o.fields) {
        bool any = false;
        // From the last to the first (RFC 6376 section 5.4.2).
        for (std::size_t i = all.size(); i-- != 0;) {
            if (!mime::detail::equal_ignoring_case(all[i].name, name)) continue;
            any = true;
            list(name);
            chosen.canonical += canonical_field(all[i].whole, o.header);
        }
        if (any || is_shown(name)) list(name);
    }
    return chosen;
}

std::string tags_before_signature(const dkim_options& o, std::string_view algorithm,
                                  std::int64_t unix_time) {
    std::string value = "v=1; a=";
    value.append(algorithm).append("; c=");
    value.append(name_of(o.header)).append("/").append(name_of(o.body));
    value.append("; d=").append(o.domain).append("; s=").append(o.selector);
    value.append("; t=").append(std::to_string(unix_time));
    if (o.lifetime > duration::zero()) {
        const auto seconds = std::chrono::ceil<std::chrono::seconds>(o.lifetime).count();
        value.append("; x=").append(std::to_string(unix_time + seconds));
    }
    if (!o.identity.empty()) value.append("; i=").append(dkim_quoted(o.identity));
    return value;
}

}  // namespace

void dkim_signature::add_body(std::string_view bytes) {
    block_.clear();
    body_.add(bytes, block_);
    digest_.add(block_);
}

std::expected<std::string, error> dkim_signature::finish(std::string_view header,
                                                         std::int64_t unix_time) {
    const dkim_options& o = signer_.options();
    block_.clear();
    body_.finish(block_);
    digest_.add(block_);
    const std::string body_hash = mime::base64_encode(bytes_of(digest_.finish()));

    const auto all = fields_of(header);
    const bool has_from = std::ranges::any_of(all, [](const header_field& f) {
        return mime::detail::equal_ignoring_case(f.name, "from");
    });
    if (!has_from) {
        error e(std::errc::invalid_argument, "message");
        return std::unexpected(std::move(e.on("no From, which DKIM has to sign")));
    }
    const chosen_fields chosen = choose_fields(all, o);
    const bool rsa = signer_.key().kind() == tls::key_kind::rsa;
    const std::string value =
        tags_before_signature(o, rsa ? "rsa-sha256" : "ed25519-sha256", unix_time) +
        "; h=" + chosen.names + "; bh=" + body_hash + "; b=";
    std::string field;
    auto written = mime::append_field(field, "DKIM-Signature", value);
    if (!written) return std::unexpected(std::move(written).error());

    std::string unsigned_field = canonical_field(field, o.header);
    unsigned_field.resize(unsigned_field.size() - 2);
    auto signature = signer_.key().sign_sha256(chosen.canonical + unsigned_field);
    if (!signature) return std::unexpected(std::move(signature).error());
    field.resize(field.size() - 2);
    const std::string text = mime::base64_encode(*signature);
    for (std::size_t at = 0; at < text.size(); at += 72) {
        field.append("\r\n ").append(text, at, 72);
    }
    return field += "\r\n";
}

}  // namespace detail
}  // namespace coracle::smtp
