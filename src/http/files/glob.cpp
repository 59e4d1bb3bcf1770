#include "http/files/glob.hpp"

#include <string>

namespace coracle::http::detail {

bool matches_glob(std::string_view glob, std::string_view text) noexcept {
    constexpr std::size_t none = std::string_view::npos;
    std::size_t g = 0;
    std::size_t t = 0;
    // The position of the last "*", and the end of its match: an earlier one need never match more.
    std::size_t star = none;
    std::size_t reach = 0;
    while (t != text.size()) {
        if (g != glob.size() && glob[g] == '*') {
            star = g++;
            reach = t;
        } else if (g != glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
            ++g;
            ++t;
        } else if (star != none) {
            g = star + 1;
            t = ++reach;
        } else {
            return false;
        }
    }
    return glob.find_first_not_of('*', g) == none;
}

bool path_matches_glob(std::string_view glob, std::string_view path) {
    if (glob.find('/') == std::string_view::npos) {
        return matches_glob(glob, path.substr(path.rfind('/') + 1));
    }
    std::string whole = "/";
    whole += path;
    return matches_glob(glob, whole);
}

}  // namespace coracle::http::detail
