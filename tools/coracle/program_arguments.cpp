#include "program_arguments.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace coracle::tool {
namespace {

std::span<char*> arguments;

}  // namespace

void note_arguments(int argc, char** argv) noexcept {
    arguments = {argv, static_cast<std::size_t>(argc)};
}

void hide_argument(std::string_view secret) noexcept {
    if (secret.empty()) return;
    for (char* const argument : arguments) {
        const std::size_t size = std::strlen(argument);
        if (!std::string_view(argument, size).ends_with(secret)) continue;
        std::fill_n(argument + (size - secret.size()), secret.size(), '*');
    }
}

}  // namespace coracle::tool
