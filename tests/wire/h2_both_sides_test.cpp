#include "h2_frames.hpp"
#include "testing/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>

using namespace coracle::http::h2;
using namespace coracle::http::h2::test;
using coracle::http::field;
using coracle::testing::detail::random_source;

// A client and a server, and between them a wire that cuts what it carries: whatever the two do,
// every stream ends exactly once, and the windows add up when all is over.

namespace {

class endpoint final : public session_events {
public:
    struct exchange final : stream {
        std::string received;
        std::string content;
        std::string_view piece;
        std::uint64_t unread = 0;
        int ended = 0;  ///< times that it was closed, failed or reset
        bool complete = false;
        bool reset = false;
    };

    endpoint(role side, random_source& random)
        : side_{side}, random_{random}, session{side, *this, limits_} {}

    exchange& make() { return *exchanges_.emplace_back(std::make_unique<exchange>()); }
    void send(exchange& e) {
        e.piece = e.content;
        const bool taken = session.send_data(e, {&e.piece, 1}, true);
        EXPECT_TRUE(taken || e.over());
    }
    void end(exchange& e) {
        ++e.ended;
        ASSERT_EQ(e.ended, 1) << "stream " << e.id() << " ended twice";
    }
    void read_some(instant now) {
        for (const auto& e : exchanges_) {
            if (e->unread == 0 || random_.next() % 2 == 0) continue;
            const std::uint64_t n = 1 + random_.next() % e->unread;
            e->unread -= n;
            session.consume(*e, n, now);
        }
    }
    void reset_one() {
        for (const auto& e : exchanges_) {
            if (e->over() || random_.next() % 8 != 0) continue;
            session.reset(*e, error_code::cancel);
            e->unread = 0;
            e->reset = true;
            end(*e);
            return;
        }
    }
    [[nodiscard]] bool has_unread() const {
        return std::any_of(exchanges_.begin(), exchanges_.end(),
                           [](const auto& e) { return e->unread > 0; });
    }
    [[nodiscard]] const auto& exchanges() const { return exchanges_; }

private:
    stream* open() override { return random_.next() % 16 == 0 ? nullptr : &make(); }
    void head_received(stream& s, const head& message, bool) override {
        if (side_ != role::server) return;
        auto& e = static_cast<exchange&>(s);
        const field control[] = {{":status", "200"}};
        session.send_head(e, control, message.fields, false);
        e.content.assign(random_.next() % 60'000, static_cast<char>('a' + e.id() % 26));
        send(e);
    }
    void head_too_large(stream&, head_fault) override { ADD_FAILURE(); }
    void data_received(stream& s, std::string_view piece) override {
        auto& e = static_cast<exchange&>(s);
        e.received += piece;
        e.unread += piece.size();
    }
    void end_received(stream& s, const head*) override {
        static_cast<exchange&>(s).complete = true;
    }
    void sent(stream& s) override { static_cast<exchange&>(s).piece = {}; }
    void closed(stream& s) override { end(static_cast<exchange&>(s)); }
    void failed(stream& s, error_code, bool) override {
        auto& e = static_cast<exchange&>(s);
        e.unread = 0;
        e.reset = true;
        end(e);
    }
    void settings_received(const peer_settings&) override {}
    void goaway_received(std::uint32_t, error_code, std::string_view) override {}
    void pong_received(std::uint64_t) override {}
    void limit_reached(limit_kind) override {}

    static constexpr coracle::http::h2_limits limits_{};
    role side_;
    random_source& random_;
    std::vector<std::unique_ptr<exchange>> exchanges_;

public:
    coracle::http::h2::session session;
};

class two_sides {
public:
    explicit two_sides(std::uint64_t seed) : random_(seed) {}

    void run() {
        for (int step = 0; step < 400; ++step) {
            now_ += std::chrono::milliseconds(5);
            if (step < 200 && random_.next() % 4 == 0) request();
            carry(client_, server_);
            carry(server_, client_);
            client_.read_some(now_);
            server_.read_some(now_);
            if (random_.next() % 32 == 0) (random_.next() % 2 == 0 ? client_ : server_).reset_one();
            ASSERT_TRUE(client_.session.windows_add_up());
            ASSERT_TRUE(server_.session.windows_add_up());
        }
        for (int step = 0; step < 2000 && !done(); ++step) {
            now_ += std::chrono::milliseconds(5);
            carry(client_, server_);
            carry(server_, client_);
            client_.read_some(now_);
            server_.read_some(now_);
        }
        check();
    }

private:
    void request() {
        auto& e = client_.make();
        const field control[] = {
            {":method", "POST"}, {":scheme", "https"}, {":path", "/x"}, {":authority", "a"}};
        const std::string value = std::to_string(random_.next() % 50);
        const field fields[] = {{"x-value", value}};
        if (!client_.session.open(e, control, fields, false)) return;
        e.content.assign(random_.next() % 60'000, static_cast<char>('A' + e.id() % 26));
        client_.send(e);
    }
    void carry(endpoint& from, endpoint& to) {
        std::vector<std::string_view> views;
        if (!from.session.wants_to_write()) return;
        from.session.gather(1 + random_.next() % 40'000, views);
        std::string bytes;
        for (const std::string_view view : views) bytes += view;
        from.session.written();
        for (std::string_view rest = bytes; !rest.empty();) {
            const std::size_t n = 1 + random_.next() % rest.size();
            const std::string piece(rest.substr(0, n));
            to.session.receive(piece, now_);
            rest.remove_prefix(n);
        }
    }
    [[nodiscard]] bool done() {
        return client_.session.streams() == 0 && server_.session.streams() == 0 &&
               !client_.session.wants_to_write() && !server_.session.wants_to_write() &&
               !client_.has_unread() && !server_.has_unread();
    }
    void check() {
        ASSERT_FALSE(client_.session.failure()) << describe(*client_.session.failure());
        ASSERT_FALSE(server_.session.failure()) << describe(*server_.session.failure());
        ASSERT_TRUE(done()) << client_.session.streams() << " and " << server_.session.streams()
                            << " streams left";
        for (const auto& e : client_.exchanges()) {
            if (e->id() == 0) continue;
            ASSERT_EQ(e->ended, 1);
            if (e->reset) continue;
            ASSERT_TRUE(e->complete);
            const auto& other =
                *std::find_if(server_.exchanges().begin(), server_.exchanges().end(),
                              [&](const auto& o) { return o->id() == e->id(); });
            ASSERT_EQ(e->received, other->content);
            ASSERT_TRUE(other->reset || other->received == e->content);
        }
        // The send window of either side is the receive window of the other, all given back in
        // halves.
        for (auto [from, to] : {std::pair(&client_, &server_), std::pair(&server_, &client_)}) {
            ASSERT_EQ(from->session.send_window(), to->session.receive_window_left());
            ASSERT_GT(from->session.send_window(), (1 << 20) / 2);
        }
    }

    random_source random_;
    instant now_{1};
    endpoint client_{role::client, random_};
    endpoint server_{role::server, random_};
};

TEST(h2_both_sides, every_stream_ends_once_and_windows_add_up) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        two_sides(seed).run();
        if (HasFatalFailure()) return;
    }
}

}  // namespace
