#include <coracle/connect/proxy.hpp>

namespace coracle::connect {
namespace {

class category final : public std::error_category {
public:
    const char* name() const noexcept override { return "proxy"; }

    std::string message(int value) const override {
        switch (static_cast<proxy_errc>(value)) {
            case proxy_errc::refused: return "the proxy refused";
            case proxy_errc::credentials_wanted: return "the proxy wants credentials";
            case proxy_errc::credentials_refused: return "the proxy refused the credentials";
            case proxy_errc::general_failure: return "the proxy failed or refused";
            case proxy_errc::not_allowed: return "the proxy's rules do not allow it";
            case proxy_errc::network_unreachable: return "the proxy cannot reach the network";
            case proxy_errc::host_unreachable: return "the proxy cannot reach the host";
            case proxy_errc::connection_refused: return "the host refused the proxy's connection";
            case proxy_errc::ttl_expired: return "the proxy's packets expired on their way";
            case proxy_errc::command_not_supported: return "the proxy knows no CONNECT";
            case proxy_errc::address_not_supported: return "the proxy knows no such addresses";
            case proxy_errc::identd_unreachable: return "the proxy cannot reach our identd";
            case proxy_errc::identd_mismatch: return "our identd names another user";
        }
        return "unknown error";
    }

    std::error_condition default_error_condition(int value) const noexcept override {
        switch (static_cast<proxy_errc>(value)) {
            case proxy_errc::credentials_wanted:
            case proxy_errc::credentials_refused:
            case proxy_errc::not_allowed: return std::errc::permission_denied;
            case proxy_errc::network_unreachable: return std::errc::network_unreachable;
            case proxy_errc::ttl_expired:
            case proxy_errc::host_unreachable: return std::errc::host_unreachable;
            case proxy_errc::connection_refused: return std::errc::connection_refused;
            case proxy_errc::command_not_supported: return std::errc::operation_not_supported;
            case proxy_errc::address_not_supported: return std::errc::address_family_not_supported;
            default: return {value, *this};
        }
    }
};

}  // namespace

const std::error_category& proxy_category() noexcept {
    static const category instance;
    return instance;
}

std::error_code make_error_code(proxy_errc e) noexcept {
    return {static_cast<int>(e), proxy_category()};
}

}  // namespace coracle::connect
