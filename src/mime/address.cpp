#include "base/ascii.hpp"
#include "base/idn.hpp"
#include "base/utf8.hpp"
#include "mime/text.hpp"

#include <coracle/mime/address.hpp>
#include <coracle/mime/encoded_word.hpp>

#include <algorithm>
#include <utility>

namespace coracle::mime {
namespace {

constexpr std::size_t longest_local = 64;
constexpr std::size_t longest_address = 254;
constexpr unsigned deepest_comment = 16;

// RFC 5322 section 3.2.3, extended by RFC 6532.
bool is_atext(char c) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    return coracle::detail::is_letter(c) || coracle::detail::is_digit(c) || byte >= 0x80 ||
           (c != '\0' && std::string_view("!#$%&'*+-/=?^_`{|}~").find(c) != std::string_view::npos);
}

bool is_atom(std::string_view text) noexcept {
    return !text.empty() && std::ranges::all_of(text, is_atext);
}

bool is_dot_atom(std::string_view text) noexcept {
    for (;;) {
        const std::size_t dot = text.find('.');
        if (!is_atom(text.substr(0, dot))) return false;
        if (dot == std::string_view::npos) return true;
        text.remove_prefix(dot + 1);
    }
}

bool is_control(char c) noexcept {
    return (c >= 0 && c < 0x20) || c == 0x7f;
}

void append_quoted(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    out += '"';
}

// Quotes `text` only where it has to be quoted.
std::string local_part(std::string_view text) {
    if (is_dot_atom(text)) return std::string(text);
    std::string out;
    append_quoted(out, text);
    return out;
}

bool is_domain(std::string_view text) noexcept {
    if (text.starts_with('[')) {
        return text.size() > 2 && text.ends_with(']') &&
               std::ranges::all_of(text.substr(1, text.size() - 2), [](char c) {
                   return coracle::detail::is_letter(c) || coracle::detail::is_digit(c) ||
                          c == '.' || c == ':' || c == '-';
               });
    }
    // Letters, digits, hyphens, and characters that A-labels can encode (RFC 5890).
    return is_dot_atom(text) && std::ranges::all_of(text, [](char c) {
               return coracle::detail::is_letter(c) || coracle::detail::is_digit(c) || c == '-' ||
                      c == '.' || c == '_' || static_cast<unsigned char>(c) >= 0x80;
           });
}

/// A parser for an address list.
class address_reader {
public:
    address_reader(std::string_view text, std::size_t most) noexcept : rest_(text), most_(most) {}

    std::optional<std::vector<address>> read() {
        std::vector<address> all;
        for (;;) {
            if (!skip_blanks()) return std::nullopt;
            if (rest_.empty()) return all;
            if (take(',')) continue;
            address next;
            if (!read_entry(next, true)) return std::nullopt;
            all.push_back(std::move(next));
            if (!skip_blanks()) return std::nullopt;
            if (!rest_.empty() && !take(',')) return std::nullopt;
        }
    }

private:
    struct piece {
        std::string text;
        bool quoted = false;
        bool glued = false;  ///< no blanks in front of it
    };

    bool take(char c) noexcept {
        if (!rest_.starts_with(c)) return false;
        rest_.remove_prefix(1);
        return true;
    }

    // Skips blanks, folds and comments. Returns false when a comment has no end.
    bool skip_blanks() {
        for (;;) {
            rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
            if (!rest_.starts_with('(')) return true;
            if (!skip_comment()) return false;
        }
    }

    bool skip_comment() {
        comment_.clear();
        unsigned depth = 0;
        while (!rest_.empty()) {
            char c = rest_.front();
            rest_.remove_prefix(1);
            if (c == '(') {
                if (++depth > deepest_comment) return false;
                if (depth == 1) continue;
            } else if (c == ')') {
                if (--depth == 0) return true;
            } else if (c == '\\' && !rest_.empty()) {
                c = rest_.front();
                rest_.remove_prefix(1);
            }
            comment_ += c;
        }
        return false;
    }

