// Sending a request over HTTP/2: its head, and its body within the windows of the peer.

#include "base/ascii.hpp"
#include "http/client/h2/h2_exchange.hpp"
#include "http/message/token.hpp"
#include "http/read_file_piece.hpp"

#include <algorithm>
#include <charconv>

namespace coracle::http::detail {
namespace {

/// The most content passed to the session at once. It is copied, because a cancelled task frees its
/// bytes while frames that refer to them may be in a write.
constexpr std::size_t step = 64 * 1024;

/// Returns true for a TE that accepts trailers: over HTTP/2 it may say nothing else (RFC 9113
/// section 8.2.2).
bool accepts_trailers(std::string_view te) noexcept {
    while (!te.empty()) {
        if (equal_ignoring_case(trim_ows(coracle::detail::take_item(te)), "trailers")) return true;
    }
    return false;
}

/// Collects the fields of a head in `to`.
class field_pen {
public:
    field_pen(std::vector<http::field>& to, bool tunnel) noexcept : fields_(to), tunnel_(tunnel) {
        to.clear();
    }
    void field(const http::field& f) {
        if (f.id == field_id::te) {
            if (accepts_trailers(f.value)) field(field_id::te, "trailers");
            return;
        }
        // Sec-WebSocket-Key is for HTTP/1.1 only (RFC 8441 section 5).
        if (!tunnel_ || f.id != field_id::sec_websocket_key) fields_.push_back(f);
    }
    void field(field_id name, std::string_view value) {
        fields_.push_back({to_string(name), value, name});
    }
    void length(std::uint64_t n) {
        char* const end = std::to_chars(length_.data(), length_.data() + length_.size(), n).ptr;
        field(field_id::content_length, {length_.data(), end});
    }
    const std::vector<http::field>& fields() const noexcept { return fields_; }

private:
    std::vector<http::field>& fields_;
    std::array<char, 20> length_{};
    bool tunnel_;
};

std::string_view authority_of(const outgoing_head& head) noexcept {
    if (head.has_own_host()) return head.call->fields.get(field_id::host);
    return head.to->authority();
}

error too_late() {
    return {std::errc::broken_pipe, "send", phase::send};
}

}  // namespace

bool h2_sending_wait::start() noexcept {
    if (!exchange_->sending() || exchange_->upload_over_) return true;
    exchange_->sender_ = this;
    return false;
}

void h2_sending_wait::cancel() noexcept {
    if (exchange_->sender_ != this) return;  // it is being resumed already
    exchange_->sender_ = nullptr;
    mark_cancelled();
    owner().enqueue(*this);
}

std::expected<void, error> h2_sending_wait::result() {
    if (!exchange_->upload_over_) return {};
    return std::unexpected(exchange_->failure_ ? *exchange_->failure_ : too_late());
}

void client_h2_exchange::wake_sender() noexcept {
    if (sender_ != nullptr) std::exchange(sender_, nullptr)->over();
}

void client_h2_exchange::content_sent() noexcept {
    if (tunnel_ != nullptr) {
        tunnel_->bytes().sent();
        tunnel_->settle_later();
    }
    wake_sender();
    destroy_if_free();
}

// The pseudo-fields (RFC 9113 section 8.3.1).
void client_h2_exchange::begin(const outgoing_head& head) {
    head_limit_ = head.options->head_limit;
    field_limit_ = head.options->field_limit;
    logs_ = head.options->verbose;
    is_head_ = head.method == "HEAD";
    begun_request_ = true;
    asks_for_tunnel_ = head.upgrades && head.call->more().may_be_tunnel;
    field_pen pen(connection_->head_lines(), asks_for_tunnel_);
    write_fields(pen, head);
    // An upgrade is an extended CONNECT (RFC 8441 section 4).
    const std::string_view protocol =
        asks_for_tunnel_ ? head.call->fields.get(field_id::upgrade) : std::string_view();
    const std::string_view method = asks_for_tunnel_ ? "CONNECT" : head.method;
    const std::array<http::field, 5> all{{{":method", method, field_id::other},
                                          {":scheme", head.to->scheme(), field_id::other},
                                          {":authority", authority_of(head), field_id::other},
                                          {":path", head.to->target(), field_id::other},
                                          {":protocol", protocol, field_id::other}}};
    const std::span<const http::field> control(all.data(), asks_for_tunnel_ ? 5 : 4);
    for (const http::field& f : control) sent_ += f.name.size() + f.value.size();
    for (const http::field& f : pen.fields()) sent_ += f.name.size() + f.value.size();
    if (logs_) {
        request_text_.append(method).append(" ").append(head.to->target());
        request_text_.append(" HTTP/2\r\nhost: ").append(control[2].value).append("\r\n");
        if (asks_for_tunnel_) append_line(request_text_, ":protocol", protocol);
        for (const http::field& f : pen.fields()) append_line(request_text_, f.name, f.value);
    }
    ended_ = !head.has_body;
    h2::session& session = connection_->session();
    if (head.upgrades != asks_for_tunnel_ || !head.tunnel().empty()) {
        sent_ = 0;
        ended_ = upload_over_ = true;
        failure_ = error(std::errc::operation_not_supported, "HTTP/2");
        return;
    }
    if (!connection_->usable() ||
        !session.open(*this, control, pen.fields(), !head.has_body && !asks_for_tunnel_)) {
        // The peer has reduced its limit since the place was granted.
        sent_ = 0;
        upload_over_ = true;
        failure_ =
            connection_->lost() ? *connection_->lost() : error(errc::shutting_down, "HTTP/2");
        return;
    }
    number_ = id();
    connection_->wake_writer();
}

bool client_h2_exchange::try_send(std::string_view body) {
    // If it cannot be sent, reading the response fails.
    if (ended_ || upload_over_) return true;
    out_.append(body);
    static_cast<void>(offer(true));
    return true;
}

/// Passes the content of `out_` to the session. Returns false if the stream is over.
bool client_h2_exchange::offer(bool end) {
    out_piece_ = out_.view();
    if (!connection_->session().send_data(*this, {&out_piece_, 1}, end)) return false;
    ended_ = end;
    sent_ += out_piece_.size();
    connection_->wake_writer();
    return true;
}

task<std::expected<void, error>> client_h2_exchange::flush() {
    if (failure_) co_return std::unexpected(*failure_);
    co_return std::expected<void, error>();
}

/// Sends the content of `out_` and waits until it was sent.
task<std::expected<void, error>> client_h2_exchange::send_taken(bool end) {
    if (!offer(end)) co_return std::unexpected(too_late());
    h2_sending_wait waiting(*this);
    co_return co_await as_result(waiting);
}

task<std::expected<void, error>> client_h2_exchange::send(std::string_view piece, follows next) {
    while (!piece.empty()) {
        if (upload_over_) {
            co_return std::unexpected(failure_ ? *failure_ : too_late());
        }
        const std::string_view part = piece.substr(0, step);
        piece.remove_prefix(part.size());
        out_.clear();
        out_.append(part);
        const bool last = piece.empty() && next == follows::nothing;
        auto sent = co_await send_taken(last);
        if (!sent) co_return sent;
    }
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> client_h2_exchange::send_file(int fd, std::uint64_t offset,
                                                               std::uint64_t size, follows next) {
    while (size != 0) {
        if (upload_over_) {
            co_return std::unexpected(failure_ ? *failure_ : too_late());
        }
        out_.clear();
        out_.reserve_spare(step);
        const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, step));
        auto reading = read_file_piece(fd, offset, {out_.spare(), wanted}, "send_file");
        const auto n = co_await std::move(reading);
        if (!n) co_return std::unexpected(n.error());
        if (upload_over_) continue;
        out_.commit(*n);
        offset += *n;
        size -= *n;
        const bool last = size == 0 && next == follows::nothing;
        auto sent = co_await send_taken(last);
        if (!sent) co_return sent;
    }
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> client_h2_exchange::finish(const http::fields* trailers) {
    if (failure_) co_return std::unexpected(*failure_);
    if (ended_) co_return std::expected<void, error>();
    out_.release();
    if (trailers != nullptr) {
        if (upload_over_) co_return std::unexpected(too_late());
        send_trailers(*trailers);
    } else if (!offer(true)) {
        co_return std::unexpected(too_late());
    }
    co_return std::expected<void, error>();
}

void client_h2_exchange::send_trailers(const http::fields& trailers) {
    for (const http::field& f : trailers) sent_ += f.name.size() + f.value.size();
    connection_->session().send_head(*this, {}, {trailers.begin(), trailers.size()}, true);
    ended_ = true;
    connection_->wake_writer();
}

}  // namespace coracle::http::detail
