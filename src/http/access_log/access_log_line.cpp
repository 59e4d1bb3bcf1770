#include "base/iso_time.hpp"
#include "base/json_text.hpp"
#include "base/plain_prefix.hpp"
#include "http/masking.hpp"
#include "net/host_text.hpp"

#include <coracle/http/access_log.hpp>
#include <coracle/http/forwarded.hpp>

#include <charconv>
#include <chrono>

namespace coracle::http {
namespace {

/// The most bytes that one byte of a client becomes: "\xhh".
constexpr std::size_t escaped_size = 4;
/// "[10/Oct/2000:13:55:36 +0000]", and room for the digits of any number.
constexpr std::size_t clf_time_size = 48;
static_assert(clf_time_size >= coracle::detail::longest_iso_time);
/// The numbers, marks and the version of a line.
constexpr std::size_t rest_of_line = 128;

char* put(char* to, std::string_view text) noexcept {
    return to + text.copy(to, text.size());
}

char* put_number(char* to, std::uint64_t n) noexcept {
    return std::to_chars(to, to + 20, n).ptr;
}

char* put_escaped(char* to, std::string_view text) noexcept {
    constexpr std::string_view hexadecimal = "0123456789abcdef";
    for (;;) {
        const std::size_t plain = coracle::detail::plain_prefix(text);
        to = put(to, text.substr(0, plain));
        if (plain == text.size()) return to;
        const auto byte = static_cast<unsigned char>(text[plain]);
        *to++ = '\\';
        *to++ = 'x';
        *to++ = hexadecimal[byte >> 4];
        *to++ = hexadecimal[byte & 15];
        text.remove_prefix(plain + 1);
    }
}

/// The part of a client's text that goes into a line.
std::string_view cut(std::string_view text) noexcept {
    return text.substr(0, access_log_text);
}

char* put_padded(char* to, std::int64_t number) noexcept {
    if (number < 10) *to++ = '0';
    return std::to_chars(to, to + 20, number).ptr;
}

// "[10/Oct/2000:13:55:36 +0000]"
char* write_clf_time(char* to, std::int64_t unix_time) noexcept {
    constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const std::chrono::sys_seconds at{std::chrono::seconds(unix_time)};
    const auto day = std::chrono::floor<std::chrono::days>(at);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss time(at - day);
    *to++ = '[';
    to = put_padded(to, static_cast<unsigned>(date.day()));
    *to++ = '/';
    to = put(to, months.substr((static_cast<unsigned>(date.month()) - 1) * 3, 3));
    *to++ = '/';
    to = put_padded(to, static_cast<int>(date.year()));
    *to++ = ':';
    to = put_padded(to, time.hours().count());
    *to++ = ':';
    to = put_padded(to, time.minutes().count());
    *to++ = ':';
    to = put_padded(to, time.seconds().count());
    return put(to, " +0000]");
}

/// The text of a second, of which most lines have that of the line before.
class time_text {
public:
    std::string_view of(std::int64_t unix_time, char* (*write)(char*, std::int64_t) noexcept) {
        if (unix_time != second_ || size_ == 0) [[unlikely]] {
            size_ = static_cast<std::size_t>(write(text_, unix_time) - text_);
            second_ = unix_time;
        }
        return {text_, size_};
    }

private:
    std::int64_t second_ = 0;
    std::size_t size_ = 0;
    char text_[clf_time_size];
};

/// The client as trusted proxies give it; else the peer of the connection.
const net::address& client_of(const access_record& record) noexcept {
    const auto* const given = record.req.data<client_info>();
    return given == nullptr ? record.peer : given->address;
}

char* put_quoted(char* to, std::string_view text) noexcept {
    to = put(to, " \"");
    to = text.empty() ? put(to, "-") : put_escaped(to, text);
    *to++ = '"';
    return to;
}

/// A line of the common format, or the combined one.
class common_line {
public:
    common_line(const access_record& record, bool is_combined) : record_(&record) {
        client_size_ = net::detail::write_host(client_of(record), client_);
        thread_local time_text last;
        time_ = last.of(record.unix_time, write_clf_time);
        method_ = cut(record.req.method_text());
        target_ = cut(detail::masked_url(record.req.target(), masked_target_));
        if (!is_combined) return;
        combined_ = true;
        referer_ = cut(detail::masked_url(record.req.header("Referer"), masked_referer_));
        agent_ = cut(record.req.header("User-Agent"));
    }
    std::size_t longest() const noexcept {
        const std::size_t texts =
            client_size_ + method_.size() + target_.size() + referer_.size() + agent_.size();
        return escaped_size * texts + clf_time_size + rest_of_line;
    }
    /// Writes at most `longest()` bytes; returns their end.
    char* write(char* to) const noexcept {
        to = put_escaped(to, {client_, client_size_});
        to = put(to, " - - ");
        to = put(to, time_);
        to = put(to, " \"");
        to = write_request(to);
        to = put(to, "\" ");
        to = put_number(to, to_code(record_->status));
        *to++ = ' ';
        to = record_->body_bytes == 0 ? put(to, "-") : put_number(to, record_->body_bytes);
        if (combined_) to = put_quoted(put_quoted(to, referer_), agent_);
        *to++ = '\n';
        return to;
    }

private:
    char* write_request(char* to) const noexcept {
        if (method_.empty()) return put(to, "-");  // refused before it was understood
        to = put_escaped(to, method_);
        *to++ = ' ';
        to = put_escaped(to, target_);
        *to++ = ' ';
        return put(to, to_string(record_->req.version()));
    }

