#include "access_log.hpp"

#include <cerrno>
#include <chrono>

namespace coracle::tool {
namespace {

void append_escaped(std::string& out, std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
            out += c;
            continue;
        }
        out += "\\x";
        out += digits[byte >> 4];
        out += digits[byte & 15];
    }
}

void append_padded(std::string& out, unsigned number) {
    if (number < 10) out += '0';
    out += std::to_string(number);
}

// "[10/Oct/2000:13:55:36 +0000]"
void append_time(std::string& out, std::int64_t unix_time) {
    constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const std::chrono::sys_seconds at{std::chrono::seconds(unix_time)};
    const auto day = std::chrono::floor<std::chrono::days>(at);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss time(at - day);
    out += '[';
    append_padded(out, static_cast<unsigned>(date.day()));
    out += '/';
    out += months.substr((static_cast<unsigned>(date.month()) - 1) * 3, 3);
    out += '/';
    out += std::to_string(static_cast<int>(date.year()));
    for (const auto part : {time.hours().count(), time.minutes().count(), time.seconds().count()}) {
        out += ':';
        append_padded(out, static_cast<unsigned>(part));
    }
    out += " +0000]";
}

void append_request_line(std::string& out, const http::request& req) {
    if (req.method_text().empty()) {  // refused before it was understood
        out += '-';
        return;
    }
    append_escaped(out, req.method_text());
    out += ' ';
    append_escaped(out, req.target());
    out += ' ';
    out += http::to_string(req.version());
}

}  // namespace

std::string common_log_line(const http::access_record& record) {
    std::string line;
    line.reserve(128 + record.req.target().size());
    append_escaped(line, record.peer.host());
    line += " - - ";
    append_time(line, record.unix_time);
    line += " \"";
    append_request_line(line, record.req);
    line += "\" ";
    line += std::to_string(http::to_code(record.status));
    line += ' ';
    line += record.body_bytes == 0 ? "-" : std::to_string(record.body_bytes);
    line += '\n';
    return line;
}

void access_log::closer::operator()(std::FILE* f) const noexcept {
    if (f != stdout) std::fclose(f);
}

access_log::access_log(const std::string& path) {
    if (path.empty() || path == "-") {
        file_.reset(stdout);
        return;
    }
    file_.reset(std::fopen(path.c_str(), "ae"));
    if (!file_) {
        error e(std::error_code(errno, std::generic_category()), "open");
        throw_exception(e.on(path));
    }
}

void access_log::write(void* self, const http::access_record& record) {
    auto& log = *static_cast<access_log*>(self);
    const std::string line = common_log_line(record);
    const std::lock_guard lock(log.one_line_);
    std::fwrite(line.data(), 1, line.size(), log.file_.get());
    std::fflush(log.file_.get());
}

}  // namespace coracle::tool
