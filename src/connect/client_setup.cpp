#include "connect/client_setup.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace coracle::connect::detail {
namespace {

tls::encoding encoding_of(std::string_view curl_type) noexcept {
    if (curl_type == "PEM") return tls::encoding::pem;
    if (curl_type == "DER") return tls::encoding::der;
    if (curl_type == "P12") return tls::encoding::pkcs12;
    if (curl_type == "ENG" || curl_type == "PROV") return tls::encoding::provider;
    return tls::encoding::any;
}

/// The times of probes; Linux takes none that are longer.
unsigned seconds_of(duration d) noexcept {
    constexpr std::int64_t most = 32'767;
    const std::int64_t seconds = std::chrono::ceil<std::chrono::seconds>(d).count();
    return static_cast<unsigned>(std::min(seconds, most));
}

}  // namespace

bool same_files(const certificate_options& a, const certificate_options& b) noexcept {
    return a.certificate == b.certificate && a.certificate_type == b.certificate_type &&
           a.key == b.key && a.key_type == b.key_type && a.key_password == b.key_password &&
           a.authorities == b.authorities && a.authority_folder == b.authority_folder;
}

socket_options socket_options_of(const client_socket_options& o) noexcept {
    using std::chrono::milliseconds;
    constexpr std::uint32_t most = std::numeric_limits<int>::max();
    socket_options s;
    s.no_delay = o.no_delay;
    s.user_timeout_ms = static_cast<unsigned>(
        std::min<std::int64_t>(std::chrono::ceil<milliseconds>(o.user_timeout).count(), most));
    s.keep_alive = {o.keep_alive, seconds_of(o.keep_alive_idle), seconds_of(o.keep_alive_interval),
                    o.keep_alive_count};
    s.send_buffer = static_cast<int>(std::min(o.send_buffer, most));
    s.receive_buffer = static_cast<int>(std::min(o.receive_buffer, most));
    if (o.type_of_service != 0) s.type_of_service = o.type_of_service;
    s.mark = o.mark;
    s.first_local_port = o.first_local_port;
    s.last_local_port = o.last_local_port;
    return s;
}

tls::client_options tls_options_of(const client_tls_options& o, const certificate_options& files,
                                   const std::string& engine) {
    tls::client_options t;
    t.minimum = o.minimum;
    t.maximum = o.maximum;
    t.ciphers = o.ciphers;
    t.cipher_suites = o.cipher_suites;
    t.groups = o.groups;
    t.key_log = o.key_log;
    t.provider = engine;
    t.identity.certificate_encoding = encoding_of(files.certificate_type);
    t.identity.key_encoding = encoding_of(files.key_type);
    t.authority_folder = files.authority_folder;
    t.identity.certificate = files.certificate;
    t.identity.key = files.key;
    t.identity.password = files.key_password;
    t.authorities = files.authorities;
    t.system_authorities = files.authorities.empty() && files.authority_folder.empty();
    return t;
}

}  // namespace coracle::connect::detail
