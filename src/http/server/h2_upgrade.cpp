// The switch of an HTTP/2 stream to another protocol (RFC 8441).

#include "http/exchange/failure.hpp"
#include "http/exchange/guarded_call.hpp"
#include "http/exchange/replace_response.hpp"
#include "http/exchange/upgrade_offer.hpp"
#include "http/server/h2_connection.hpp"

namespace coracle::http::detail {

/// Makes an extended CONNECT look like a GET with Upgrade, its counterpart in HTTP/1.1 (RFC 8441
/// section 5), so that routes and handlers do not depend on the version. A client of HTTP/2 cannot
/// send these fields itself (RFC 9113 section 8.2.2).
void h2_stream::note_offer(std::string_view protocol, fields& to) {
    to.add("connection", "upgrade");
    to.add("upgrade", protocol);
}

/// A client that requested a tunnel takes any 2xx for a tunnel (RFC 9110 section 9.3.6).
void h2_stream::check_response(exchange& e) {
    if (!asks_for_tunnel_ || !e.res.ok() || e.res.upgrade() != nullptr) return;
    response refusal(status::not_implemented, "not to be had by another protocol\n");
    replace_response(e.res, std::move(refusal));
}

task<bool> h2_stream::switch_protocols(exchange& e) {
    if (!offers_upgrade(e.req, e.res.header("Upgrade"))) {
        // HTTP/2 has no Upgrade, so a 426 would be wrong (RFC 9113 section 8.6).
        response refusal(status::not_implemented,
                         "only for an extended CONNECT (RFC 8441), or Upgrade of HTTP/1.1\n");
        replace_response(e.res, std::move(refusal));
        co_return co_await send_bytes(e);
    }
    if (lost_) co_return false;
    tunnel_carrier& self = *this;
    tunnel_ = std::make_unique<h2_tunnel>(self, owner().owner(), client_address(),
                                          std::move(content_), ended_);
    e.res.set_status(status::ok);
    send_response_head(std::nullopt, false);
    co_return co_await run_tunnel(e);
}

task<bool> h2_stream::run_tunnel(exchange& e) {
    const gauge_entry switched(owner().counters(), gauge_of(e.res.header("Upgrade")));
    e.res.fields() = {};  // they were sent, and a tunnel may live for days
    upgraded_connection upgraded{*tunnel_, buffer(), &owner().drain_of_upgraded()};
    guarded_call<void> call((*e.res.upgrade())(upgraded), running());
    co_await call;
    // Bytes received from now on are dropped.
    refused_ = true;
    const auto thrown = call.exception();
    if (thrown != nullptr) e.res = failed_response(e.req, thrown);
    tunnel_->close(thrown != nullptr || call.was_stopped());
    end_request();
    // A client that takes nothing more must not keep the stream.
    if (!lost_ && sending()) begin_write(unsent());
    co_return !call.was_stopped();
}

std::uint64_t h2_stream::peer_takes() const noexcept {
    return home_->session().peer_takes(*this);
}

bool h2_stream::carry(std::span<const std::string_view> pieces, bool end) noexcept {
    if (lost_ || !home_->session().send_data(*this, pieces, end)) return false;
    home_->schedule_flush();
    return true;
}

void h2_stream::cut_tunnel() noexcept {
    if (!stream::over()) reset(h2::error_code::cancel);
}

}  // namespace coracle::http::detail
