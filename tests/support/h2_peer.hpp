#pragma once

#include "http/h2/session.hpp"

#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/peer.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::testing {

/// One exchange of an `h2_peer`, as far as it has come.
struct h2_message : http::h2::stream {
    int status = 0;
    std::vector<int> interim;
    std::vector<std::pair<std::string, std::string>> fields;
    std::vector<std::pair<std::string, std::string>> trailers;
    std::string content;
    bool ended = false;  ///< the response is whole
    int endings = 0;     ///< times that the session said that the stream is over
    bool sent = true;    ///< what was given to `write` is out
    std::optional<http::h2::error_code> reset;
    bool consumes = true;  ///< gives the window back as content comes
    std::string to_send;
    std::array<std::string_view, 1> pieces;

    std::string_view field(std::string_view name) const {
        for (const auto& [n, v] : fields) {
            if (n == name) return v;
        }
        return {};
    }
    bool over() const { return ended || reset; }
};

/// A client of HTTP/2 that does what a test says, over a connection of it; it knows all that a
/// client knows (flow control, HPACK) and decides nothing.
class h2_peer final : http::h2::session_events {
public:
    using lines = std::vector<std::pair<std::string, std::string>>;

    explicit h2_peer(peer p, http::h2_limits limits = {})
        : limits_(limits), peer_(std::move(p)), session_(http::h2::role::client, *this, limits_) {}

    /// Opens a stream; what it sends leaves with the next `flush` or `until`.
    h2_message& request(std::string_view method, std::string_view path, const lines& more = {},
                        bool end = true) {
        auto& m = *messages_.emplace_back(std::make_unique<h2_message>());
        const http::field control[] = {
            {":method", method}, {":scheme", scheme}, {":path", path}, {":authority", host}};
        std::vector<http::field> fields;
        for (const auto& [n, v] : more) fields.push_back({n, v, http::find_field_id(n)});
        if (!session_.open(m, control, fields, end)) m.reset = http::h2::error_code::refused_stream;
        return m;
    }
    h2_message& get(std::string_view path, const lines& more = {}) {
        return request("GET", path, more);
    }
    h2_message& post(std::string_view path, std::string content, const lines& more = {}) {
        auto& m = request("POST", path, more, false);
        write(m, std::move(content), true);
        return m;
    }
    /// A CONNECT (RFC 9113 section 8.5).
    h2_message& tunnel(std::string_view authority) {
        auto& m = *messages_.emplace_back(std::make_unique<h2_message>());
        const http::field control[] = {{":method", "CONNECT"}, {":authority", authority}};
        if (!session_.open(m, control, {}, false)) m.reset = http::h2::error_code::refused_stream;
        return m;
    }
    /// An extended CONNECT (RFC 8441); what is sent to it is `write`.
    h2_message& connect(std::string_view protocol, std::string_view path, const lines& more = {},
                        bool end = false) {
        auto& m = *messages_.emplace_back(std::make_unique<h2_message>());
        const http::field control[] = {{":method", "CONNECT"},
                                       {":protocol", protocol},
                                       {":scheme", scheme},
                                       {":path", path},
                                       {":authority", "x"}};
        std::vector<http::field> fields;
        for (const auto& [n, v] : more) fields.push_back({n, v, http::find_field_id(n)});
        if (!session_.open(m, control, fields, end)) m.reset = http::h2::error_code::refused_stream;
        return m;
    }
    void write(h2_message& m, std::string content, bool end) {
        m.to_send = std::move(content);
        m.pieces[0] = m.to_send;
        m.sent = false;
        if (!session_.send_data(m, {m.pieces.data(), m.to_send.empty() ? 0U : 1U}, end)) {
            m.sent = true;
        }
    }
    void cancel(h2_message& m) {
        if (!m.http::h2::stream::over()) ++m.endings;
        session_.reset(m, http::h2::error_code::cancel);
        m.reset = http::h2::error_code::cancel;
    }
    http::h2::session& session() noexcept { return session_; }
    const std::vector<std::unique_ptr<h2_message>>& messages() const noexcept { return messages_; }

