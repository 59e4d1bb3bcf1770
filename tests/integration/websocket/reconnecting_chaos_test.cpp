// Chat clients that come back, on two loops, in worlds where connections break and servers drain: a
// message is acknowledged once it has been published, and is sent again until it is. None that was
// acknowledged is lost, no subscriber hears one twice or out of order, each socket ends once.

#include "integration/websocket/simulated_websocket.hpp"
#include "support/simulated_seeds.hpp"

#include <coracle/websocket/reconnecting.hpp>
#include <coracle/websocket/topics.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace simulated_websocket;
using websocket::compression_mode;

/// "ack NAME NUMBER", "say NAME NUMBER filling": what a text says.
struct said {
    std::string kind;
    std::string name;
    int number = -1;

    explicit said(const std::string& text) {
        const std::size_t first = text.find(' ');
        const std::size_t second = text.find(' ', first + 1);
        const std::size_t third = text.find(' ', second + 1);
        kind = text.substr(0, first);
        name = text.substr(first + 1, second - first - 1);
        number = std::stoi(text.substr(second + 1, third - second - 1));
    }
};

class trial {
public:
    explicit trial(std::uint64_t seed) : state_(seed * 6007 + 11), sim_(world_of(seed)) {
        options_.compression.mode = static_cast<compression_mode>(up_to(3));
        options_.timeouts.idle = 10s;
        options_.timeouts.ping = 3s;
        options_.timeouts.handler = 5s;
        websocket::topic_options to;
        to.backlog = 4096;  // no subscriber is slower than that, so none loses a message for it
        topics_.emplace(to);
        websocket::route_options o;
        static_cast<websocket::options&>(o) = options_;
        http::router routes;
        route_.emplace(websocket::route(routes, "/ws", o,
                                        [this](websocket::connection& ws) { return chat(ws); }));
        for (unsigned i = 0; i != sim_.loops(); ++i) {
            handlers_.emplace_back(routes);
            servers_.emplace_back();
        }
    }

    std::uint64_t run() {
        try {
            sim_.run_on_all([this](loop& l) { return one_loop(l); });
        } catch (const std::exception& e) {
            ADD_FAILURE() << e.what();
        }
        for (unsigned i = 0; i != sim_.loops(); ++i) {
            EXPECT_EQ(sim_.backend(i).open_descriptors(), 0U) << sim_.replay();
        }
        EXPECT_EQ(entered_, left_) << sim_.replay();
        EXPECT_EQ(route_->counters().open, 0U) << sim_.replay();
        EXPECT_EQ(route_->counters().protocol_errors, 0U) << sim_.replay();
        EXPECT_EQ(route_->counters().invalid_data, 0U) << sim_.replay();
        EXPECT_EQ(topics_->counters().subscribers, 0U) << sim_.replay();
        return sim_.trace();
    }
    std::uint64_t acknowledged() const noexcept { return acknowledged_; }
    std::uint64_t came_back() const noexcept { return came_back_; }

private:
    static simulation_options world_of(std::uint64_t seed) {
        simulation_options s;
        s.seed = seed;
        s.loops = 2;
        s.max_time = 3h;
        if (seed % 4 != 0) {
            s.faults = fault_options::every();
            // Whatever has no memory ends at once, which other tests look at.
            s.faults.no_memory = 0;
        }
        return s;
    }
    std::uint64_t up_to(std::uint64_t below) {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return (state_ >> 33) % below;
    }

    int last_of(const std::string& name) const {
        const auto at = published_.find(name);
        return at == published_.end() ? -1 : at->second;
    }

    /// One message is published once, however often it comes.
    task<> chat(websocket::connection& ws) {
        const tracer t(left_);
        ++entered_;
        const auto membership = topics_->subscribe(ws, "room");
        while (auto message = co_await ws.receive()) {
            const said one(message->str());
            auto& last = published_.try_emplace(one.name, -1).first->second;
            if (one.number == last + 1) {
                last = one.number;
                topics_->publish("room", *message);
            }
            // One that is behind a gap comes again, in its turn.
            if (one.number > last) continue;
            const std::string ack = "ack " + one.name + ' ' + std::to_string(one.number);
            co_await ws.send(ack);
        }
    }

