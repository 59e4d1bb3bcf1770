#include "tls/verified_client.hpp"

#include "tls/certificate.hpp"

#include <algorithm>
#include <charconv>

namespace coracle::tls::detail {

std::optional<verified_client> verified_client::of(const SSL* s, const client_trust& by) {
    const STACK_OF(X509)* const chain = SSL_get0_verified_chain(s);
    if (chain == nullptr || sk_X509_num(chain) == 0) return std::nullopt;
    verified_client v{by.digest(), by.until()};
    for (int i = 0; i != sk_X509_num(chain); ++i) {
        v.until = std::min(v.until, seconds_of(X509_get0_notAfter(sk_X509_value(chain, i))));
    }
    return v;
}

std::optional<verified_client> verified_client::in(SSL_SESSION* session) {
    void* data = nullptr;
    std::size_t size = 0;
    if (SSL_SESSION_get0_ticket_appdata(session, &data, &size) != 1) return std::nullopt;
    const std::string_view text(static_cast<const char*>(data), size);
    const std::size_t space = text.find(' ');
    if (space == text.npos) return std::nullopt;
    verified_client v{std::string(text.substr(0, space)), 0};
    const char* const end = text.data() + text.size();
    const auto r = std::from_chars(text.data() + space + 1, end, v.until);
    if (r.ec != std::errc() || r.ptr != end) return std::nullopt;
    return v;
}

bool verified_client::write_to(SSL_SESSION* session) const {
    const std::string text = authorities + ' ' + std::to_string(until);
    return SSL_SESSION_set1_ticket_appdata(session, text.data(), text.size()) == 1;
}

}  // namespace coracle::tls::detail
