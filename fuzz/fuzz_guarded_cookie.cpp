// Signed and encrypted cookies. Checked: a value comes back as it was, under its name only, and
// neither any text nor a value that was changed is accepted.
#include "require.hpp"

#include <coracle/http/middleware/signed_cookie.hpp>
#include <coracle/testing/simulation.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle;

namespace {

template <class Cookie>
void check(std::string_view text) {
    const std::string key(32, 'k');
    const Cookie cookie("theme", {secret(key)});
    require(!cookie.open(text));
    const std::string_view value = text.substr(0, 1024);
    std::string made(cookie.make(value).value());
    require(cookie.open(made) == value);
    require(!Cookie("other", {secret(key)}).open(made));
    require(!Cookie("theme", {secret(std::string(32, 'x'))}).open(made));
    // One character is another, at a place that the input chooses.
    const std::size_t at = text.empty() ? 0 : static_cast<unsigned char>(text[0]) % made.size();
    made[at] = made[at] == 'A' ? 'B' : 'A';
    require(!cookie.open(made));
}

task<> check_both(std::string_view text) {
    check<http::signed_cookie>(text);
    check<http::encrypted_cookie>(text);
    co_return;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 5000) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    testing::simulation sim;
    sim.run([text] { return check_both(text); });
    return 0;
}
