#include "client_arguments.hpp"

#include "program_arguments.hpp"
#include "settings.hpp"

#include <coracle/connect/overrides.hpp>

#include <algorithm>
#include <chrono>
#include <string_view>

namespace coracle::tool {
namespace {

/// RFC 9110 section 5.6.2.
bool is_of_name(char c) noexcept {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

}  // namespace

void check_resolve(const std::vector<std::string>& entries) {
    for (const std::string& one : entries) {
        connect::overrides all;
        if (all.add(one)) continue;
        throw CLI::ValidationError("--resolve",
                                   "cannot read '" + one + "': write it as HOST:PORT:ADDRESS");
    }
}

void check_read(const std::string& from, const std::expected<void, error>& read) {
    if (read) return;
    const bool unknown = read.error() == errc::unknown_option;
    throw failure("cannot read " + from + ": " + (unknown ? "there is no option " : "") +
                  std::string(read.error().subject()));
}

duration seconds_of(double n) {
    return std::chrono::duration_cast<duration>(std::chrono::duration<double>(n));
}

std::pair<std::string, secret> user_and_password(const char* option, const std::string& text) {
    const std::size_t at = text.find(':');
    if (at == std::string::npos) {
        throw wrong_usage(std::string("cannot read ") + option + ": write it as in " + option +
                          " user:password");
    }
    hide_argument(text);
    return {text.substr(0, at), secret(text.substr(at + 1))};
}

std::pair<std::string, std::string> header_field(const std::string& text) {
    const std::size_t at = text.find_first_of(":;");
    const bool ends = at + 1 == text.size();
    if (at == std::string::npos || at == 0 || (text[at] == ';' && !ends)) {
        throw failure("cannot read --header '" + text + "': write it as in --header 'Name: value'");
    }
    const std::size_t value = text.find_first_not_of(" \t", at + 1);
    if (value == std::string::npos) return {text.substr(0, at), ""};
    const std::size_t end = text.find_last_not_of(" \t") + 1;
    return {text.substr(0, at), text.substr(value, end - value)};
}

std::pair<std::string, std::string> http_header_field(const std::string& text) {
    auto field = header_field(text);
    if (std::ranges::all_of(field.first, is_of_name)) return field;
    // The value may be a secret.
    throw failure("cannot read --header: '" + field.first + "' is no name of a header");
}

}  // namespace coracle::tool
