// A server of SCRAM (RFC 5802) that does not know the password. The input holds its challenges,
// with LF between them. Checked: it never passes for one that does, whatever it says.
#include "require.hpp"
#include "smtp/scram.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle;
using namespace coracle::smtp::detail;

namespace {

void replace_all(std::string& in, std::string_view what, std::string_view by) {
    for (std::size_t at = 0; (at = in.find(what, at)) != std::string::npos; at += by.size()) {
        in.replace(at, what.size(), by);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2 || size > 2048) return 0;
    std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    const smtp::credentials who{.user = "mary", .password = secret("pencil")};
    const std::uint64_t random[2] = {1, 2};
    const auto binding = static_cast<scram_binding>(data[0] % 3);
    const auto exchange = make_scram(who, binding, {"tls-exporter", "12345678"}, random);
    const std::string first(exchange->initial()->reveal());
    // A "?" stands for our nonce, which a server repeats.
    replace_all(text, "?", first.substr(first.rfind(",r=") + 3));
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t end = rest.find('\n');
        const auto said = exchange->respond(rest.substr(0, end));
        require(!exchange->succeeded());
        if (!said) break;
        // Our nonce may go on with any bytes of theirs.
        const bool is_theirs = text.find("pencil") != std::string::npos;
        require(is_theirs || said->reveal().find("pencil") == std::string_view::npos);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return 0;
}
