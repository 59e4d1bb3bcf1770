#include <coracle/net/resolver.hpp>

namespace coracle::net {
namespace {

class category final : public std::error_category {
public:
    const char* name() const noexcept override { return "resolve"; }

    std::string message(int value) const override {
        switch (static_cast<resolve_errc>(value)) {
            case resolve_errc::no_such_host: return "no such host";
            case resolve_errc::no_addresses: return "the name has no such address";
            case resolve_errc::server_failure: return "the name server failed";
            case resolve_errc::refused: return "the name server refused";
            case resolve_errc::timed_out: return "no name server responded in time";
            case resolve_errc::server_unreachable: return "the name server cannot be reached";
            case resolve_errc::malformed_name: return "this is no host name";
            case resolve_errc::malformed_response: return "the name server's response is malformed";
        }
        return "unknown error";
    }

    std::error_condition default_error_condition(int value) const noexcept override {
        switch (static_cast<resolve_errc>(value)) {
            case resolve_errc::timed_out: return std::errc::timed_out;
            case resolve_errc::malformed_name: return std::errc::invalid_argument;
            default: return {value, *this};
        }
    }
};

}  // namespace

const std::error_category& resolve_category() noexcept {
    static const category instance;
    return instance;
}

std::error_code make_error_code(resolve_errc e) noexcept {
    return {static_cast<int>(e), resolve_category()};
}

}  // namespace coracle::net
