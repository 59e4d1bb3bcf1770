// The metrics of a client by host and by phase, in virtual time.

#include <coracle/http/client.hpp>
#include <coracle/http/client_metrics.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

http::client_options plain() {
    http::client_options o;
    o.proxy_from_environment = false;
    return o;
}

/// A client whose calls are measured, and a peer that does what the scripts say.
struct stage {
    explicit stage(std::vector<script> scripts, http::client_options o = plain(),
                   http::client_metrics_options m = {})
        : seen(all, std::move(m)), peer(std::in_place, sim.loop(), std::move(scripts)),
          client(std::in_place, std::move(o)) {
        client->observe(seen);
    }
    template <class F>
    void run(F ask) {
        auto main = [&]() -> task<> {
            co_await ask();
            client.reset();
            peer->stop();
        };
        sim.run(main);
    }
    task<std::string> text(std::string_view target = "/") {
        const std::string url = peer->url(target);
        auto asking = client->get(url).full();
        http::full_response r = co_await std::move(asking);
        co_return std::move(r.body);
    }
    std::string host() const { return peer->address().to_string(); }

    /// The number of "http_client_NAME{host="HOST"MORE}"; nothing if there is none.
    std::optional<double> value(std::string_view name, std::string_view more = {},
                                std::optional<std::string> host = {}) const {
        std::string line("\nhttp_client_");
        line.append(name).append("{host=\"").append(host.value_or(this->host())).append("\"");
        if (!more.empty()) line.append(",").append(more);
        line += "} ";
        const std::string text = all.text();
        const std::size_t at = text.find(line);
        if (at == text.npos) return {};
        return std::stod(text.substr(at + line.size()));
    }
    std::optional<double> count_of(std::string_view phase) const {
        return value("phase_duration_seconds_count", "phase=\"" + std::string(phase) + '"');
    }
    double seconds_of(std::string_view phase) const {
        return value("phase_duration_seconds_sum", "phase=\"" + std::string(phase) + '"')
            .value_or(-1);
    }
    std::optional<double> calls(std::string_view status) const {
        return value("calls_total", "status=\"" + std::string(status) + '"');
    }
    std::optional<double> failures(std::string_view phase) const {
        return value("failures_total", "phase=\"" + std::string(phase) + '"');
    }

    simulation sim;
    metrics::registry all;
    http::client_metrics seen;
    std::optional<scripted_peer> peer;
    std::optional<http::client> client;
};

const std::string slow_head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";

}  // namespace

TEST(client_metrics, measure_the_phases_of_a_call) {
    stage s({script().read_head().pause(2s).send(slow_head).pause(3s).send("boat").read_head().send(
        slow_head + "ship")});
    s.run([&]() -> task<> {
        auto first = s.text();
        const std::string boat = co_await std::move(first);
        EXPECT_EQ(boat, "boat");
        auto second = s.text();
        const std::string ship = co_await std::move(second);
        EXPECT_EQ(ship, "ship");
    });
    EXPECT_EQ(s.calls("2xx"), 2);
    EXPECT_EQ(s.count_of("connect"), 1) << "the second call has the same connection";
    EXPECT_EQ(s.count_of("tls"), std::nullopt);
    for (const char* const each : {"send", "wait", "body"}) EXPECT_EQ(s.count_of(each), 2) << each;
    EXPECT_GE(s.seconds_of("wait"), 1.9);
    EXPECT_LT(s.seconds_of("wait"), 2.9);
    EXPECT_GE(s.seconds_of("body"), 2.9);
    EXPECT_LT(s.seconds_of("body"), 3.9);
    EXPECT_LT(s.seconds_of("send"), 0.5);
    EXPECT_GE(*s.value("call_duration_seconds_sum"), 4.9);
    EXPECT_EQ(s.value("call_duration_seconds_count"), 2);
    EXPECT_EQ(s.value("call_duration_seconds_bucket", "le=\"2.5\""), 1);
    EXPECT_EQ(s.failures("wait"), std::nullopt);
}

TEST(client_metrics, measure_the_last_attempt_only) {
    http::client_options o = plain();
    o.retry.retries = 1;
    o.retry.delay = 5s;
    stage s({script()
                 .read_head()
                 .send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
                 .read_head()
                 .pause(1s)
                 .respond("at last")},
            o);
    s.run([&]() -> task<> {
        auto asking = s.text();
        const std::string text = co_await std::move(asking);
        EXPECT_EQ(text, "at last");
    });
    EXPECT_EQ(s.calls("2xx"), 1);
    EXPECT_EQ(s.calls("5xx"), std::nullopt) << "the first response was no end of the call";
    EXPECT_LT(s.seconds_of("send"), 0.5) << "the delay before the retry is no part of a phase";
    EXPECT_GE(s.seconds_of("wait"), 0.9);
    EXPECT_LT(s.seconds_of("wait"), 2.0);
    EXPECT_GE(*s.value("call_duration_seconds_sum"), 3.5);
}

