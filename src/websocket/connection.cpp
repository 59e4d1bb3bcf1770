#include "websocket/codec/utf8.hpp"
#include "websocket/engine.hpp"

#include <coracle/runtime/on.hpp>
#include <coracle/websocket/connection.hpp>

#include <cassert>

namespace coracle::websocket {

namespace detail {

// ---- message_receive, piece_receive

bool message_receive::start() noexcept {
    return may_begin() && engine_->want(engine::wanted::message, *this);
}

void message_receive::cancel() noexcept {
    if (withdrawn_before_start()) return;
    // The message stays in the engine, also for one that is about to resume.
    mark_cancelled();
    if (engine_->forget(*this)) owner().enqueue(*this);
}

std::expected<std::optional<message>, error> message_receive::result() {
    return engine_->take_message();
}

bool piece_receive::start() noexcept {
    return may_begin() && engine_->want(engine::wanted::piece, *this);
}

void piece_receive::cancel() noexcept {
    if (withdrawn_before_start()) return;
    // The message stays in the engine, also for one that is about to resume.
    mark_cancelled();
    if (engine_->forget(*this)) owner().enqueue(*this);
}

std::expected<std::optional<piece>, error> piece_receive::result() {
    return engine_->take_piece();
}

// ---- message_send

bool message_send::start() noexcept {
    assert((what != kind::message || type != message_type::text || is_utf8(payload)) &&
           "a text message is UTF-8");
    if (!may_begin()) return false;
    queued_ = !engine_->submit(*this);
    return !queued_;
}

void message_send::cancel() noexcept {
    if (withdrawn_before_start() || !queued_) return;
    queued_ = false;
    engine_->withdraw(*this);
    mark_cancelled();
    owner().enqueue(*this);
}

void message_send::done() noexcept {
    queued_ = false;
    owner().hand_over(*this);
}

std::expected<void, error> message_send::result() {
    if (!failed) return {};
    return std::unexpected(error(std::errc::broken_pipe, name, phase::send));
}

// ---- ping_wait

bool ping_wait::start() noexcept {
    failed_ = !engine_->is_open();
    if (failed_) return true;
    engine_->ping(*this);
    return false;
}

void ping_wait::cancel() noexcept {
    if (!waiting_) return;
    waiting_ = false;
    static_cast<coracle::detail::runnable&>(*this).unlink();
    mark_cancelled();
    owner().enqueue(*this);
}

std::expected<duration, error> ping_wait::result() {
    if (!failed_) return took_;
    if (engine_->failure().code()) return std::unexpected(engine_->failure());
    return std::unexpected(error(std::errc::broken_pipe, name));
}

namespace {

task<std::expected<message_writer, error>> begin_stream(
    engine* e, message_writer (*make)(engine&, message_type, compress), message_type type,
    compress c) {
    message_send turn(*e, outgoing::kind::opening, type, {}, c);
    auto began = co_await as_result(turn);
    if (!began) co_return std::unexpected(std::move(began).error());
    co_return make(*e, type, c);
}

task<std::expected<void, error>> close_and_wait(engine* e, close_code c, std::string reason) {
    if (!may_be_sent(c)) {
        co_return std::unexpected(error(std::errc::invalid_argument, "websocket close"));
    }
    e->close(c, reason);
    auto ended = e->finished();
    co_return co_await as_result(ended);
}

task<std::expected<close_status, error>> wait_for_end(engine* e) {
    auto ended = e->finished();
    auto waited = co_await as_result(ended);
    if (!waited) co_return std::unexpected(std::move(waited).error());
    co_return e->status();
}

}  // namespace

}  // namespace detail

using detail::engine;

// ---- connection

connection::connection(std::shared_ptr<detail::engine> e, http::request* r) noexcept
    : engine_(std::move(e)), request_(r) {}

connection::connection(connection&&) noexcept = default;

connection& connection::operator=(connection&& other) noexcept {
    if (this != &other) {
        if (engine_ != nullptr) engine_->close(close_code::going_away, {});
        engine_ = std::move(other.engine_);
        request_ = other.request_;
    }
    return *this;
}

connection::~connection() {
    if (engine_ != nullptr) engine_->close(close_code::going_away, {});
}

bool connection::try_send(message_type type, std::string_view bytes, compress c) noexcept {
    return engine_->try_send(type, bytes, c);
}

operation<message_writer> connection::stream(message_type type, compress c) {
    const auto make = [](detail::engine& e, message_type t, compress how) {
        return message_writer(e, t, how);
    };
    return detail::begin_stream(engine_.get(), make, type, c);
}

duration connection::round_trip() const noexcept {
    return engine_->round_trip();
}

operation<void> connection::close(close_code c, std::string_view reason) {
    return detail::close_and_wait(engine_.get(), c, std::string(reason));
}

operation<close_status> connection::closed() {
    return detail::wait_for_end(engine_.get());
}

bool connection::is_open() const noexcept {
    return engine_->is_open();
}

const close_status& connection::status() const noexcept {
    return engine_->status();
}

std::string_view connection::subprotocol() const noexcept {
    return engine_->subprotocol();
}

bool connection::is_compressed() const noexcept {
    return engine_->is_compressed();
}

const net::address& connection::peer() const noexcept {
    return engine_->peer();
}

std::size_t connection::unsent() const noexcept {
    return engine_->unsent();
}

sender connection::sender() const noexcept {
    return websocket::sender(engine_);
}

// ---- message_writer

message_writer::message_writer(engine& e, message_type t, compress c) noexcept
    : engine_(&e), type_(t), compression_(c), number_(e.streams_begun()) {}

message_writer::message_writer(message_writer&& other) noexcept
    : engine_(std::exchange(other.engine_, nullptr)), type_(other.type_),
      compression_(other.compression_), number_(other.number_) {}

message_writer::~message_writer() {
    // Another message may be written in pieces by now.
    if (engine_ != nullptr && engine_->streams_begun() == number_) engine_->abandon_stream();
}

// ---- sender

namespace {

/// A message that came from another thread, until it is in the output.
class delivered final : public detail::outgoing {
public:
    delivered(std::shared_ptr<engine> e, message_type t, std::string bytes)
        : outgoing(kind::message, t, compress::automatic, {}), engine_(std::move(e)),
          bytes_(std::move(bytes)) {
        payload = bytes_;
    }
    static void submit(std::unique_ptr<delivered> d) noexcept {
        delivered& one = *d.release();
        if (one.engine_->submit(one)) one.done();
    }
    void done() noexcept override {
        engine_->release_handed_over(bytes_.size());
        delete this;
    }

private:
    std::shared_ptr<engine> engine_;
    std::string bytes_;
};

}  // namespace

task<std::expected<void, error>> sender::send_there(std::shared_ptr<detail::engine> e,
                                                    message_type type, std::string bytes) {
    const auto send_here = [&e, type, &bytes]() -> task<std::expected<void, error>> {
        detail::message_send one(*e, detail::outgoing::kind::message, type, bytes);
        co_return co_await as_result(one);
    };
    if (loop::current() == &e->home()) co_return co_await send_here();
    if (!e->is_open()) {
        co_return std::unexpected(error(std::errc::broken_pipe, "websocket send", phase::send));
    }
    auto sent = co_await as_result(on(e->home(), send_here));
    if (!sent) co_return std::unexpected(std::move(sent).error());
    co_return *std::move(sent);
}

operation<void> sender::send(message_type type, std::string bytes) const {
    return send_there(engine_, type, std::move(bytes));
}

bool sender::try_send(message_type type, std::string_view bytes) const {
    loop& home = engine_->home();
    if (loop::current() == &home) return engine_->try_send(type, bytes, compress::automatic);
    if (!engine_->is_open() || !engine_->reserve_handed_over(bytes.size())) return false;
    try {
        auto one = std::make_unique<delivered>(engine_, type, std::string(bytes));
        const bool posted =
            home.post([d = std::move(one)]() mutable noexcept { delivered::submit(std::move(d)); });
        if (posted) return true;
    } catch (...) {
        engine_->release_handed_over(bytes.size());
        throw;
    }
    engine_->release_handed_over(bytes.size());
    return false;
}

void sender::close(close_code c, std::string_view reason) const {
    if (!may_be_sent(c)) throw_exception(error(std::errc::invalid_argument, "websocket close"));
    if (!engine_->is_open()) return;
    engine_->home().post([e = engine_, c, text = std::string(reason)] { e->close(c, text); });
}

bool sender::is_open() const noexcept {
    return engine_->is_open();
}

}  // namespace coracle::websocket
