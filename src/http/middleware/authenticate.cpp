#include "http/message/token.hpp"

#include <coracle/http/middleware/authenticate.hpp>
#include <coracle/mime/base64.hpp>

namespace coracle::http {
namespace {

void check_realm(const authentication_options& o) {
    if (is_field_value(o.realm) && o.realm.find_first_of("\"\\") == std::string::npos) return;
    error e(std::errc::invalid_argument, "authentication_options");
    throw_exception(std::move(e.on("realm")));
}

/// The credentials of this scheme; nothing where there are none.
std::optional<std::string_view> credentials_of(const request& req, std::string_view scheme) {
    const std::string_view value = req.header("Authorization");
    const std::size_t blank = value.find(' ');
    if (blank == value.npos || !equal_ignoring_case(value.substr(0, blank), scheme)) return {};
    return trim_ows(value.substr(blank + 1));
}

response challenge(std::string value) {
    response r(status::unauthorized);
    r.set("WWW-Authenticate", value);
    return r;
}

}  // namespace

basic_authentication::basic_authentication(check_function check, authentication_options options)
    : check_(std::make_shared<const check_function>(std::move(check))),
      options_(std::move(options)) {
    check_realm(options_);
}

task<response> basic_authentication::operator()(request& req, const handler& next) const {
    const auto given = credentials_of(req, "Basic");
    if (given || !options_.optional) {
        const auto text = given ? mime::base64_decode(*given) : std::nullopt;
        const std::size_t colon = text ? text->find(':') : std::string::npos;
        bool is_right = false;
        if (colon != std::string::npos) {
            auto checking = (*check_)(std::string_view(*text).substr(0, colon),
                                      std::string_view(*text).substr(colon + 1));
            is_right = co_await std::move(checking);
        }
        if (!is_right) {
            co_return challenge("Basic realm=\"" + options_.realm + "\", charset=\"UTF-8\"");
        }
        req.set_data(identity{text->substr(0, colon)});
    }
    auto handling = next(req);
    co_return co_await std::move(handling);
}

bearer_authentication::bearer_authentication(check_function check, authentication_options options)
    : check_(std::make_shared<const check_function>(std::move(check))),
      options_(std::move(options)) {
    check_realm(options_);
}

task<response> bearer_authentication::operator()(request& req, const handler& next) const {
    const auto given = credentials_of(req, "Bearer");
    const std::string realm = "Bearer realm=\"" + options_.realm + '"';
    if (given && !given->empty()) {
        auto checking = (*check_)(*given);
        auto name = co_await std::move(checking);
        if (!name) co_return challenge(realm + ", error=\"invalid_token\"");
        req.set_data(identity{*std::move(name)});
    } else if (!options_.optional) {
        // RFC 6750 section 3.1: no error for who did not know that one is needed.
        co_return challenge(realm);
    }
    auto handling = next(req);
    co_return co_await std::move(handling);
}

}  // namespace coracle::http
