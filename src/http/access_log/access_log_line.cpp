#include "base/iso_time.hpp"
#include "base/json_text.hpp"

#include <coracle/http/access_log.hpp>

#include <charconv>
#include <chrono>

namespace coracle::http {
namespace {

constexpr std::string_view hexadecimal = "0123456789abcdef";

void append_number(std::string& out, std::uint64_t n) {
    char digits[20];
    const char* end = std::to_chars(digits, digits + sizeof digits, n).ptr;
    out.append(digits, static_cast<std::size_t>(end - digits));
}

void append_padded(std::string& out, std::int64_t number) {
    if (number < 10) out += '0';
    append_number(out, static_cast<std::uint64_t>(number));
}

bool is_plain(char c) noexcept {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void append_escaped(std::string& out, std::string_view text) {
    for (const char c : text.substr(0, access_log_text)) {
        if (is_plain(c)) {
            out += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out += "\\x";
        out += hexadecimal[byte >> 4];
        out += hexadecimal[byte & 15];
    }
}

struct moment {
    explicit moment(std::int64_t unix_time) noexcept
        : at{std::chrono::seconds(unix_time)}, day(std::chrono::floor<std::chrono::days>(at)),
          date(day), of_day(at - day) {}
    std::chrono::sys_seconds at;
    std::chrono::sys_days day;
    std::chrono::year_month_day date;
    std::chrono::hh_mm_ss<std::chrono::seconds> of_day;
};

void append_clock(std::string& out, const moment& m) {
    append_padded(out, m.of_day.hours().count());
    out += ':';
    append_padded(out, m.of_day.minutes().count());
    out += ':';
    append_padded(out, m.of_day.seconds().count());
}

// "[10/Oct/2000:13:55:36 +0000]"
void append_clf_time(std::string& out, std::int64_t unix_time) {
    constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const moment m(unix_time);
    out += '[';
    append_padded(out, static_cast<unsigned>(m.date.day()));
    out += '/';
    out += months.substr((static_cast<unsigned>(m.date.month()) - 1) * 3, 3);
    out += '/';
    append_number(out, static_cast<std::uint64_t>(static_cast<int>(m.date.year())));
    out += ':';
    append_clock(out, m);
    out += " +0000]";
}

void append_request_line(std::string& out, const request& req) {
    if (req.method_text().empty()) {  // refused before it was understood
        out += '-';
        return;
    }
    append_escaped(out, req.method_text());
    out += ' ';
    append_escaped(out, req.target());
    out += ' ';
    out += to_string(req.version());
}

void append_quoted(std::string& out, std::string_view text) {
    out += " \"";
    if (text.empty())
        out += '-';
    else
        append_escaped(out, text);
    out += '"';
}

void append_common(std::string& out, const access_record& record) {
    append_escaped(out, record.peer.host());
    out += " - - ";
    append_clf_time(out, record.unix_time);
    out += " \"";
    append_request_line(out, record.req);
    out += "\" ";
    append_number(out, to_code(record.status));
    out += ' ';
    if (record.body_bytes == 0)
        out += '-';
    else
        append_number(out, record.body_bytes);
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
        coracle::detail::append_json_text(key(name), value.substr(0, access_log_text));
    }
    void text_if_any(std::string_view name, std::string_view value) {
        if (!value.empty()) text(name, value);
    }
    void number(std::string_view name, std::uint64_t value) { append_number(key(name), value); }

private:
    std::string* out_;
    bool first_ = true;
};

void append_json(std::string& out, const access_record& record) {
    const request& req = record.req;
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(record.took).count();
    json_members m(out);
    m.key("time") += '"';
    coracle::detail::append_iso_time(out, record.unix_time);
    out += '"';
    m.text("peer", record.peer.host());
    if (!req.method_text().empty()) {
        m.text("method", req.method_text());
        m.text("target", req.target());
        m.text("version", to_string(req.version()));
    }
    m.number("status", to_code(record.status));
    m.number("bytes", record.body_bytes);
    m.number("duration_us", took < 0 ? 0 : static_cast<std::uint64_t>(took));
    m.text_if_any("host", req.host());
    m.text_if_any("referer", req.header("Referer"));
    m.text_if_any("user_agent", req.header("User-Agent"));
    out += '}';
}

}  // namespace

void append_access_log_line(std::string& out, access_log_format f, const access_record& record) {
    switch (f) {
        case access_log_format::common: append_common(out, record); break;
        case access_log_format::combined:
            append_common(out, record);
            append_quoted(out, record.req.header("Referer"));
            append_quoted(out, record.req.header("User-Agent"));
            break;
        case access_log_format::json: append_json(out, record); break;
    }
    out += '\n';
}

}  // namespace coracle::http
