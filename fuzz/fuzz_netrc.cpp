// A netrc file. Checked: an entry in quotes before any text is found as it was written, and no text
// gives an entry for another user than the one asked for.
#include "http/client/netrc.hpp"
#include "require.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle;
using http::detail::find_netrc;

namespace {

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 4096) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    static_cast<void>(find_netrc(text, "example.com"));
    const auto of_user = find_netrc(text, "example.com", "mary");
    require(!of_user || of_user->user == "mary");

    const std::string_view user = text.substr(0, text.find('\n'));
    const std::string entry = "machine Example.COM login " + quoted(user) + " password " +
                              quoted(text.substr(std::min(user.size() + 1, size))) + '\n';
    const auto found =
        find_netrc(entry + "machine other\n" + std::string(text), "example.com", user);
    require(found && found->user == user);
    require(found->password.reveal() == text.substr(std::min(user.size() + 1, size)));
    require(!find_netrc(entry, "example.org"));
    return 0;
}