    const access_record* record_;
    std::string_view time_;
    std::string_view method_;
    std::string_view target_;
    std::string_view referer_;
    std::string_view agent_;
    std::string masked_target_;
    std::string masked_referer_;
    bool combined_ = false;
    std::size_t client_size_;
    char client_[net::detail::longest_host];
};

void append_common(std::string& out, const access_record& record, bool is_combined) {
    const common_line line(record, is_combined);
    const std::size_t before = out.size();
    // Appending the parts one by one costs more than writing them.
    out.resize_and_overwrite(before + line.longest(), [&](char* text, std::size_t) {
        return static_cast<std::size_t>(line.write(text + before) - text);
    });
}

class json_members {
public:
    explicit json_members(std::string& out) : out_(&out) {}
    std::string& key(std::string_view name) {
        *out_ += first_ ? "{\"" : ",\"";
        first_ = false;
        return (*out_ += name) += "\":";
    }
    void text(std::string_view name, std::string_view value) {
        coracle::detail::append_json_text(key(name), cut(value));
    }
    void text_if_any(std::string_view name, std::string_view value) {
        if (!value.empty()) text(name, value);
    }
    void number(std::string_view name, std::uint64_t value) {
        char digits[20];
        key(name).append(digits, static_cast<std::size_t>(put_number(digits, value) - digits));
    }

private:
    std::string* out_;
    bool first_ = true;
};

void append_json(std::string& out, const access_record& record) {
    const request& req = record.req;
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(record.took).count();
    json_members m(out);
    std::string masked;
    thread_local time_text last;
    m.key("time")
        .append("\"")
        .append(last.of(record.unix_time, coracle::detail::write_iso_time))
        .append("\"");
    char peer[net::detail::longest_host];
    m.text("peer", {peer, net::detail::write_host(record.peer, peer)});
    if (const net::address& client = client_of(record); &client != &record.peer) {
        m.text("client", {peer, net::detail::write_host(client, peer)});
    }
    if (!req.method_text().empty()) {
        m.text("method", req.method_text());
        m.text("target", detail::masked_url(req.target(), masked));
        m.text("version", to_string(req.version()));
    }
    m.number("status", to_code(record.status));
    m.number("bytes", record.body_bytes);
    if (!record.is_whole) m.key("whole").append("false");
    m.number("duration_us", took < 0 ? 0 : static_cast<std::uint64_t>(took));
    m.text_if_any("host", req.host());
    m.text_if_any("referer", detail::masked_url(req.header("Referer"), masked));
    m.text_if_any("user_agent", req.header("User-Agent"));
    out += "}\n";
}

}  // namespace

void append_access_log_line(std::string& out, access_log_format f, const access_record& record) {
    switch (f) {
        case access_log_format::common: append_common(out, record, false); break;
        case access_log_format::combined: append_common(out, record, true); break;
        case access_log_format::json: append_json(out, record); break;
    }
}

}  // namespace coracle::http
