#include "client_arguments.hpp"

#include "program_arguments.hpp"
#include "settings.hpp"

#include <chrono>

namespace coracle::tool {

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
        throw failure(std::string("cannot read ") + option + ": write it as in " + option +
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

}  // namespace coracle::tool