    /// A client with messages of its own, until all of them are acknowledged.
    task<> visit(http::client& client, std::string name) {
        const std::string url =
            "ws://127.0.0.1:" + std::to_string(80 + up_to(sim_.loops())) + "/ws";
        websocket::reconnect_options r;
        r.longest_delay = 2s;
        websocket::reconnecting feed(client, url, r, options_);
        const int wanted = static_cast<int>(1 + up_to(12));
        int acked = -1;
        std::vector<std::string> mine;
        for (int i = 0; i != wanted; ++i) {
            mine.push_back("say " + name + ' ' + std::to_string(i) + ' ' +
                           std::string(up_to(5) == 0 ? up_to(20'000) : up_to(50), 'b'));
        }
        std::map<std::string, int> heard;
        // A message that is not acknowledged is sent again on each connection, in order, one at a
        // time.
        feed.on_connect([&](websocket::connection& ws) -> task<> {
            heard.clear();
            if (acked + 1 != wanted) co_await ws.send(mine[static_cast<std::size_t>(acked + 1)]);
        });
        const auto talk = [&]() -> task<> {
            while (acked + 1 != wanted) {
                auto came = co_await as_result(feed.receive());
                if (!came || !*came) co_return;
                const said one((*came)->str());
                if (one.kind == "say") {
                    const auto [at, is_new] = heard.try_emplace(one.name, one.number);
                    if (!is_new) {
                        // Each connection is a subscriber of its own.
                        EXPECT_EQ(one.number, at->second + 1) << one.name << ' ' << sim_.replay();
                        at->second = one.number;
                    }
                    continue;
                }
                EXPECT_EQ(one.name, name) << sim_.replay();
                EXPECT_LE(one.number, acked + 1) << sim_.replay();
                EXPECT_GE(last_of(name), one.number) << "acknowledged and lost " << sim_.replay();
                if (one.number != acked + 1) continue;
                ++acked;
                ++acknowledged_;
                if (acked + 1 == wanted) break;
                if (up_to(3) == 0) co_await sleep_for(std::chrono::milliseconds(up_to(800)));
                const std::string next = mine[static_cast<std::size_t>(acked + 1)];
                co_await as_result(feed.send(next));
            }
        };
        co_await as_result(with_timeout(10min, talk));
        EXPECT_LE(acked, last_of(name)) << sim_.replay();
        came_back_ += feed.connections() > 1 ? feed.connections() - 1 : 0;
        co_await as_result(feed.close());
    }

    /// A server that is drained now and then, and comes back on the same port.
    task<> serve(unsigned me, loop& l) {
        while (!over_) {
            http::server_options so;
            so.listen = "127.0.0.1:" + std::to_string(80 + me);
            so.timeouts.drain = std::chrono::seconds(up_to(5));
            servers_[me] = std::make_unique<http::server>(handlers_[me], so);
            servers_[me]->open(l);
            const bool leaves = up_to(2) == 0;
            const auto until = l.now() + std::chrono::milliseconds(500 + up_to(20'000));
            bool ended = false;
            spawn([&]() -> task<> {
                co_await as_result(servers_[me]->run(l));
                ended = true;
            });
            while (!over_ && (!leaves || l.now() < until)) co_await sleep_for(50ms);
            servers_[me]->stop();
            while (!ended) co_await sleep_for(50ms);
            servers_[me].reset();
            co_await sleep_for(std::chrono::milliseconds(up_to(1000)));
        }
    }

    task<> one_loop(loop& l) {
        const unsigned me = l.index();
        bool served = false;
        spawn([&, me]() -> task<> {
            co_await serve(me, l);
            served = true;
        });
        http::client client;
        const std::size_t visitors = 1 + up_to(3);
        std::size_t going = visitors;
        for (std::size_t v = 0; v != visitors; ++v) {
            spawn([&, me, v]() -> task<> {
                co_await visit(client, std::to_string(me) + '.' + std::to_string(v));
                --going;
            });
        }
        while (going != 0) co_await sleep_for(100ms);
        ++finished_;
        while (finished_ != sim_.loops()) co_await sleep_for(100ms);
        over_ = true;
        while (!served) co_await sleep_for(100ms);
        co_await sleep_for(30s);
    }

    std::uint64_t state_;
    simulation sim_;
    websocket::options options_;
    std::optional<websocket::topics> topics_;
    std::optional<websocket::endpoint> route_;
    std::vector<http::handler> handlers_;
    std::vector<std::unique_ptr<http::server>> servers_;
    std::map<std::string, int> published_ = {};  ///< the last number of each client
    int entered_ = 0;
    int left_ = 0;
    std::size_t finished_ = 0;
    bool over_ = false;
    std::uint64_t acknowledged_ = 0;
    std::uint64_t came_back_ = 0;
};

}  // namespace

TEST(websocket_reconnecting_chaos, loses_nothing_that_was_acknowledged) {
    std::uint64_t acknowledged = 0;
    std::uint64_t came_back = 0;
    std::uint64_t trials = 0;
    run_seeds(100, [&](std::uint64_t seed) {
        trial one(seed);
        const std::uint64_t trace = one.run();
        acknowledged += one.acknowledged();
        came_back += one.came_back();
        ++trials;
        return trace;
    });
    EXPECT_GT(acknowledged, 5 * trials);
    EXPECT_GT(came_back, trials / 5);
}
