#pragma once

#include "http/h2/session.hpp"

#include <coracle/net/listener.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/when_any.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::testing {

class h2_script_connection;

/// A request that an `h2_script_server` has received, and what it is to be told.
class h2_script_stream final : public http::h2::stream {
public:
    std::string method;
    std::string path;
    std::string authority;
    std::string protocol;  ///< of an extended CONNECT
    std::map<std::string, std::string> fields;
    std::map<std::string, std::string> trailers;
    std::string body;
    bool complete = false;
    /// How it ended before its time.
    std::optional<http::h2::error_code> reset_by_client;

private:
    friend class h2_script_connection;
    std::string sending_;
    std::string_view piece_;
    std::function<void()> then_;
};

/// One connection of an `h2_script_server`.
class h2_script_connection final : public http::h2::session_events {
public:
    using handler = std::function<void(h2_script_connection&, h2_script_stream&)>;

    h2_script_connection(std::unique_ptr<net::byte_stream> s, const http::h2_limits& limits,
                         const handler& on_head, const handler& on_end, bool tunnels)
        : stream_(std::move(s)), session_(http::h2::role::server, *this, limits, tunnels),
          on_head_(on_head), on_end_(on_end) {}

    http::h2::session& session() noexcept { return session_; }

    /// Sends a head, and a body when there is one or `end` is not set.
    void respond(h2_script_stream& s, unsigned code, const std::vector<http::field>& fields,
                 std::string body = {}, bool end = true) {
        const std::string status = std::to_string(code);
        const http::field control[] = {{":status", status}};
        session_.send_head(s, control, fields, end && body.empty());
        if (!body.empty()) send(s, std::move(body), end);
        wake();
    }
    void respond(h2_script_stream& s, std::string body) { respond(s, 200, {}, std::move(body)); }
    void send(h2_script_stream& s, std::string body, bool end, std::function<void()> then = {}) {
        s.sending_ = std::move(body);
        s.piece_ = s.sending_;
        s.then_ = std::move(then);
        static_cast<void>(session_.send_data(s, {&s.piece_, 1}, end));
        wake();
    }
    void send_trailers(h2_script_stream& s, const std::vector<http::field>& fields) {
        session_.send_head(s, {}, fields, true);
        wake();
    }
    void reset(h2_script_stream& s, http::h2::error_code code) {
        session_.reset(s, code);
        wake();
    }
    /// Bytes as they are, behind what the session has to say.
    void send_raw(std::string bytes) {
        raw_ += bytes;
        wake();
    }
    void goaway(std::uint32_t last, http::h2::error_code code) {
        std::string frame("\0\0\x08\x07\0\0\0\0\0", 9);
        for (const std::uint32_t n : {last, static_cast<std::uint32_t>(code)}) {
            for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(n >> shift);
        }
        send_raw(std::move(frame));
    }
    /// Closes behind what was sent.
    void close() {
        closing_ = true;
        wake();
    }
    void wake() noexcept { work_.set(); }

    std::vector<std::unique_ptr<h2_script_stream>> streams;
    std::optional<http::h2::error_code> said_goodbye;  ///< by GOAWAY

    task<> run() {
        auto both = when_any(read(), write());
        static_cast<void>(co_await std::move(both));
        stream_->close();
    }

private:
    http::h2::instant now() const noexcept {
        return std::chrono::duration_cast<http::h2::instant>(
            loop::current()->now().time_since_epoch());
    }
    task<int> read() {
        for (;;) {
            net::receive receiving = stream_->receive();
            auto got = co_await as_result(receiving);
            if (!got) co_return 0;
            ++blocks;
            if (falls_silent) continue;
            session_.receive(got->view(), now());
            wake();
        }
    }
    task<int> write() {
        for (;;) {
            while (session_.wants_to_write() || !raw_.empty()) {
                std::vector<std::string_view> views;
                session_.gather(16 * 1024, views);
                std::string all;
                for (const std::string_view v : views) all += v;
                all += std::exchange(raw_, {});
                auto sent = co_await as_result(stream_->send(std::string_view(all)));
                session_.written();
                if (!sent) co_return 0;
            }
            if (closing_ || session_.failure()) co_return 0;
            work_.reset();
            auto waiting = work_.wait();
            co_await waiting;
        }
    }

