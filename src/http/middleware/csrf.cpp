#include "base/ascii.hpp"
#include "http/body/form_type.hpp"
#include "http/body/replayed_body.hpp"
#include "http/error_style.hpp"
#include "http/forwarded/origin.hpp"
#include "http/forwarded/own_origin.hpp"
#include "http/message/token.hpp"
#include "http/middleware/csrf_secret.hpp"
#include "http/middleware/keep_from_caches.hpp"
#include "http/middleware/random_bytes.hpp"

#include <coracle/http/extract.hpp>
#include <coracle/http/forwarded.hpp>
#include <coracle/http/middleware/csrf.hpp>
#include <coracle/http/middleware/sessions.hpp>
#include <coracle/http/middleware/signed_cookie.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/tls/hash.hpp>

#include <algorithm>
#include <utility>

namespace coracle::http {
namespace {

constexpr std::size_t secret_bytes = 16;

[[noreturn]] void refuse(std::string_view what) {
    error e(std::errc::invalid_argument, "csrf");
    throw_exception(std::move(e.on(what)));
}

bool is_safe(method m) noexcept {
    return m == method::get || m == method::head || m == method::options || m == method::trace;
}

/// The secret under another mask each time, behind the mask.
std::string masked(std::string_view bytes) {
    std::string all = detail::random_bytes(bytes.size());
    for (std::size_t i = 0; i != bytes.size(); ++i) all += static_cast<char>(all[i] ^ bytes[i]);
    return mime::base64_encode(all, mime::base64_alphabet::url);
}

bool unmasks_to(std::string_view token, std::string_view bytes) {
    if (token.size() > 4 * secret_bytes) return false;
    auto all = mime::base64_decode(token, mime::base64_alphabet::url);
    if (!all || all->size() != 2 * secret_bytes) return false;
    for (std::size_t i = 0; i != secret_bytes; ++i) {
        (*all)[i] = static_cast<char>((*all)[i] ^ (*all)[secret_bytes + i]);
    }
    return tls::equal_in_constant_time(std::string_view(*all).substr(0, secret_bytes), bytes);
}

/// The value of a field of the form that the request has; empty: there is none. Reads nothing that
/// is no form; a handler finds the form, and the body, again.
task<std::string> form_field_of(request* req, std::string_view name) {
    if (detail::kept_form(*req) == nullptr) {
        if (!detail::is_form(req->header(field_id::content_type))) co_return std::string();
        auto reading = req->body().text(form_limits().bytes);
        std::string text = co_await std::move(reading);
        auto& replayed = req->emplace_data<detail::replayed_body>(std::move(text), req->body());
        req->set_body(replayed.again());
        auto keeping = detail::keep_form(*req);
        const auto kept = co_await std::move(keeping);
        req->set_body(replayed.again());
        if (!kept) co_return std::string();
    }
    co_return std::string(detail::kept_form(*req)->get(name).value_or(""));
}

/// The token of one request, in its data.
struct token_state {
    const csrf::rules* of;
    std::string bytes;  ///< empty: none yet
    bool is_new = false;
};

}  // namespace

class csrf::rules {
public:
    explicit rules(csrf_options o) : options(std::move(o)) {
        for (const std::string& origin : options.origins) {
            if (!detail::is_origin(coracle::detail::lower(origin))) refuse(origin);
        }
        if (!is_token(options.field)) refuse("field");
        if (options.cookie.empty()) options.cookie = options.secure ? "__Host-csrf" : "csrf";
        if (options.token != csrf_token::cookie) return;
        signed_cookie_options c;
        c.lifetime = std::chrono::hours(24 * 400);
        c.secure = options.secure;
        c.http_only = false;  // scripts of the page send it back
        std::vector<secret> keys{options.key};
        cookie.emplace(options.cookie, std::move(keys), c);
    }

    /// Returns true where a page of this site, or of one that is trusted, made the request, or no
    /// page did.
    bool is_same_site(const request& req) const {
        const std::string_view site = req.header("Sec-Fetch-Site");
        const std::string_view origin = req.header("Origin");
        if (site == "same-origin" || site == "none") return true;
        if (!site.empty()) return is_trusted(origin);
        if (origin.empty()) return !options.strict;
        return detail::is_own_origin(origin, req) || is_trusted(origin);
    }

    bool is_trusted(std::string_view origin) const noexcept {
        return std::ranges::any_of(options.origins, [origin](const std::string& o) {
            return equal_ignoring_case(o, origin);
        });
    }

    /// Returns the secret that the client has; empty where it has none.
    std::string known(request& req) const {
        std::optional<std::string> bytes;
        if (cookie) bytes = cookie->read(req);
        if (options.token == csrf_token::session) {
            bytes = session::of(req).get<std::string>(detail::csrf_secret);
        }
        return bytes && bytes->size() == secret_bytes ? *std::move(bytes) : std::string();
    }

    csrf_options options;
    std::optional<signed_cookie> cookie;
};

csrf::csrf(csrf_options options) : rules_(std::make_shared<const rules>(std::move(options))) {}

task<bool> csrf::has_token(const rules* r, request* req) {
    const std::string& bytes = req->data<token_state>()->bytes;
    if (bytes.empty()) co_return false;
    std::string given(req->header(r->options.field));
    if (given.empty() && !r->options.form_field.empty()) {
        auto reading = form_field_of(req, r->options.form_field);
        given = co_await std::move(reading);
    }
    if (given.empty()) co_return false;
    const auto own = r->cookie ? req->cookie(r->options.cookie) : std::nullopt;
    co_return unmasks_to(given, bytes) || (own && tls::equal_in_constant_time(given, *own));
}

task<response> csrf::operator()(request& req, const handler& next) const {
    const rules* const r = rules_.get();
    const bool has_tokens = r->options.token != csrf_token::none;
    if (has_tokens) req.set_data(token_state{r, r->known(req)});
    if (!is_safe(req.method())) {
        bool is_good = r->is_same_site(req);
        if (is_good && has_tokens) {
            auto checking = has_token(r, &req);
            is_good = co_await std::move(checking);
        }
        if (!is_good) {
            co_return detail::error_response(req, status::forbidden,
                                             "The request comes from another site.\n");
        }
    }
    auto handling = next(req);
    response out = co_await std::move(handling);
    const token_state* const state = req.data<token_state>();
    if (r->cookie && state->is_new) {
        out.add_cookie(r->cookie->make(state->bytes));
        detail::keep_from_caches(out);
    }
    co_return out;
}

std::string csrf::token(request& req) {
    token_state* const state = req.data<token_state>();
    if (state == nullptr) refuse("no http::csrf with tokens around this handler");
    // A session forgets it when a user logs in or out.
    if (!state->of->cookie) state->bytes = state->of->known(req);
    if (state->bytes.empty()) {
        state->bytes = detail::random_bytes(secret_bytes);
        state->is_new = true;
        if (!state->of->cookie) session::of(req).set_bytes(detail::csrf_secret, state->bytes);
    }
    return masked(state->bytes);
}

}  // namespace coracle::http