TEST(client_metrics, measure_the_wait_for_a_place) {
    http::pool_options p;
    p.connections_per_host = 1;
    stage s({script().read_head().pause(3s).respond("one").read_head().respond("two")});
    s.client.emplace(plain(), p);
    s.client->observe(s.seen);
    s.run([&]() -> task<> {
        spawn([&]() -> task<> {
            auto asking = s.text();
            co_await std::move(asking);
        });
        co_await sleep_for(1s);
        auto asking = s.text();
        co_await std::move(asking);
    });
    EXPECT_EQ(s.calls("2xx"), 2);
    EXPECT_GE(s.seconds_of("queue"), 1.5);
    EXPECT_LT(s.seconds_of("queue"), 2.9);
    EXPECT_LT(s.seconds_of("send"), 0.5);
}

TEST(client_metrics, count_failures_by_their_phase) {
    http::client_options o = plain();
    o.first_byte_timeout = 1s;
    o.idle_timeout = 1s;
    stage s({script().read_head().stall(), script().read_head().send(slow_head + "bo").cut(),
             script().read_head().send(slow_head + "bo").stall()},
            o);
    std::string closed;
    s.run([&]() -> task<> {
        for (int i = 0; i != 3; ++i) {
            auto asking = s.text();
            const auto text = co_await as_result(std::move(asking));
            EXPECT_FALSE(text) << i;
        }
        const std::string url = "http://127.0.0.1:9/";
        auto asking = s.client->get(url);
        const auto refused = co_await as_result(asking);
        EXPECT_FALSE(refused);
    });
    EXPECT_EQ(s.failures("wait"), 1);
    EXPECT_EQ(s.failures("body"), 2);
    EXPECT_EQ(s.calls("none"), 1);
    EXPECT_EQ(s.calls("2xx"), 2);
    EXPECT_EQ(s.count_of("wait"), 2) << "the first call has got no byte";
    EXPECT_EQ(s.count_of("body"), std::nullopt);
    EXPECT_EQ(s.value("call_duration_seconds_count"), 0);
    EXPECT_EQ(s.value("failures_total", "phase=\"connect\"", "127.0.0.1:9"), 1);
    EXPECT_EQ(s.value("calls_total", "status=\"none\"", "127.0.0.1:9"), 1);
}

TEST(client_metrics, count_cancelled_calls_and_dropped_bodies) {
    stage s({script().read_head().stall(), script().read_head().send(slow_head + "bo").stall()});
    s.run([&]() -> task<> {
        const auto ask = [&]() -> task<> {
            auto asking = s.text();
            co_await std::move(asking);
        };
        const auto waited = co_await as_result(with_timeout(1s, ask));
        EXPECT_FALSE(waited);
        const std::string url = s.peer->url();
        {
            const auto dropped = co_await s.client->get(url);
            EXPECT_EQ(dropped.status(), http::status::ok);
            EXPECT_EQ(s.calls("2xx"), std::nullopt) << "it has not ended";
        }
        EXPECT_EQ(s.calls("2xx"), 1);
    });
    EXPECT_EQ(s.failures("cancelled"), 1);
    EXPECT_EQ(s.calls("none"), 1);
    EXPECT_EQ(s.failures("body"), std::nullopt);
    EXPECT_EQ(s.count_of("wait"), 1);
    EXPECT_EQ(s.count_of("body"), std::nullopt);
}

TEST(client_metrics, put_hosts_beyond_their_number_together) {
    http::client_metrics_options m;
    m.hosts = 1;
    stage s({script().read_head().respond("one")}, plain(), std::move(m));
    s.run([&]() -> task<> {
        auto asking = s.text();
        co_await std::move(asking);
        for (const char* const url : {"http://127.0.0.1:9/", "http://127.0.0.2:9/"}) {
            auto refused = s.client->get(url);
            static_cast<void>(co_await as_result(refused));
        }
        auto again = s.text();
        co_await std::move(again);
    });
    EXPECT_EQ(s.calls("2xx"), 2);
    EXPECT_EQ(s.value("calls_total", "status=\"none\"", "127.0.0.1:9"), std::nullopt);
    EXPECT_EQ(s.value("calls_total", "status=\"none\"", "other"), 2);
    EXPECT_EQ(s.value("failures_total", "phase=\"connect\"", "other"), 2);
}
