#include <coracle/http/access_log.hpp>

#include <utility>

namespace coracle::http {
namespace {

constexpr std::pair<std::string_view, access_log_format> formats[] = {
    {"common", access_log_format::common},
    {"combined", access_log_format::combined},
    {"json", access_log_format::json},
};

}  // namespace

std::string_view to_string(access_log_format f) noexcept {
    return formats[static_cast<unsigned>(f)].first;
}

std::optional<access_log_format> parse_access_log_format(std::string_view text) noexcept {
    for (const auto& [name, f] : formats) {
        if (name == text) return f;
    }
    return std::nullopt;
}

access_log_file::access_log_file(access_log_options options)
    : format_(options.format), lines_(std::move(options.path), options.lines) {}

void access_log_file::observe(const access_record& record) {
    // Keeps its memory from one line to the next.
    thread_local std::string line;
    line.clear();
    append_access_log_line(line, format_, record);
    lines_.add(line);
}

}  // namespace coracle::http
