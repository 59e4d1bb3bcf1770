#include "base/ascii.hpp"
#include "http/message/token.hpp"
#include "runtime/service.hpp"
#include "websocket/engine.hpp"
#include "websocket/handshake.hpp"

#include <coracle/http/response_info.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/websocket/connect.hpp>

#include <algorithm>
#include <vector>

namespace coracle::websocket {

namespace detail {

struct handshake_request {
    http::call call;
    websocket::options options;
    std::string subprotocols;
    unique_function<void(const http::response&)> on_accepted;
};

void handshake_deleter::operator()(handshake_request* r) const noexcept {
    delete r;
}

namespace {

std::string http_url(std::string_view url) {
    for (const auto& [ours, theirs] :
         {std::pair<std::string_view, std::string_view>("ws:", "http:"),
          std::pair<std::string_view, std::string_view>("wss:", "https:")}) {
        if (http::equal_ignoring_case(url.substr(0, ours.size()), ours)) {
            return std::string(theirs).append(url.substr(ours.size()));
        }
    }
    return std::string(url);
}

/// The response; the subject of the error shows its status already.
struct refusal_details final : error_details, refusal {
    void describe(std::string&) const override {}
};

/// Reads the first bytes of the body, as far as they come soon.
task<> read_beginning(http::response* r, std::string* text) {
    constexpr std::size_t most = 4096;
    while (text->size() < most) {
        auto reading = r->read();
        const auto piece = co_await as_result(reading);
        if (!piece || piece->empty()) break;
        *text += piece->substr(0, most - text->size());
    }
}

task<error> refused(http::response* r) {
    constexpr duration patience = std::chrono::seconds(1);
    auto details = std::make_shared<refusal_details>();
    details->status = r->status();
    details->fields = r->fields();
    auto reading = with_timeout(patience, read_beginning(r, &details->body));
    static_cast<void>(co_await as_result(reading));
    std::string what = std::to_string(static_cast<unsigned>(r->status()));
    what.append(" ").append(http::reason_phrase(r->status()));
    error e(make_error_code(fault::refused), "websocket connect", phase::first_byte);
    e.on(what).with(std::move(details));
    co_return e;
}

error no_handshake(std::string_view field) {
    error e(make_error_code(fault::bad_handshake), "websocket connect", phase::first_byte);
    return std::move(e.on(field));
}

/// The choices in the response to a handshake.
struct agreement {
    std::optional<deflate_agreement> deflate;
    std::string subprotocol;
};

bool is_offered(std::string_view chosen, std::string_view offers) {
    const std::vector<std::string> one(1, std::string(chosen));
    return !choose_subprotocol(offers, one).empty();
}

bool is_over_h2(const http::response& r) noexcept {
    return r.info() != nullptr && r.info()->version == http::version::http_2;
}

/// The switch of HTTP/1.1 (RFC 6455 section 4.1).
std::expected<void, error> check_upgrade(const http::response& r, std::string_view key) {
    const http::fields& f = r.fields();
    if (!f.has_token(http::field_id::connection, "upgrade")) {
        return std::unexpected(no_handshake("Connection"));
    }
    if (http::trim_ows(r.header("Sec-WebSocket-Accept")) != accept_of(key)) {
        return std::unexpected(no_handshake("Sec-WebSocket-Accept"));
    }
    return {};
}

/// RFC 6455 section 4.1: tokens, each once.
std::optional<error> fault_of(std::string_view subprotocols) {
    std::vector<std::string_view> names;
    while (!subprotocols.empty()) {
        const auto name = coracle::detail::trim_blanks(coracle::detail::take_item(subprotocols));
        if (!http::is_token(name) || std::ranges::find(names, name) != names.end()) {
            error e(std::errc::invalid_argument, "websocket");
            return std::move(e.on("the subprotocol '" + std::string(name) + "'"));
        }
        names.push_back(name);
    }
    return std::nullopt;
}

bool is_accepted(const http::response& r) noexcept {
    return is_over_h2(r) ? r.ok() : r.status() == http::status::switching_protocols;
}

/// The response to an extended CONNECT has no fields of the switch (RFC 8441 section 5).
std::expected<void, error> check_switch(const http::response& r, std::string_view key) {
    return is_over_h2(r) ? std::expected<void, error>() : check_upgrade(r, key);
}

std::expected<agreement, error> check(const http::response& r, const handshake_request& asked,
                                      std::string_view key) {
    if (auto switched = check_switch(r, key); !switched) {
        return std::unexpected(std::move(switched).error());
    }
    agreement a;
    a.subprotocol = joined(r.fields(), "Sec-WebSocket-Protocol");
    if (!a.subprotocol.empty() && !is_offered(a.subprotocol, asked.subprotocols)) {
        return std::unexpected(no_handshake("Sec-WebSocket-Protocol"));
    }
    const std::string extensions = joined(r.fields(), "Sec-WebSocket-Extensions");
    if (!read_deflate_choice(extensions, asked.options.compression, a.deflate)) {
        return std::unexpected(no_handshake("Sec-WebSocket-Extensions"));
    }
    return a;
}

/// Owns the stream of a client's connection until it has ended. Nothing is awaited before the
/// engine has begun.
void keep(const std::shared_ptr<engine>& e, http::detached_connection from) {
    auto life = [e, own = std::move(from)]() mutable -> task<> {
        e->begin(*own.stream, std::move(own.received));
        over_wait rest(*e);
        co_await rest;
        e->leave_loop();
        // A reset would take from the peer what it has not read yet.
        own.stream->close(e->is_cut_off());
    };
    coracle::detail::spawn_service(e->home(), std::move(life), "websocket");
}

task<std::expected<connection, error>> shake_hands(handshake_request* asked) {
    if (auto fault = fault_of(asked->subprotocols)) co_return std::unexpected(*std::move(fault));
    const auto* const here = &co_await coracle::detail::current_context();
    loop& home = here->owner();
    const std::string key = make_key(home.random(), home.random());
    http::call& call = asked->call;
    // Over HTTP/2 the call leaves the key out (RFC 8441 section 5).
    call.upgrade("websocket");
    call.header("Sec-WebSocket-Version", "13").header("Sec-WebSocket-Key", key);
    if (!asked->subprotocols.empty()) call.header("Sec-WebSocket-Protocol", asked->subprotocols);
    const std::string offer = offer_deflate(asked->options.compression);
    if (!offer.empty()) call.header("Sec-WebSocket-Extensions", offer);
    auto came = co_await as_result(std::move(call));
    const bool is_other = !came && came.error().operation() == "upgrade";
    if (is_other) co_return std::unexpected(no_handshake("Upgrade"));
    if (!came) co_return std::unexpected(std::move(came).error());
    if (!is_accepted(*came)) {
        auto refusing = refused(&*came);
        co_return std::unexpected(co_await std::move(refusing));
    }
    auto agreed = check(*came, *asked, key);
    if (!agreed) co_return std::unexpected(std::move(agreed).error());
    if (asked->on_accepted) asked->on_accepted(*came);
    auto left = came->detach();
    if (!left) co_return std::unexpected(no_handshake("no stream"));
    auto common = std::make_shared<settings>();
    common->options = asked->options;
    const auto e = std::make_shared<engine>(home, role::client, std::move(common), agreed->deflate,
                                            std::move(agreed->subprotocol));
    connection made(e, nullptr);
    keep(e, *std::move(left));
    co_return std::move(made);
}

}  // namespace

}  // namespace detail

connecting::connecting(http::client& client, std::string_view url)
    : request_(new detail::handshake_request{client.get(detail::http_url(url)), {}, {}, {}}) {}

connecting::connecting(connecting&&) noexcept = default;
connecting::~connecting() = default;

connecting& connecting::header(std::string_view name, std::string_view value) & {
    request_->call.header(name, value);
    return *this;
}

connecting& connecting::subprotocol(std::string_view name) & {
    if (!request_->subprotocols.empty()) request_->subprotocols += ", ";
    request_->subprotocols += name;
    return *this;
}

connecting& connecting::bearer(secret token) & {
    request_->call.bearer(std::move(token));
    return *this;
}

connecting& connecting::basic(std::string user, secret password) & {
    request_->call.basic(std::move(user), std::move(password));
    return *this;
}

connecting& connecting::timeout(duration limit) & {
    request_->call.timeout(limit);
    return *this;
}

connecting& connecting::compression(compression_mode mode) & {
    request_->options.compression.mode = mode;
    return *this;
}

connecting& connecting::options(const websocket::options& all) & {
    request_->options = all;
    return *this;
}

connecting& connecting::on_accepted(unique_function<void(const http::response&)> f) & {
    request_->on_accepted = std::move(f);
    return *this;
}

operation<connection>& connecting::begin() {
    running_.emplace(detail::shake_hands(request_.get()));
    if (gives_errors_) running_->give_errors();
    return *running_;
}

connecting connect(http::client& client, std::string_view url) {
    return {client, url};
}

const refusal* refusal_in(const error& e) noexcept {
    return dynamic_cast<const detail::refusal_details*>(e.details());
}

}  // namespace coracle::websocket
