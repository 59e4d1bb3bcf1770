#include "http/exchange/failure.hpp"

#include "base/exception_text.hpp"
#include "http/error_style.hpp"
#include "http/exception_view.hpp"
#include "http/transport_security.hpp"

#include <coracle/http/coding.hpp>
#include <coracle/http/h1/parse_error.hpp>
#include <coracle/http/request.hpp>
#include <coracle/http/response_info.hpp>
#include <coracle/runtime/loop.hpp>

#include <cerrno>
#include <new>

namespace coracle::http::detail {
namespace {

status status_of_coding(coding_error e) noexcept {
    switch (e) {
        case coding_error::too_large:
        case coding_error::ratio_exceeded:
        case coding_error::window_too_large: return status::content_too_large;
        case coding_error::no_memory: return status::service_unavailable;
        default: return status::bad_request;
    }
}

bool is_over_quota(const error& e) noexcept {
    return e.code() == std::error_code(EDQUOT, std::generic_category());
}

/// Returns true for a failure of a call that the handler made as a client: nothing of it is the
/// fault of the one who sent the request.
bool is_of_client(const error& e) noexcept {
    return info_of(e) != nullptr;
}

/// Returns true for a status that the one who throws has chosen, as with `status_error`.
bool is_chosen(const error& e) noexcept {
    const std::error_category& category = e.code().category();
    return !is_of_client(e) && (category == status_category() || category == coding_category());
}

/// Reports a failure through the connection, or to the log of the loop if the request has no
/// connection.
void report(request& req, const std::exception_ptr& e, bool out_of_memory = false) {
    // The query may hold what is secret.
    const std::string_view path = req.target().substr(0, req.target().find('?'));
    const std::string reason = "a handler failed for " + std::string(req.method_text()) + ' ' +
                               std::string(path) + ": " + coracle::detail::describe_exception(e);
    if (req.exchange() != nullptr) {
        req.exchange()->report_failure(reason, out_of_memory);
    } else if (const loop* const here = loop::current()) {
        here->log().write(log_layer::http, log_level::error, reason);
    }
}

response response_to(request& req, const std::exception_ptr& e) {
    try {
        std::rethrow_exception(e);
    } catch (const status_error& x) {
        return error_response(req, x.code(), x.what());
    } catch (const exception& x) {
        const status code = status_of(x.error());
        if (is_server_error(code) && !is_chosen(x.error())) report(req, e);
        std::string reason = reason_of(x.error());
        if (!reason.empty()) reason += '\n';
        return error_response(req, code, reason);
    } catch (const std::bad_alloc&) {
        // Without memory the status is 503, because a later request may succeed.
        report(req, e, true);
        return error_response(req, status::service_unavailable);
    } catch (...) {
        report(req, e);
        return error_response(req, status::internal_server_error);
    }
}

}  // namespace

status status_of(const error& e) noexcept {
    if (is_of_client(e)) return status::internal_server_error;
    if (e.code().category() == status_category()) return static_cast<status>(e.code().value());
    if (e.code().category() == h1::parse_error_category()) {
        return h1::status_for(static_cast<h1::parse_error>(e.code().value()));
    }
    if (e.code().category() == coding_category()) {
        return status_of_coding(static_cast<coding_error>(e.code().value()));
    }
    if (e == std::errc::not_enough_memory) return status::service_unavailable;
    if (e.operation() == "body" && (e == std::errc::timed_out || e == errc::too_slow)) {
        return status::request_timeout;
    }
    if (e.operation() == "save" && (e == std::errc::no_space_on_device || is_over_quota(e))) {
        return status::insufficient_storage;
    }
    return status::internal_server_error;
}

std::string reason_of(const error& e) {
    if (is_of_client(e) || status_of(e) != status::bad_request) return {};
    if (e.operation() == "multipart") return std::string(e.subject());
    const std::error_category& category = e.code().category();
    const bool is_known = category == h1::parse_error_category() || category == coding_category();
    return e.operation() == "body" && is_known ? e.code().message() : std::string();
}

response failed_response(request& req, const std::exception_ptr& e) {
    response out = response_to(req, e);
    show_exception(req, e, out);
    add_transport_security(req, out);
    return out;
}

response last_failed_response(request& req, const std::exception_ptr& e) {
    response out = failed_response(req, e);
    if (out.body().type() != body::kind::empty) return out;
    response text = pageless_response(req, out.status());
    out.set_body(std::move(text.body()), text.default_type());
    return out;
}

}  // namespace coracle::http::detail