    bool read_quoted(std::string& into) {
        rest_.remove_prefix(1);
        while (!rest_.empty()) {
            char c = rest_.front();
            rest_.remove_prefix(1);
            if (c == '"') return true;
            if (c == '\r' || c == '\n') continue;  // a fold
            if (c == '\\') {
                if (rest_.empty()) return false;
                c = rest_.front();
                rest_.remove_prefix(1);
            }
            if (c == '\0') return false;
            into += c;
        }
        return false;
    }

    // Reads words and dots up to the next delimiter.
    bool read_words(std::vector<piece>& words) {
        for (;;) {
            const std::size_t before = rest_.size();
            if (!skip_blanks()) return false;
            piece p;
            p.glued = before == rest_.size();
            if (rest_.starts_with('"')) {
                p.quoted = true;
                if (!read_quoted(p.text)) return false;
            } else {
                const auto end =
                    std::ranges::find_if(rest_, [](char c) { return !is_atext(c) && c != '.'; });
                p.text.assign(rest_.begin(), end);
                if (p.text.empty()) return true;
                rest_.remove_prefix(p.text.size());
            }
            words.push_back(std::move(p));
        }
    }

    static std::string name_of(const std::vector<piece>& words) {
        std::string raw;
        std::string out;
        for (const piece& p : words) {
            if (p.quoted) {
                out += decode_words(raw);
                raw.clear();
                if (!out.empty() && !p.glued) out += ' ';
                // Mail programs put encoded words into quotes and expect them to be decoded.
                out += decode_words(p.text);
                continue;
            }
            if (!(out.empty() && raw.empty()) && !p.glued) raw += ' ';
            raw += p.text;
        }
        out += decode_words(raw);
        return out;
    }

    // The words before an "@": one quoted string, or a dot-atom with optional blanks at its dots.
    static std::optional<std::string> local_of(const std::vector<piece>& words) {
        if (words.size() == 1 && words.front().quoted) return local_part(words.front().text);
        std::string joined;
        for (const piece& p : words) {
            const bool at_dot = p.text.starts_with('.') || joined.empty() || joined.ends_with('.');
            if (p.quoted || !at_dot) return std::nullopt;
            joined += p.text;
        }
        if (!is_dot_atom(joined)) return std::nullopt;
        return joined;
    }

    bool read_domain(std::string& into) {
        if (!skip_blanks()) return false;
        if (rest_.starts_with('[')) {
            const std::size_t end = rest_.find(']');
            if (end == std::string_view::npos) return false;
            into += rest_.substr(0, end + 1);
            rest_.remove_prefix(end + 1);
            return true;
        }
        std::vector<piece> words;
        comment_.clear();
        if (!read_words(words)) return false;
        const auto domain = local_of(words);
        if (!domain || domain->starts_with('"')) return false;
        into += *domain;
        return true;
    }

    // Continues after the local part.
    bool finish_address(const std::vector<piece>& words, std::string& into) {
        const auto local = local_of(words);
        if (!local || !take('@')) return false;
        into = *local + '@';
        return read_domain(into) && is_address(into);
    }

    // Continues after "<".
    bool read_angle(mailbox& m) {
        if (!skip_blanks()) return false;
        if (rest_.starts_with('@') || rest_.starts_with(',')) {  // RFC 5322 section 4.4
            const std::size_t end = rest_.find(':');
            if (end == std::string_view::npos || rest_.substr(0, end).find('>') != rest_.npos) {
                return false;
            }
            rest_.remove_prefix(end + 1);
        }
        std::vector<piece> words;
        if (!read_words(words) || !finish_address(words, m.address)) return false;
        return skip_blanks() && take('>');
    }

    bool read_group(address& into) {
        for (;;) {
            if (!skip_blanks()) return false;
            if (take(';')) return true;
            if (take(',')) continue;
            if (rest_.empty() || !read_entry(into, false) || !skip_blanks()) return false;
            if (!rest_.starts_with(',') && !rest_.starts_with(';')) return false;
        }
    }