    /// Sends what there is to send, as long as the connection is there.
    task<> flush() {
        while (!closed_ && session_.wants_to_write()) {
            std::vector<std::string_view> views;
            session_.gather(1 << 20, views);
            std::string all;
            for (const std::string_view v : views) all += v;
            // A server may have fallen silent for good.
            const auto send = [&]() -> task<> { co_await peer_.stream().send(all); };
            const auto sent = co_await as_result(with_timeout(std::chrono::minutes(1), send));
            session_.written();
            closed_ = !sent;
        }
    }
    /// Sends and receives until `done()`, or the end of the connection: then false.
    template <class F>
    task<bool> until(F done) {
        for (;;) {
            co_await flush();
            if (done() || closed_) co_return done();
            auto came = co_await as_result(peer_.stream().receive());
            if (!came) {
                closed_ = true;
                co_return done();
            }
            session_.receive(came->view(), loop::current()->now().time_since_epoch());
        }
    }
    /// Sends and receives for so long, or until the end of the connection.
    task<> go_on_for(duration d) {
        loop& l = *loop::current();
        const time_point end = l.now() + d;
        while (!closed_ && l.now() < end) {
            co_await flush();
            buffer bytes;
            // Cancelled it loses nothing, which a send would.
            const auto receive = [&]() -> task<> { bytes = co_await peer_.stream().receive(); };
            auto came = co_await as_result(with_deadline(end, receive));
            if (came)
                session_.receive(bytes.view(), l.now().time_since_epoch());
            else
                closed_ = closed_ || came.error() != std::errc::timed_out;
        }
        co_await flush();
    }
    task<bool> until_over(const h2_message& m) {
        const auto over = [&m] { return m.over(); };
        co_return co_await until(over);
    }
    task<> until_closed() {
        const auto never = [] { return false; };
        co_await until(never);
    }

    peer& connection() noexcept { return peer_; }
    bool closed() const noexcept { return closed_; }
    /// The codes of the GOAWAYs that came, with the last streams that they name.
    const std::vector<std::pair<std::uint32_t, http::h2::error_code>>& goaways() const noexcept {
        return goaways_;
    }
    std::string_view scheme = "http";
    std::string_view host = "x";
    bool consumes = true;  ///< gives windows back as content comes, on all streams

private:
    static lines copy(const http::h2::head& h) {
        lines all;
        for (const http::field& f : h.fields) all.emplace_back(f.name, f.value);
        return all;
    }
    http::h2::stream* open() override { return nullptr; }
    void head_received(http::h2::stream& s, const http::h2::head& h, bool) override {
        auto& m = static_cast<h2_message&>(s);
        if (h.code < 200) {
            m.interim.push_back(h.code);
            return;
        }
        m.status = h.code;
        m.fields = copy(h);
    }
    void head_too_large(http::h2::stream&, http::h2::head_fault) override {}
    void data_received(http::h2::stream& s, std::string_view piece) override {
        auto& m = static_cast<h2_message&>(s);
        m.content += piece;
        if (consumes && m.consumes) {
            session_.consume(s, piece.size(), loop::current()->now().time_since_epoch());
        }
    }
    void end_received(http::h2::stream& s, const http::h2::head* t) override {
        auto& m = static_cast<h2_message&>(s);
        m.ended = true;
        if (t != nullptr) m.trailers = copy(*t);
    }
    void sent(http::h2::stream& s) override { static_cast<h2_message&>(s).sent = true; }
    void closed(http::h2::stream& s) override { ++static_cast<h2_message&>(s).endings; }
    void failed(http::h2::stream& s, http::h2::error_code code, bool) override {
        auto& m = static_cast<h2_message&>(s);
        m.reset = code;
        ++m.endings;
    }
    void settings_received(const http::h2::peer_settings&) override {}
    void goaway_received(std::uint32_t last, http::h2::error_code code, std::string_view) override {
        goaways_.emplace_back(last, code);
    }
    void pong_received(std::uint64_t) override {}
    void limit_reached(http::h2::limit_kind) override {}

    http::h2_limits limits_;
    peer peer_;
    std::vector<std::unique_ptr<h2_message>> messages_;
    std::vector<std::pair<std::uint32_t, http::h2::error_code>> goaways_;
    bool closed_ = false;
    http::h2::session session_;
};

}  // namespace coracle::testing
