#include "program_arguments.hpp"

#include <algorithm>
#include <span>

namespace coracle::tool {
namespace {

std::span<char*> arguments;

/// Returns true if the value of an option can begin there: "value", "-uvalue", "-sSuvalue",
/// "--user=value".
bool may_begin(std::string_view argument, std::size_t at) noexcept {
    const bool has_short_names = argument.starts_with('-') && !argument.starts_with("--");
    return at == 0 || argument[at - 1] == '=' || (has_short_names && at >= 2);
}

}  // namespace

void note_arguments(int argc, char** argv) noexcept {
    arguments = {argv, static_cast<std::size_t>(argc)};
}

void hide_argument(std::string_view secret) noexcept {
    if (secret.empty()) return;
    for (char* const argument : arguments) {
        const std::string_view whole = argument;
        if (!whole.ends_with(secret)) continue;
        const std::size_t at = whole.size() - secret.size();
        if (may_begin(whole, at)) std::fill_n(argument + at, secret.size(), '*');
    }
}

}  // namespace coracle::tool