    http::h2::stream* open() override {
        streams.push_back(std::make_unique<h2_script_stream>());
        return streams.back().get();
    }
    void head_received(http::h2::stream& s, const http::h2::head& message, bool) override {
        auto& r = static_cast<h2_script_stream&>(s);
        r.method = message.method_text;
        r.path = message.path;
        r.authority = message.authority;
        r.protocol = message.protocol;
        for (const http::field& f : message.fields) r.fields[std::string(f.name)] = f.value;
        if (on_head_) on_head_(*this, r);
    }
    void head_too_large(http::h2::stream&, http::h2::head_fault) override {}
    void data_received(http::h2::stream& s, std::string_view piece) override {
        static_cast<h2_script_stream&>(s).body += piece;
        if (consumes) session_.consume(s, piece.size(), now());
    }
    void end_received(http::h2::stream& s, const http::h2::head* trailers) override {
        auto& r = static_cast<h2_script_stream&>(s);
        r.complete = true;
        if (trailers != nullptr) {
            for (const http::field& f : trailers->fields) r.trailers[std::string(f.name)] = f.value;
        }
        if (on_end_) on_end_(*this, r);
    }
    void sent(http::h2::stream& s) override {
        auto& r = static_cast<h2_script_stream&>(s);
        if (r.then_) std::exchange(r.then_, {})();
    }
    void closed(http::h2::stream&) override {}
    void failed(http::h2::stream& s, http::h2::error_code code, bool by_peer) override {
        if (by_peer) static_cast<h2_script_stream&>(s).reset_by_client = code;
    }
    void settings_received(const http::h2::peer_settings&) override {}
    void goaway_received(std::uint32_t, http::h2::error_code code, std::string_view) override {
        said_goodbye = code;
    }
    void pong_received(std::uint64_t) override {}
    void limit_reached(http::h2::limit_kind) override {}

public:
    bool consumes = true;  ///< gives back the windows of what it receives
    /// From now on it hears nothing and says nothing.
    bool falls_silent = false;
    unsigned blocks = 0;  ///< of bytes that have come

private:
    std::unique_ptr<net::byte_stream> stream_;
    http::h2::session session_;
    const handler& on_head_;
    const handler& on_end_;
    event work_;
    std::string raw_;
    bool closing_ = false;
};

/// A server of HTTP/2 without TLS on a loop of the test's, of which the test decides each step.
class h2_script_server {
public:
    http::h2_limits limits;
    bool tunnels = true;                    ///< offers the extended CONNECT of RFC 8441
    h2_script_connection::handler on_head;  ///< when the head of a request has come
    h2_script_connection::handler on_end;   ///< when all of it has
    std::vector<std::unique_ptr<h2_script_connection>> connections;

    h2_script_server()
        : listener_(
              net::listener::open(*loop::current(), net::address::parse("127.0.0.1:0").value())
                  .value()) {}

    std::string url(std::string_view target = "/") const {
        return "http://" + listener_.local().to_string() + std::string(target);
    }
    /// Accepts and serves until it is cancelled.
    task<> serve(task_group& group) {
        for (;;) {
            std::unique_ptr<net::byte_stream> s = co_await listener_.accept();
            connections.push_back(std::make_unique<h2_script_connection>(std::move(s), limits,
                                                                         on_head, on_end, tunnels));
            h2_script_connection* const c = connections.back().get();
            group.spawn([c] { return c->run(); });
        }
    }

private:
    net::listener listener_;
};

}  // namespace coracle::testing
