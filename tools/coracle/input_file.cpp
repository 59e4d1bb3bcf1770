#include "input_file.hpp"

#include "settings.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace coracle::tool {

void use_standard_input() {
    static bool is_used = false;
    if (std::exchange(is_used, true)) {
        throw failure("only one argument can have the standard input ('-')");
    }
}

bool is_pipe(const std::string& path) {
    std::error_code absent;
    return std::filesystem::is_other(std::filesystem::status(path, absent));
}

std::string content_of(const std::string& path, std::size_t most) {
    const bool input = path == "-";
    if (input) use_standard_input();
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
        input ? stdin : std::fopen(path.c_str(), "rbe"),
        [](std::FILE* f) { return f == stdin ? 0 : std::fclose(f); });
    std::string all;
    std::array<char, 65536> bytes;
    while (file != nullptr) {
        const std::size_t n = std::fread(bytes.data(), 1, bytes.size(), file.get());
        all.append(bytes.data(), n);
        if (all.size() > most) {
            throw unreadable("cannot read '" + path + "': it has more than " +
                             std::to_string(most) + " bytes");
        }
        if (n == 0 && std::ferror(file.get()) == 0) return all;
        if (n == 0) break;
    }
    throw unreadable("cannot read '" + path + "': " + std::strerror(errno));
}

}  // namespace coracle::tool
