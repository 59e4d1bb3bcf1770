#include "base/url_writer.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/base/secret.hpp>
#include <coracle/base/url.hpp>

#include <utility>

namespace coracle {
namespace {

std::string_view between(std::string_view text, std::size_t begin, std::size_t end) noexcept {
    return text.substr(begin, end - begin);
}

// The text of a URL was encoded by this library, so decoding it cannot fail.
std::string decoded(std::string_view text) {
    return percent_decode(text).value_or(std::string());
}

/// The shared parts of a URL: user and password are overwritten when the last copy is destroyed.
struct wiped_parts final : detail::url_parts {
    wiped_parts() noexcept = default;
    wiped_parts(const wiped_parts&) = delete;
    wiped_parts& operator=(const wiped_parts&) = delete;
    ~wiped_parts() {
        // An unfinished one has no host yet.
        if (host_begin == 0 || host_begin != scheme_end + 3) wipe(text.data(), text.size());
    }
};

}  // namespace

const detail::url_parts& url::none() noexcept {
    static const detail::url_parts nothing;
    return nothing;
}

/// Makes a URL with `write`, or returns why that failed.
template <class Write>
std::expected<url, error> url::written(Write write) {
    auto made = std::make_shared<wiped_parts>();
    detail::url_writer writer(*made);
    if (!write(writer)) return std::unexpected(writer.failure());
    return url(std::move(made));
}

std::expected<url, error> url::parse(std::string_view text, url_path how) {
    return written([text, how](detail::url_writer& w) { return w.write(text, how); });
}

std::expected<url, error> url::resolve(std::string_view reference) const {
    return written([&](detail::url_writer& w) { return w.resolve(*this, reference); });
}

std::string url::redacted() const {
    const detail::url_parts& p = parts();
    std::string out(text().substr(0, empty() ? 0 : p.scheme_end + 3));
    out += between(p.text, p.host_begin, p.fragment_begin);
    return out;
}

std::string_view url::scheme() const noexcept {
    const detail::url_parts& p = parts();
    return between(p.text, 0, p.scheme_end);
}

bool url::has_user() const noexcept {
    const detail::url_parts& p = parts();
    return p.host_begin > p.scheme_end + 3;
}

std::string url::user() const {
    const detail::url_parts& p = parts();
    if (!has_user()) return {};
    return decoded(between(p.text, p.scheme_end + 3,
                           (p.password_begin != 0 ? p.password_begin : p.host_begin) - 1));
}

std::string url::password() const {
    const detail::url_parts& p = parts();
    return p.password_begin == 0 ? std::string()
                                 : decoded(between(p.text, p.password_begin, p.host_begin - 1));
}

std::string_view url::host() const noexcept {
    const detail::url_parts& p = parts();
    const unsigned bracket = host_is_ipv6() ? 1 : 0;
    return between(p.text, p.host_begin + bracket, p.host_end - bracket);
}

bool url::host_is_ipv6() const noexcept {
    const detail::url_parts& p = parts();
    return !empty() && p.text[p.host_begin] == '[';
}

std::string_view url::authority() const noexcept {
    const detail::url_parts& p = parts();
    return between(p.text, p.host_begin, p.path_begin);
}

std::string_view url::path() const noexcept {
    const detail::url_parts& p = parts();
    return between(p.text, p.path_begin, p.query_begin);
}

bool url::has_query() const noexcept {
    const detail::url_parts& p = parts();
    return p.query_begin < p.fragment_begin;
}

std::string_view url::query() const noexcept {
    const detail::url_parts& p = parts();
    return has_query() ? between(p.text, p.query_begin + 1, p.fragment_begin) : std::string_view();
}

std::string_view url::target() const noexcept {
    const detail::url_parts& p = parts();
    return between(p.text, p.path_begin, p.fragment_begin);
}

std::string_view url::fragment() const noexcept {
    const detail::url_parts& p = parts();
    return p.fragment_begin < p.text.size() ? std::string_view(p.text).substr(p.fragment_begin + 1)
                                            : std::string_view();
}

bool url::same_origin(const url& other) const noexcept {
    return scheme() == other.scheme() && host() == other.host() && port() == other.port();
}

url& url::add_query(std::string_view name, std::string_view value) {
    auto changed = written([&](detail::url_writer& w) { return w.add_query(*this, name, value); });
    if (!changed) throw_exception(std::move(changed).error());
    return *this = *std::move(changed);
}

url& url::set_fragment(std::string_view encoded) {
    auto changed = written([&](detail::url_writer& w) { return w.set_fragment(*this, encoded); });
    if (!changed) throw_exception(std::move(changed).error());
    return *this = *std::move(changed);
}

url& url::remove_user() {
    if (!has_user()) return *this;
    auto changed = std::make_shared<wiped_parts>();
    detail::url_writer(*changed).remove_user(*this);
    parts_ = std::move(changed);
    return *this;
}

}  // namespace coracle
