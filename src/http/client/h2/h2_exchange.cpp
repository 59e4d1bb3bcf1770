#include "http/client/h2/h2_exchange.hpp"

#include "http/h2/moved_text.hpp"

#include <algorithm>
#include <cerrno>
#include <new>

namespace coracle::http::detail {
namespace {

/// A connection on which nothing has come while exchanges waited for so long, together, is suspect
/// when one of them is cancelled.
constexpr duration long_silence = std::chrono::seconds(1);

}  // namespace

void append_line(std::string& to, std::string_view name, std::string_view value) {
    to.append(name).append(": ").append(value).append("\r\n");
}

client_h2_exchange::client_h2_exchange(client_h2_connection& on, bool reused)
    : connection_(&on), begun_(on.stream().owner().now()), reused_(reused) {}

// ---- the response as it comes

namespace {

const char* name_of(h2::head_fault limit) noexcept {
    switch (limit) {
        case h2::head_fault::too_many_fields: return "client_options::field_limit";
        case h2::head_fault::too_many_interim: return "client_options::interim_limit";
        default: return "client_options::head_limit";
    }
}

error limit_error(h2::head_fault limit) {
    return std::move(error(errc::limit_exceeded, "response").on(name_of(limit)));
}

}  // namespace

/// The session fails the stream next, for this reason.
void client_h2_exchange::head_too_large(h2::head_fault limit) {
    if (!failure_) failure_ = limit_error(limit);
}

void client_h2_exchange::head_came(const h2::head& message, bool end) {
    if (released_) return;
    std::size_t size = 16;
    for (const field& f : message.fields) size += f.name.size() + f.value.size() + 4;
    received_ += size;
    if (logs_) {
        response_text_ = "HTTP/2 " + std::to_string(message.code) + "\r\n";
        for (const field& f : message.fields) append_line(response_text_, f.name, f.value);
    }
    if (message.code < 200) {
        interim& said = interim_.emplace_back(interim{message.code, {}});
        h2::moved_text(message, said.fields.memory()).give_lines(said.fields, message.fields);
        wake_reader();
        return;
    }
    if (size > head_limit_ || message.fields.size() > field_limit_) {
        connection_->session().reset(*this, h2::error_code::cancel);
        failed(limit_error(size > head_limit_ ? h2::head_fault::too_large
                                              : h2::head_fault::too_many_fields),
               false);
        return;
    }
    start_.code = message.code;
    start_.version = version::http_2;
    start_.has_content_length = message.has_content_length;
    start_.content_length = message.content_length;
    const bool has_none = is_head_ || message.code == 204 || message.code == 304;
    start_.has_body = !end && !has_none;
    // The bytes that follow belong to the other protocol (RFC 8441 section 5).
    const bool tunnels = asks_for_tunnel_ && message.code / 100 == 2;
    if (tunnels) start_.has_content_length = start_.has_body = false;
    start_.size = size;
    h2::moved_text(message, fields_.memory()).give_lines(fields_, message.fields);
    if (tunnels) {
        tunnel_ = std::make_unique<client_h2_tunnel>(*this, connection_->stream().owner(),
                                                     connection_->stream().peer(),
                                                     h2::received_content(), end);
    }
    head_there_ = true;
    wake_reader();
}

void client_h2_exchange::data_came(std::string_view piece) {
    if (released_) return;
    received_ += piece.size();
    if (tunnel_ != nullptr) {
        tunnel_->bytes().received(piece, connection_->block_in_hand());
        return;
    }
    content_.add(piece, connection_->block_in_hand());
    wake_reader();
}

void client_h2_exchange::end_came(const h2::head* trailers) {
    received_end_ = true;
    if (tunnel_ != nullptr) tunnel_->bytes().input_ended();
    if (trailers != nullptr && !trailers->fields.empty() && !released_) {
        trailers_ = std::make_unique<http::fields>();
        trailers_->append(trailers->fields);
    }
    wake_reader();
}

void client_h2_exchange::failed(error why, bool refused) noexcept {
    upload_over_ = true;
    // The connection that is lost next takes none of it back.
    refused_ = refused_ || refused;
    // A server with a complete response may not want the rest of the request (RFC 9113 section
    // 8.1).
    if (!failure_ && !received_end_) failure_ = std::move(why);
    if (refused && !released_) connection_->refuses_more();
    if (tunnel_ != nullptr) {
        tunnel_->bytes().lost(ECONNRESET);
        tunnel_->settle_later();
    }
    wake_reader();
    wake_sender();
    destroy_if_free();
}

void client_h2_exchange::stream_closed() noexcept {
    if (tunnel_ != nullptr) tunnel_->settle_later();
}

// ---- waiting

bool client_h2_exchange::has_news() const noexcept {
    if (!begun_request_) {
        return (connection_->knows_settings() && may_begin()) || failure_.has_value();
    }
    if (watches_upload_) return upload_over_;
    if (failure_.has_value() || received_end_) return true;
    return head_taken_ ? !content_.empty() : head_there_ || !interim_.empty();
}

/// On a connection that is no longer usable `begin` fails.
bool client_h2_exchange::may_begin() const noexcept {
    return connection_->session().has_place() || !connection_->usable();
}

bool client_h2_exchange::start_wait(exchange_wait& w) noexcept {
    // A wait for more of the body may begin after its end has come, and is over then.
    watches_upload_ = w.most() == 0 && head_taken_ && body_ended();
    if (has_news()) return true;
    if (!begun_request_) connection_->wants_place();
    reader_ = &w;
    return false;
}

void client_h2_exchange::cancel_wait(exchange_wait& w) noexcept {
    if (reader_ != &w) return;  // it is being resumed already
    reader_ = nullptr;
    w.give_up();
}

std::expected<void, error> client_h2_exchange::result_of(exchange_wait&) {
    if (!begun_request_ && !failure_) return {};
    const bool has_some = head_taken_ ? !content_.empty() : head_there_ || !interim_.empty();
    if (has_some || received_end_) return {};
    return std::unexpected(*failure_);
}

void client_h2_exchange::wake_reader() noexcept {
    if (reader_ != nullptr && has_news()) std::exchange(reader_, nullptr)->ready();
}

// ---- the response as it is read

head_state client_h2_exchange::read_head(response_start& start, http::fields* of_interim) {
    if (!interim_.empty()) {
        start = {};
        start.code = interim_.front().code;
        if (of_interim != nullptr) *of_interim = std::move(interim_.front().fields);
        interim_.erase(interim_.begin());
        return head_state::interim;
    }
    if (!head_there_) return head_state::partial;
    start = start_;
    return head_state::final;
}

error client_h2_exchange::head_error() const {
    return failure_ ? *failure_ : error(errc::protocol_error, "response");
}

void client_h2_exchange::take_fields(http::fields& to) {
    to = std::move(fields_);
    head_taken_ = true;
}

std::optional<std::string_view> client_h2_exchange::take_whole_body(std::uint64_t most) noexcept {
    if (!received_end_ || trailers_ != nullptr || content_.size() > most) return std::nullopt;
    if (content_.empty()) return std::string_view();
    if (content_.is_one_piece()) return content_.next();
    if (!collected_.try_obtain(content_.size())) return std::nullopt;
    while (!content_.empty()) {
        collected_.append(content_.next());
        consumed(content_.done());
    }
    return collected_.view();
}

/// Counts read bytes as consumed, which reopens the window of the peer.
void client_h2_exchange::give_back(std::size_t bytes) {
    // Not for a lost connection, or after the end of its loop.
    if (bytes == 0 || is_lost()) return;
    connection_->session().consume(*this, bytes, connection_->now());
    connection_->wake_writer();
}

std::expected<std::string_view, error> client_h2_exchange::read_body() {
    give_back(content_.done());
    if (content_.empty()) return std::string_view();
    const std::string_view piece = content_.next();
    body_read_ += piece.size();
    return piece;
}

std::optional<std::uint64_t> client_h2_exchange::body_left() const noexcept {
    // Unknown before trailers: a message that announces its length cannot pass them on.
    if (received_end_ && trailers_ == nullptr) return content_.size();
    if (!start_.has_body) return 0;
    if (!start_.has_content_length) return std::nullopt;
    return start_.content_length - std::min(start_.content_length, body_read_);
}

// ---- its end

void client_h2_exchange::release(fate) noexcept {
    if (released_) return;
    client_h2_connection& c = *connection_;
    const bool after_silence = !failure_ && !received_end_ && c.alive() &&
                               c.received_at() <= begun_ && c.silence() >= long_silence;
    released_ = true;
    const bool forgotten = forget_stream();
    const bool is_free = !sending();
    c.ended(*this, after_silence, forgotten);
    if (is_free) delete this;
}

/// Removes the stream from the session, also for a lost connection. Returns false if there was no
/// memory for a RST_STREAM.
bool client_h2_exchange::forget_stream() noexcept {
    const std::size_t dropped = content_.clear();
    try {
        if (over()) {
            give_back(dropped);
        } else {
            connection_->gave_up();
            connection_->session().reset(*this, h2::error_code::cancel);
        }
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

bool client_h2_exchange::needs_http_1() const noexcept {
    return failure_.has_value() &&
           failure_->code() == make_error_code(h2::error_code::http_1_1_required);
}

bool client_h2_exchange::replace() noexcept {
    release(fate::unused);
    return false;
}

// ---- another protocol's

upgrade_offer client_h2_exchange::offers_upgrade() const noexcept {
    // A lost connection fails in `begin`.
    if (!connection_->usable()) return upgrade_offer::yes;
    if (!connection_->knows_settings()) return upgrade_offer::unknown;
    return connection_->session().peer().extended_connect ? upgrade_offer::yes : upgrade_offer::no;
}

std::unique_ptr<net::byte_stream> client_h2_exchange::detach(buffer&, client_shard& of) noexcept {
    return tunnel_->give(of);
}

bool client_h2_exchange::carry(std::span<const std::string_view> pieces, bool end) noexcept {
    if (is_lost() || !connection_->session().send_data(*this, pieces, end)) return false;
    connection_->wake_writer();
    return true;
}

std::uint64_t client_h2_exchange::peer_takes() const noexcept {
    return connection_->session().peer_takes(*this);
}

void client_h2_exchange::consumed(std::size_t bytes) noexcept {
    try {
        give_back(bytes);
    } catch (const std::bad_alloc&) {
        connection_->lose_without_memory();
    }
}

void client_h2_exchange::cut_stream() noexcept {
    if (over()) return;
    if (!forget_stream()) connection_->lose_without_memory();
    connection_->wake_writer();
    tunnel_->bytes().lost(ECONNRESET);
}

/// Destroys a released exchange once the session no longer refers to it.
void client_h2_exchange::destroy_if_free() noexcept {
    if (released_ && !sending()) delete this;
}

}  // namespace coracle::http::detail
