// URLs. Checked: what parses is its own normal form, what a reference resolves to is itself where
// it is kept as it is, their parts are those of their text and hold nothing that could end a line
// or a request target.
#include "require.hpp"

#include <coracle/base/url.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle;

namespace {

bool is_printable(std::string_view text) {
    for (const char c : text) {
        if (c <= ' ' || c == 0x7f) return false;
    }
    return true;
}

void check(const url& u, url_path how = url_path::normal) {
    require(is_printable(u.text()) && u.text().size() <= url::max_size);
    const auto again = url::parse(u.text(), how);
    require(again && *again == u);
    require(again->host() == u.host() && again->port() == u.port() && again->path() == u.path());
    require(again->query() == u.query() && again->fragment() == u.fragment());
    require(again->user() == u.user() && again->password() == u.password());

    require(!u.host().empty() && u.host().find_first_of("/?#@\\%") == std::string_view::npos);
    require(u.path().starts_with('/') && u.path().find_first_of("?#\\") == std::string_view::npos);
    require(u.path().find("/../") == std::string_view::npos && !u.path().ends_with("/.."));
    require(u.target().find('#') == std::string_view::npos);
    require(u.redacted() ==
            std::string(u.scheme()) + "://" + std::string(u.authority()) + std::string(u.target()));
}

void change(url u, std::string_view text) {
    try {
        u.add_query(text, text).set_fragment(text);
    } catch (const exception&) {
        return;
    }
    check(u);
    u.remove_user();
    require(!u.has_user());
    check(u);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // A line each: a URL, and a reference on it.
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    const std::size_t end = bytes.find('\n');
    const std::string_view reference =
        end == std::string_view::npos ? std::string_view() : bytes.substr(end + 1);
    const auto base = url::parse(bytes.substr(0, end));
    const auto resolved = (base ? *base : url()).resolve(reference);
    if (resolved) check(*resolved, url_path::as_is);
    if (!base) return 0;
    check(*base);
    require(base->resolve(base->text()) == *base);
    change(*base, reference);
    return 0;
}
