// client_options::rate_limit, in virtual time: how many bytes a second go each way.

#include "support/temporary_directory.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/router.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t rate = 100'000;
constexpr std::size_t body_size = 1'000'000;
/// The bytes that may come at once: a block of the receiver, and those in the buffers of the
/// sender.
constexpr double burst = 100'000;
/// Timers fire up to 1/16 s late, and what is left out is not caught up with.
constexpr duration least = 9s;
constexpr duration most = 11s;

/// How far what came was ahead of the rate, or behind it, at the worst.
class rate_watch {
public:
    rate_watch() : began_(loop::current()->now()) {}
    ~rate_watch() { EXPECT_LE(worst_, burst) << "bytes from the rate"; }
    rate_watch(const rate_watch&) = delete;
    rate_watch& operator=(const rate_watch&) = delete;
    void came(std::size_t bytes) {
        bytes_ += bytes;
        const std::chrono::duration<double> took = loop::current()->now() - began_;
        worst_ = std::max(worst_, std::abs(static_cast<double>(bytes_) - rate * took.count()));
    }
    std::size_t bytes() const { return bytes_; }

private:
    time_point began_;
    std::size_t bytes_ = 0;
    double worst_ = 0;
};

/// Reads a body to its end, and gives its size.
template <class Body>
task<std::size_t> watch(Body& body) {
    rate_watch w;
    for (;;) {
        auto reading = body.read();
        const std::string_view piece = co_await reading;
        if (piece.empty()) co_return w.bytes();
        w.came(piece.size());
    }
}

http::client_options limited() {
    http::client_options o;
    o.proxy_from_environment = false;
    o.rate_limit = rate;
    return o;
}

/// A client that keeps to a rate, and a server that sends and receives such bodies.
class client_rate : public ::testing::Test {
protected:
    template <class F>
    void run(F test) {
        sim_.run([&]() -> task<> {
            http::router routes;
            routes.get("/", [](http::request&) { return std::string(body_size, 'x'); });
            routes.post("/", [](http::request& req) { return note_arrival(req); });
            routes.post("/away", [](http::request& req) { return redirect_later(req); });
            local_server server(sim_.loop(), routes);
            url_ = server.url();
            http::client client(limited());
            client_ = &client;
            co_await test();
            server.stop();
            co_await server.stopped();
        });
    }
    /// Responds with the number of bytes.
    static task<http::response> note_arrival(http::request& req) {
        const std::size_t size = co_await watch(req.body());
        co_return http::response(std::to_string(size));
    }
    /// Redirects to "/" once the body is there.
    static task<http::response> redirect_later(http::request& req) {
        const std::string all = co_await req.body().text();
        EXPECT_EQ(all.size(), body_size);
        co_return http::redirect("/", http::status::temporary_redirect);
    }
    /// Sends it, with a body of that size, and looks at how long it took.
    task<> send(http::call c) {
        const time_point began = sim_.now();
        auto sending = c.full();
        const http::full_response r = co_await sending;
        EXPECT_EQ(r.body, std::to_string(body_size));
        EXPECT_GE(sim_.now() - began, least);
        EXPECT_LE(sim_.now() - began, most);
    }

    simulation sim_{1};
    std::string url_;
    http::client* client_ = nullptr;
};

task<> write_pieces(http::body_writer& out) {
    const std::string piece(body_size / 100, 'x');
    for (int i = 0; i != 100; ++i) co_await out.write(piece);
}

}  // namespace

TEST_F(client_rate, is_kept_to_by_what_is_received) {
    run([this]() -> task<> {
        http::call c = client_->get(url_);
        http::response r = co_await c;
        const time_point began = sim_.now();
        const std::size_t size = co_await watch(r);
        EXPECT_EQ(size, body_size);
        EXPECT_GE(sim_.now() - began, least);
        EXPECT_LE(sim_.now() - began, most);
    });
}

TEST_F(client_rate, is_kept_to_by_bodies_of_memory) {
    run([this]() -> task<> {
        http::call c = client_->post(url_).body(std::string(body_size, 'x'));
        co_await send(std::move(c));
    });
}

TEST_F(client_rate, is_kept_to_by_bodies_of_files) {
    const temporary_directory folder;
    const std::string path = folder.write("body", std::string(body_size, 'x'));
    run([&]() -> task<> {
        http::call c = client_->post(url_).body_file(path);
        co_await send(std::move(c));
    });
}

TEST_F(client_rate, is_kept_to_by_bodies_that_functions_write) {
    run([this]() -> task<> {
        http::call c = client_->post(url_).body(http::body::stream(write_pieces));
        co_await send(std::move(c));
    });
}

TEST_F(client_rate, is_kept_to_by_a_body_that_is_sent_again) {
    run([this]() -> task<> {
        http::call c = client_->post(url_ + "away").body(std::string(body_size, 'x'));
        c.follow(http::follow::same_method);
        const time_point began = sim_.now();
        auto sending = c.full();
        const http::full_response r = co_await sending;
        EXPECT_EQ(r.body, std::to_string(body_size));
        EXPECT_GE(sim_.now() - began, 2 * least);
    });
}

TEST_F(client_rate, is_none_by_default) {
    run([this]() -> task<> {
        http::client_options o = limited();
        o.rate_limit = 0;
        const time_point began = sim_.now();
        http::call c = client_->get(url_).options(o);
        auto getting = c.full();
        const http::full_response r = co_await getting;
        EXPECT_EQ(r.body.size(), body_size);
        EXPECT_LE(sim_.now() - began, 1s);
    });
}
