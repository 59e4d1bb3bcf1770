#include "base/url_writer.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/base/url.hpp>

#include <utility>

namespace coracle {
namespace {

std::string_view between(std::string_view text, std::size_t begin, std::size_t end) noexcept {
    return text.substr(begin, end - begin);
}

// What stands in a URL was encoded by us.
std::string decoded(std::string_view text) {
    return percent_decode(text).value_or(std::string());
}

}  // namespace

std::expected<url, error> url::parse(std::string_view text) {
    std::expected<url, error> out;
    detail::url_writer writer(*out);
    if (!writer.write(text)) out = std::unexpected(writer.failure());
    return out;
}

std::expected<url, error> url::resolve(std::string_view reference) const {
    std::expected<url, error> out;
    detail::url_writer writer(*out);
    if (!writer.resolve(*this, reference)) out = std::unexpected(writer.failure());
    return out;
}

void url::swap(url& other) noexcept {
    text_.swap(other.text_);
    std::swap(scheme_end_, other.scheme_end_);
    std::swap(password_begin_, other.password_begin_);
    std::swap(host_begin_, other.host_begin_);
    std::swap(host_end_, other.host_end_);
    std::swap(path_begin_, other.path_begin_);
    std::swap(query_begin_, other.query_begin_);
    std::swap(fragment_begin_, other.fragment_begin_);
    std::swap(port_, other.port_);
}

std::string url::redacted() const {
    const std::string_view text = text_;
    std::string out(text.substr(0, empty() ? 0 : scheme_end_ + 3));
    out += between(text, host_begin_, fragment_begin_);
    return out;
}

std::string_view url::scheme() const noexcept {
    return between(text_, 0, scheme_end_);
}

bool url::has_user() const noexcept {
    return host_begin_ > scheme_end_ + 3;
}

std::string url::user() const {
    if (!has_user()) return {};
    return decoded(between(text_, scheme_end_ + 3,
                           (password_begin_ != 0 ? password_begin_ : host_begin_) - 1));
}

std::string url::password() const {
    return password_begin_ == 0 ? std::string()
                                : decoded(between(text_, password_begin_, host_begin_ - 1));
}

std::string_view url::host() const noexcept {
    const unsigned bracket = host_is_ipv6() ? 1 : 0;
    return between(text_, host_begin_ + bracket, host_end_ - bracket);
}

bool url::host_is_ipv6() const noexcept {
    return !empty() && text_[host_begin_] == '[';
}

std::string_view url::authority() const noexcept {
    return between(text_, host_begin_, path_begin_);
}

std::string_view url::path() const noexcept {
    return between(text_, path_begin_, query_begin_);
}

bool url::has_query() const noexcept {
    return query_begin_ < fragment_begin_;
}

std::string_view url::query() const noexcept {
    return has_query() ? between(text_, query_begin_ + 1, fragment_begin_) : std::string_view();
}

std::string_view url::target() const noexcept {
    return between(text_, path_begin_, fragment_begin_);
}

std::string_view url::fragment() const noexcept {
    return fragment_begin_ < text_.size() ? std::string_view(text_).substr(fragment_begin_ + 1)
                                          : std::string_view();
}

bool url::same_origin(const url& other) const noexcept {
    return scheme() == other.scheme() && host() == other.host() && port_ == other.port_;
}

url& url::add_query(std::string_view name, std::string_view value) {
    url changed;
    detail::url_writer writer(changed);
    if (!writer.add_query(*this, name, value)) throw_exception(writer.failure());
    return *this = std::move(changed);
}

url& url::set_fragment(std::string_view encoded) {
    url changed;
    detail::url_writer writer(changed);
    if (!writer.set_fragment(*this, encoded)) throw_exception(writer.failure());
    return *this = std::move(changed);
}

url& url::remove_user() {
    if (!has_user()) return *this;
    url changed;
    detail::url_writer(changed).remove_user(*this);
    return *this = std::move(changed);
}

}  // namespace coracle
