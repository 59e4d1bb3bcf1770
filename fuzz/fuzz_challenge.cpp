// The challenges of a server, and the responses of Digest. Checked: the limits hold, and what is
// said is one line that reads back, with what the server said in it.
#include "http/client/auth/authenticator.hpp"
#include "http/message/token.hpp"
#include "require.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle;
using namespace coracle::http;
using namespace coracle::http::detail;

namespace {

void check_limits(std::string_view line) {
    const challenge_limits limits{.bytes = 200, .challenges = 3, .parameters = 3};
    std::vector<challenge> all;
    read_challenges(line, all, limits);
    require(all.size() <= limits.challenges && (all.empty() || line.size() <= limits.bytes));
    for (const challenge& c : all) {
        require(is_token(c.scheme) && c.parameters.size() <= limits.parameters);
        require(c.token68.empty() || c.parameters.empty());
        for (const auto& p : c.parameters) require(is_token(p.name));
    }
}

/// Checks the response as a server reads it.
void check_response(const digest_challenge& asked, std::string_view value) {
    require(is_field_value(value));
    std::vector<challenge> said;
    read_challenges(value, said, {.bytes = 1'000'000, .parameters = 100});
    require(said.size() == 1 && said[0].scheme == "digest");
    const auto is = [&](std::string_view name, std::string_view expected) {
        const std::string* const found = said[0].find(name);
        return found != nullptr && *found == expected;
    };
    require(is("realm", asked.realm) && is("nonce", asked.nonce) && is("uri", "/a\"b"));
    require(!asked.opaque || is("opaque", *asked.opaque));
    require(!asked.has_qop || is("nc", "00000001"));
    require(asked.userhash || is("username", "us\"er"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view line{reinterpret_cast<const char*>(data), size};
    check_limits(line);
    info_parameter(line, "nextnonce");
    if (!is_field_value(line)) return 0;
    fields res;
    res.add("WWW-Authenticate", line);
    authenticator who({auth_scheme::digest, "us\"er", "secret"});
    const auto asked = strongest(challenges_in(res, "WWW-Authenticate"));
    require(who.challenged(res, 0) == asked.has_value());
    const auto value = who.authorize({.method = "GET", .target = "/a\"b", .body = ""}, {1, 2});
    require(value && value->empty() != asked.has_value());
    if (asked) check_response(*asked, value->reveal());
    return 0;
}
