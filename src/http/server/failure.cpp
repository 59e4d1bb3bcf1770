#include "http/server/failure.hpp"

#include "http/h1/parse_error.hpp"

#include <coracle/http/request.hpp>

#include <cerrno>

namespace coracle::http::detail {
namespace {

std::string standard_text(status code) {
    return std::to_string(static_cast<int>(code)) + ' ' + std::string(reason_phrase(code)) + '\n';
}

bool is_over_quota(const error& e) noexcept {
    return e.code() == std::error_code(EDQUOT, std::generic_category());
}

}  // namespace

status status_of(const error& e) noexcept {
    if (e.code().category() == status_category()) return static_cast<status>(e.code().value());
    if (e.code().category() == h1::parse_error_category()) {
        return h1::status_for(static_cast<h1::parse_error>(e.code().value()));
    }
    if (e.operation() == "body" && (e == std::errc::timed_out || e == errc::too_slow)) {
        return status::request_timeout;
    }
    if (e.operation() == "save" && (e == std::errc::no_space_on_device || is_over_quota(e))) {
        return status::insufficient_storage;
    }
    return status::internal_server_error;
}

failure answer_to(std::exception_ptr e) {
    try {
        std::rethrow_exception(std::move(e));
    } catch (const status_error& x) {
        return {response(x.code(), *x.what() == '\0' ? standard_text(x.code()) : x.what()), {}};
    } catch (const exception& x) {
        const status code = status_of(x.error());
        return {response(code, standard_text(code)), is_server_error(code) ? x.what() : ""};
    } catch (const std::exception& x) {
        return {
            response(status::internal_server_error, standard_text(status::internal_server_error)),
            x.what()};
    } catch (...) {
        return {
            response(status::internal_server_error, standard_text(status::internal_server_error)),
            "an exception of unknown type"};
    }
}

}  // namespace coracle::http::detail