    bool read_entry(address& into, bool may_be_group) {
        if (count_++ == most_) return false;
        std::vector<piece> words;
        comment_.clear();
        if (!read_words(words)) return false;
        mailbox m;
        if (take('<')) {
            m.name = name_of(words);
            if (!read_angle(m)) return false;
        } else if (rest_.starts_with('@')) {
            if (!finish_address(words, m.address)) return false;
            if (!skip_blanks()) return false;
            m.name = decode_words(comment_);
        } else if (may_be_group && !words.empty() && take(':')) {
            into.group = name_of(words);
            return read_group(into);
        } else {
            return false;
        }
        into.members.push_back(std::move(m));
        return true;
    }

    std::string_view rest_;
    std::size_t most_;
    std::size_t count_ = 0;
    std::string comment_;  ///< the last one
};

bool is_plain_phrase(std::string_view name) noexcept {
    if (name.find("=?") != std::string_view::npos) return false;
    for (;;) {
        const std::size_t space = name.find(' ');
        if (!is_atom(name.substr(0, space))) return false;
        if (space == std::string_view::npos) return true;
        name.remove_prefix(space + 1);
    }
}

// The column where the first name of a field of addresses begins, at most: behind "Reply-To: ".
constexpr std::size_t first_column = 10;

std::string phrase_of(std::string_view name, header_charset charset) {
    const bool ascii = detail::is_ascii(name);
    const bool has_controls = std::ranges::any_of(name, is_control);
    const bool as_it_is = (ascii || charset == header_charset::utf8) && !has_controls &&
                          name.find("=?") == std::string_view::npos;
    // A phrase consists of words, so the text beside encoded words must be encoded too.
    if (!as_it_is) {
        return is_plain_phrase(name) ? encode_words(name, first_column)
                                     : detail::encode_all(name, first_column);
    }
    if (is_plain_phrase(name)) return std::string(name);
    std::string out;
    append_quoted(out, name);
    return out;
}

}  // namespace

std::optional<std::vector<address>> parse_addresses(std::string_view text,
                                                    const address_limits& limits) {
    return address_reader(text, limits.mailboxes).read();
}

std::optional<mailbox> parse_mailbox(std::string_view text) {
    auto all = parse_addresses(text, {.mailboxes = 2});
    if (!all || all->size() != 1 || all->front().group) return std::nullopt;
    return std::move(all->front().members.front());
}

bool is_address(std::string_view text) noexcept {
    const std::size_t at = text.rfind('@');
    if (at == std::string_view::npos || at == 0 || text.size() > longest_address) return false;
    const std::string_view local = text.substr(0, at);
    if (local.size() > longest_local || !detail::is_utf8(text)) return false;
    if (!is_domain(text.substr(at + 1))) return false;
    if (!local.starts_with('"')) return is_dot_atom(local);
    if (local.size() < 2 || !local.ends_with('"')) return false;
    const std::string_view inside = local.substr(1, local.size() - 2);
    bool is_escaped = false;
    for (const char c : inside) {
        if (is_control(c) || (c == '"' && !is_escaped)) return false;
        is_escaped = c == '\\' && !is_escaped;
    }
    return !is_escaped;
}

std::optional<std::string> ascii_domain(std::string_view address) {
    const std::size_t at = address.rfind('@');
    if (at == std::string_view::npos) return std::nullopt;
    std::string out(address.substr(0, at + 1));
    const std::string_view domain = address.substr(at + 1);
    if (detail::is_ascii(domain)) return out.append(domain);
    if (!coracle::detail::append_ascii_name(out, domain)) return std::nullopt;
    if (!is_domain(std::string_view(out).substr(at + 1))) return std::nullopt;
    return out;
}

std::optional<std::string> format_mailbox(const mailbox& m, header_charset charset) {
    std::string address = m.address;
    if (charset == header_charset::ascii) {
        auto ascii = ascii_domain(address);
        if (!ascii || !detail::is_ascii(*ascii)) return std::nullopt;
        address = *std::move(ascii);
    }
    if (m.name.empty()) return address;
    return phrase_of(m.name, charset).append(" <").append(address).append(">");
}

}  // namespace coracle::mime
