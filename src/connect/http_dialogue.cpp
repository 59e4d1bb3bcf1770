#include "connect/http_dialogue.hpp"

#include "base/ascii.hpp"
#include "connect/names.hpp"

#include <algorithm>

namespace coracle::connect {
namespace {

using coracle::detail::trim_blanks;

constexpr std::string_view protocol = "HTTP/1.";
constexpr std::size_t most_reported = 100;

bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

/// RFC 9110 section 5.6.2.
bool is_token(std::string_view text) noexcept {
    const auto is_tchar = [](char c) {
        const char l = coracle::detail::lower(c);
        return is_digit(c) || (l >= 'a' && l <= 'z') ||
               std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
    };
    return !text.empty() && std::all_of(text.begin(), text.end(), is_tchar);
}

/// Returns text of the proxy that is safe to show.
std::string printable(std::string_view text) {
    std::string out(text.substr(0, most_reported));
    std::replace_if(out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return out;
}

/// Removes the first item of a list whose items may have separators in quotes.
std::string_view take_quoted_item(std::string_view& list) noexcept {
    bool quoted = false;
    std::size_t end = 0;
    for (; end != list.size() && (quoted || list[end] != ','); ++end) {
        if (list[end] == '"') quoted = !quoted;
        if (quoted && list[end] == '\\' && end + 1 != list.size()) ++end;
    }
    const std::string_view item = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    return trim_blanks(item);
}

/// The schemes in a Proxy-Authenticate field (RFC 9110 section 11.6.1), whose parameters have "=".
void add_schemes(std::string& to, std::string_view challenges) {
    while (!challenges.empty()) {
        const std::string_view item = take_quoted_item(challenges);
        const std::string_view scheme = item.substr(0, item.find_first_of(" \t="));
        const std::string_view behind = trim_blanks(item.substr(scheme.size()));
        if (!is_token(scheme) || behind.starts_with('=') || to.size() > most_reported) continue;
        if (!to.empty()) to += ", ";
        to += scheme.substr(0, most_reported);
    }
}

}  // namespace

std::expected<std::unique_ptr<dialogue>, refusal> http_dialogue::make(const proxy& p,
                                                                      std::string_view host,
                                                                      std::uint16_t port,
                                                                      unsigned repeats) {
    const std::string target = host_and_port(host, port);
    std::unique_ptr<http_dialogue> d(new http_dialogue(p, repeats));
    secret authorization = p.basic_authorization();
    if (p.authenticator() != nullptr) {
        auto given = p.authenticator()->authorize("CONNECT", target);
        if (!given) {
            const error& e = given.error();
            return std::unexpected(refusal{e.code(), std::string(e.subject())});
        }
        authorization = *std::move(given);
    }
    d->ask(target, authorization);
    return d;
}

void http_dialogue::ask(const std::string& target, const secret& authorization) {
    has_credentials_ = !authorization.empty();
    std::string& out = begin_output(100 + 2 * target.size() + authorization.reveal().size());
    out += "CONNECT ";
    out += target;
    out += " HTTP/1.1\r\nHost: ";
    out += target;
    if (has_credentials_) {
        out += "\r\nProxy-Authorization: ";
        out += authorization.reveal();
    }
    out += "\r\n\r\n";
}

std::size_t http_dialogue::take(std::string_view bytes) {
    std::size_t taken = 0;
    while (state() == status::talks && taken != bytes.size()) {
        const std::string_view rest = bytes.substr(taken);
        const std::size_t end = rest.find('\n');
        const std::size_t size = end == std::string_view::npos ? rest.size() : end + 1;
        if (size > proxy::most_head_bytes - bytes_) {
            refuse(errc::limit_exceeded, "a head over " + std::to_string(proxy::most_head_bytes) +
                                             " bytes (proxy::most_head_bytes)");
            return bytes.size();
        }
        line_ += rest.substr(0, size);
        bytes_ += size;
        taken += size;
        const std::size_t known = std::min(line_.size(), protocol.size());
        if (status_code_ == 0 && line_.substr(0, known) != protocol.substr(0, known)) {
            malformed("not an HTTP/1.1 response");
        } else if (end != std::string_view::npos) {
            line_came();
        }
    }
    return taken;
}

void http_dialogue::line_came() {
    line_.pop_back();
    if (line_.ends_with('\r')) line_.pop_back();
    if (++lines_ > proxy::most_head_lines) {
        return refuse(errc::limit_exceeded, "more than " + std::to_string(proxy::most_head_lines) +
                                                " lines (proxy::most_head_lines)");
    }
    if (line_.find_first_of(std::string_view("\0\r", 2)) != std::string::npos) {
        return malformed("a control character in the head");
    }
    if (status_code_ == 0) {
        status_line_came();
    } else if (line_.empty()) {
        head_came();
    } else {
        field_line_came();
    }
    line_.clear();
}

/// "HTTP/1.1 200 Connection established" (RFC 9112 section 4).
void http_dialogue::status_line_came() {
    const std::string_view line = line_;
    const std::size_t at = protocol.size() + 2;
    const bool well_formed = line.size() >= at + 3 && is_digit(line[at - 2]) &&
                             line[at - 1] == ' ' && line[at] >= '1' && line[at] <= '5' &&
                             is_digit(line[at + 1]) && is_digit(line[at + 2]) &&
                             (line.size() == at + 3 || line[at + 3] == ' ');
    if (!well_formed) return malformed("no status in the response");
    status_code_ = (line[at] - '0') * 100 + (line[at + 1] - '0') * 10 + (line[at + 2] - '0');
    status_text_ = printable(trim_blanks(line.substr(at)));
}

void http_dialogue::field_line_came() {
    if (!coracle::detail::is_blank(line_.front())) {
        field_came();
        field_ = line_;
    } else if (field_.empty()) {
        malformed("a line that goes on with no field in the head");
    } else {
        // A fold of the value, which is a space (RFC 9112 section 5.2).
        field_ += ' ';
        field_ += trim_blanks(line_);
    }
}

/// Handles a field once the next line shows that it is complete.
void http_dialogue::field_came() {
    if (field_.empty()) return;
    const std::string_view field = field_;
    const std::size_t colon = field.find(':');
    if (colon == std::string_view::npos || !is_token(field.substr(0, colon))) {
        return malformed("a line without a field in the head");
    }
    if (same_name(field.substr(0, colon), "proxy-authenticate")) {
        const std::string_view value = trim_blanks(field.substr(colon + 1));
        add_schemes(schemes_, value);
        if (authenticator_ != nullptr) challenges_.emplace_back(value);
    }
}

/// Handles the end of a head. The bytes after it come from the target, even if fields announce a
/// body (RFC 9110 section 9.3.6).
void http_dialogue::head_came() {
    field_came();
    field_.clear();
    if (state() != status::talks) return;
    if (status_code_ / 100 == 2) return open();
    if (status_code_ / 100 != 1) return refused();
    if (status_code_ == 101) return malformed("a switch of protocols that was not requested");
    if (++interim_ > proxy::most_interim) {
        return refuse(errc::limit_exceeded, "more than " + std::to_string(proxy::most_interim) +
                                                " interim responses (proxy::most_interim)");
    }
    status_code_ = 0;
}

void http_dialogue::refused() {
    std::string detail = status_text_;
    // tinyproxy responds to a wrong password with 401.
    if (status_code_ != 407 && status_code_ != 401) {
        return refuse(proxy_errc::refused, std::move(detail));
    }
    if (authenticator_ != nullptr && authenticator_->challenged(challenges_, repeats_)) {
        return ask_again();
    }
    if (!schemes_.empty()) detail += "; it takes " + schemes_;
    refuse(has_credentials_ ? proxy_errc::credentials_refused : proxy_errc::credentials_wanted,
           std::move(detail));
}

}  // namespace coracle::connect
