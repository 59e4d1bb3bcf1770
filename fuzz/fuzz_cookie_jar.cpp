// Cookies that a client receives. Input: lines of one byte, which chooses the host, and of the text
// of a Set-Cookie field, and behind an empty line a cookies.txt. Checked: what was stored goes back
// to matching hosts only, over TLS where it has to, and a saved jar comes back as it was.
#include "http/client/cookie_match.hpp"
#include "http/client/public_suffix.hpp"
#include "require.hpp"

#include <coracle/http/cookie_jar.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

using namespace coracle;
using namespace coracle::http;

namespace {

constexpr std::int64_t now = 1'800'000'000;

const url& place(std::size_t n) {
    static const url places[] = {
        url::parse("https://www.example.com/one/two").value(),
        url::parse("http://www.example.com/one/").value(),
        url::parse("https://example.com/").value(),
        url::parse("https://other.example.com/one/two/three").value(),
        url::parse("https://badexample.com/").value(),
        url::parse("http://example.co.uk/").value(),
        url::parse("https://a.github.io/").value(),
        url::parse("http://127.0.0.1/").value(),
        url::parse("https://[::1]/").value(),
        url::parse("http://localhost/one").value(),
    };
    return places[n % std::size(places)];
}
constexpr std::size_t places = 10;

std::string_view take_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    return line;
}

bool is_tls(const url& u) {
    return u.scheme() == "https" || u.scheme() == "wss";
}

bool is_host_of(const stored_cookie& c, std::string_view host) {
    const bool below = !c.host_only && host.size() > c.domain.size() && host.ends_with(c.domain) &&
                       host[host.size() - c.domain.size() - 1] == '.';
    return host == c.domain || below;
}

bool within(const stored_cookie& c, const url& to) {
    return is_host_of(c, to.host()) && (is_tls(to) || !c.secure) &&
           http::detail::path_matches(to.path(), c.path);
}

/// A host sets cookies for itself and those below its domain only, and without TLS it neither sets
/// nor removes a Secure one.
void check_receiving(cookie_jar& jar, const url& home, std::string_view line) {
    const auto before = jar.list(now);
    const cookie_verdict verdict = jar.receive(home, line, now);
    const auto after = jar.list(now);
    require(verdict == cookie_verdict::stored || after.size() <= before.size());
    for (const stored_cookie& c : after) {
        const bool fresh = std::find(before.begin(), before.end(), c) == before.end();
        require(!fresh || (is_host_of(c, home.host()) && (is_tls(home) || !c.secure)));
    }
    for (const stored_cookie& c : before) {
        const bool gone = std::find(after.begin(), after.end(), c) == after.end();
        require(!gone || is_tls(home) || !c.secure || jar.evicted() != 0);
    }
}

/// The cookies that a place gets are exactly those that belong there.
void check_sending(cookie_jar& jar) {
    const auto all = jar.list(now);
    for (std::size_t n = 0; n != places; ++n) {
        const std::string sent = jar.cookies_for(place(n), now);
        require(sent.size() <= cookie_limits().field);
        require(sent.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
        std::size_t size = 0;
        for (const stored_cookie& c : all) {
            if (!within(c, place(n))) continue;
            const std::string pair = c.name.empty() ? c.value : c.name + '=' + c.value;
            size += (size == 0 ? 0 : 2) + pair.size();
            require(size > cookie_limits().field || sent.find(pair) != std::string::npos);
        }
        require(sent.size() <= size);
    }
}

void check_cookies(const cookie_jar& jar) {
    for (const stored_cookie& c : jar.list(now)) {
        require(c.name.size() + c.value.size() <= 4096 && c.path.starts_with('/'));
        require(c.host_only || !http::detail::is_public_suffix(c.domain));
        require(!c.expires || (*c.expires > now && *c.expires <= now + 400 * 86400));
        require(c.name.find_first_of("=;") == std::string::npos);
    }
}

/// SameSite is not kept in a file, and what has a tab in it is left out.
void check_saving(const cookie_jar& jar) {
    cookie_jar again;
    const std::string text = jar.text(now);
    again.read(text, now);
    require(again.text(now) == text);
    cookie_jar twice;
    twice.read(again.text(now), now);
    require(twice.list(now) == again.list(now));
    std::size_t savable = 0;
    for (const stored_cookie& c : jar.list(now)) {
        if ((c.name + c.value + c.path).find('\t') == std::string::npos) ++savable;
    }
    require(again.size() == savable);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view bytes{reinterpret_cast<const char*>(data), size};
    cookie_jar jar;
    std::size_t from = 0;
    while (!bytes.empty()) {
        const std::string_view line = take_line(bytes);
        if (line.empty()) break;
        if (line.size() == 1) {
            from = static_cast<unsigned char>(line[0]);
            continue;
        }
        check_receiving(jar, place(from), line);
    }
    check_sending(jar);
    jar.read(bytes, now);
    check_sending(jar);
    check_cookies(jar);
    check_saving(jar);
    return 0;
}
