// A chat in worlds where everything goes wrong: no message comes twice or out of order, every
// connection ends once, and nothing is left behind.

#include "integration/websocket/simulated_websocket.hpp"
#include "support/simulated_seeds.hpp"

#include <coracle/runtime/on.hpp>
#include <coracle/websocket/topics.hpp>

#include <map>
#include <string>
#include <vector>

namespace {

using namespace simulated_websocket;
using websocket::compression_mode;

class trial {
public:
    explicit trial(std::uint64_t seed) : state_(seed * 7919 + 3), sim_(world_of(seed)) {
        websocket::route_options o;
        o.compression.mode = up_to(2) == 0 ? compression_mode::off : compression_mode::with_context;
        o.timeouts.idle = 20s;
        o.timeouts.ping = 5s;
        o.timeouts.handler = 5s;
        o.limits.unsent = 1024 + up_to(8192);
        websocket::topic_options to;
        to.backlog = 1 + up_to(40);
        to.policy = static_cast<websocket::slow_reader>(up_to(3));
        to.compression = o.compression;
        topics_.emplace(to);
        http::router routes;
        route_.emplace(websocket::route(routes, "/ws", o,
                                        [this](websocket::connection& ws) { return chat(ws); }));
        for (unsigned i = 0; i != sim_.loops(); ++i) {
            http::server_options so;
            so.listen = "127.0.0.1:" + std::to_string(80 + i);
            so.timeouts.drain = std::chrono::seconds(up_to(10));
            servers_.push_back(std::make_unique<http::server>(http::handler(routes), so));
            servers_.back()->open(sim_.loop(i));
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
        EXPECT_EQ(topics_->counters().subscribers, 0U) << sim_.replay();
        EXPECT_EQ(route_->counters().protocol_errors, 0U) << sim_.replay();
        EXPECT_EQ(route_->counters().invalid_data, 0U) << sim_.replay();
        return sim_.trace();
    }
    std::uint64_t heard() const noexcept { return heard_; }

private:
    static simulation_options world_of(std::uint64_t seed) {
        simulation_options s;
        s.seed = seed;
        s.loops = 1 + static_cast<unsigned>(seed % 2);
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

    task<> chat(websocket::connection& ws) {
        const tracer t(left_);
        ++entered_;
        const auto membership = topics_->subscribe(ws, "room.*");
        while (auto message = co_await ws.receive()) {
            if (message->data().starts_with("echo")) {
                co_await ws.send(*message);
            } else {
                topics_->publish("room.a", *message);
            }
        }
    }

    /// One visit: messages of this visitor are numbered, and so are the visits.
    task<> visit(http::client& client, unsigned me, unsigned which) {
        const std::string url =
            "ws://127.0.0.1:" + std::to_string(80 + up_to(sim_.loops())) + "/ws";
        auto dialing = websocket::connect(client, url);
        dialing.compression(static_cast<compression_mode>(up_to(3))).timeout(10s);
        auto ws = co_await as_result(std::move(dialing));
        if (!ws) co_return;
        const std::string name = std::to_string(me) + '.' + std::to_string(which);
        const std::uint64_t sends = up_to(60);
        const auto sending = [&]() -> task<> {
            for (std::uint64_t i = 0; i != sends; ++i) {
                std::string text = name + ':' + std::to_string(i) + ':';
                text.append(up_to(5) == 0 ? up_to(20'000) : up_to(50), 'b');
                auto sent = co_await as_result(ws->send(text));
                if (!sent) co_return;
                if (up_to(4) == 0) co_await sleep_for(std::chrono::milliseconds(up_to(500)));
            }
            if (up_to(3) == 0) co_await as_result(ws->ping());
            co_await sleep_for(std::chrono::milliseconds(up_to(3000)));
            if (up_to(4) != 0) co_await as_result(ws->close());
        };
        const auto hearing = [&]() -> task<> {
            std::map<std::string, int> last;
            for (;;) {
                auto came = co_await as_result(ws->receive());
                if (!came || !*came) co_return;
                const std::string text = (*came)->str();
                const std::size_t colon = text.find(':');
                const std::string who = text.substr(0, colon);
                const int number = std::stoi(text.substr(colon + 1));
                const auto [at, is_new] = last.try_emplace(who, -1);
                EXPECT_GT(number, at->second) << who << ' ' << sim_.replay();
                at->second = number;
                ++heard_;
            }
        };
        const auto both = [&]() -> task<> { co_await when_all(sending(), hearing()); };
        co_await as_result(with_timeout(std::chrono::seconds(1 + up_to(60)), both));
    }

    task<> one_loop(loop& l) {
        const unsigned me = l.index();
        bool served = false;
        spawn([&, me]() -> task<> {
            co_await as_result(servers_[me]->run(sim_.loop(me)));
            served = true;
        });
        http::client client;
        std::size_t going = 1 + up_to(4);
        const std::size_t visitors = going;
        for (std::size_t v = 0; v != visitors; ++v) {
            spawn([&, me, v]() -> task<> {
                for (unsigned i = 0; i != 3; ++i) {
                    co_await visit(client, me * 10 + static_cast<unsigned>(v), i);
                }
                --going;
            });
        }
        const bool early = up_to(4) == 0;
        while (!early && going != 0) co_await sleep_for(100ms);
        if (early) co_await sleep_for(std::chrono::milliseconds(up_to(20'000)));
        ++finished_;
        while (finished_ != sim_.loops()) co_await sleep_for(100ms);
        servers_[me]->stop();
        while (!served || going != 0) co_await sleep_for(100ms);
        co_await sleep_for(30s);
    }

    std::uint64_t state_;
    simulation sim_;
    std::optional<websocket::topics> topics_;
    std::optional<websocket::endpoint> route_;
    std::vector<std::unique_ptr<http::server>> servers_;
    int entered_ = 0;
    int left_ = 0;
    std::size_t finished_ = 0;
    std::uint64_t heard_ = 0;
};

}  // namespace

TEST(websocket_chaos, leaves_nothing_behind_and_mixes_nothing_up) {
    std::uint64_t heard = 0;
    std::uint64_t trials = 0;
    run_seeds(100, [&](std::uint64_t seed) {
        trial one(seed);
        const std::uint64_t trace = one.run();
        heard += one.heard();
        ++trials;
        return trace;
    });
    EXPECT_GT(heard, 10 * trials);
}
