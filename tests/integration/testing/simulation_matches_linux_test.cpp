// Conversations over the loopback of the system, repeated in simulations: whatever outcome Linux
// really gives must be one that some seed gives. The reverse is not demanded: other systems, and
// real distances, give more.

#include "support/on_each_backend.hpp"
#include "unit/testing/simulated_pair.hpp"

#include <coracle/net/listener.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

using namespace simulated;

namespace {

/// In short, what became of an operation.
std::string said(const error& e) {
    if (e == errc::end_of_stream) return "end";
    if (e == std::errc::connection_reset) return "reset";
    if (e == std::errc::broken_pipe) return "pipe";
    if (e == std::errc::connection_refused) return "refused";
    if (e == std::errc::connection_aborted) return "aborted";
    return e.code().message();
}

/// Both ends of a connection, and what happens to them, word by word.
class stage {
public:
    /// `pauses`: what one side does has arrived before the other does anything.
    stage(bool is_simulated, bool pauses) : is_simulated_(is_simulated), pauses_(pauses) {}

    task<> listen() {
        listener_.emplace(open_listener(*loop::current()));
        to_ = listener_->local();
        co_return;
    }
    task<> connect() {
        auto connecting = net::connect(to_);
        auto connected = co_await as_result(connecting);
        if (connected)
            client_ = std::move(*connected);
        else
            note("connect", said(connected.error()));
    }
    task<> accept() {
        const auto accepts = [this]() -> task<> { server_ = co_await listener_->accept(); };
        const auto done = co_await as_result(with_timeout(1s, accepts));
        if (!done) note("accept", said(done.error()));
    }
    bool accepted() const noexcept { return server_ != nullptr; }
    /// Nothing more is accepted, and no connection waits.
    void close_listener() { listener_->close(); }
    task<> begin() {
        co_await listen();
        co_await when_all(connect(), accept());
    }
    /// Long enough for everything under way, on the loopback; in a simulation that is for the seed
    /// to say.
    task<> pause() {
        if (is_simulated_) {
            const auto most = loop::current()->random() % 8;
            co_await sleep_for(std::chrono::milliseconds(most));
        } else if (pauses_) {
            for (int i = 0; i != 3; ++i) co_await yield();
        }
    }

    net::byte_stream& client() { return *client_; }
    net::byte_stream& server() { return *server_; }

    task<> send(const char* who, net::byte_stream& s, std::string text) {
        auto sent = co_await as_result(s.send(text));
        note(who, sent ? "sent" : said(sent.error()));
    }
    /// Reads to the end, of whatever kind. Of more than `shown` bytes it notes that alone.
    task<> read(const char* who, net::byte_stream& s) {
        constexpr std::size_t shown = 100;
        std::string all;
        for (;;) {
            auto bytes = co_await as_result(s.receive());
            if (!bytes) {
                if (all.size() > shown) all = all.size() == filled_ ? "all" : "part";
                note(who, all + '/' + said(bytes.error()));
                co_return;
            }
            all += bytes->view();
        }
    }
    /// One piece, of any size.
    task<> read_some(const char* who, net::byte_stream& s) {
        auto bytes = co_await as_result(s.receive());
        note(who, bytes ? "some" : said(bytes.error()));
    }
    /// Sends until nothing more is taken.
    void fill(net::byte_stream& s) {
        const std::string block(16 * 1024, 'x');
        for (int refused = 0; refused != 20;) {
            const std::int64_t n = s.try_send({block.data(), block.size()});
            if (n > 0) filled_ += static_cast<std::size_t>(n);
            if (n <= 0) ++refused;
        }
    }

    const std::string& outcome() const noexcept { return outcome_; }

private:
    void note(const char* who, const std::string& what) {
        outcome_.append(outcome_.empty() ? "" : " ").append(who).append("=").append(what);
    }

    bool is_simulated_;
    bool pauses_;
    std::optional<net::listener> listener_;
    net::address to_;
    std::unique_ptr<net::socket> client_;
    std::unique_ptr<net::socket> server_;
    std::size_t filled_ = 0;
    std::string outcome_;
};

struct conversation {
    const char* name;
    task<> (*play)(stage& s);
};

task<> reset_behind_data(stage& s) {
    co_await s.begin();
    co_await s.send("server", s.server(), "hello");
    s.server().close(true);
    co_await s.pause();
    co_await s.read("client", s.client());
    co_await s.read("again", s.client());
}

task<> reset_of_a_sender_that_is_full(stage& s) {
    co_await s.begin();
    s.fill(s.server());
    s.server().close(true);
    co_await s.pause();
    co_await s.read("client", s.client());
}

task<> early_refusal(stage& s) {
    co_await s.begin();
    co_await s.send("client", s.client(), std::string(20'000, 'x'));
    co_await s.pause();
    co_await s.send("server", s.server(), "refused");
    s.server().close();
    co_await s.pause();
    co_await s.read("client", s.client());
}

task<> early_refusal_of_one_who_sends_on(stage& s) {
    co_await s.begin();
    co_await s.send("client", s.client(), std::string(20'000, 'x'));
    co_await s.pause();
    co_await s.send("server", s.server(), "refused");
    s.server().close();
    co_await s.pause();
    co_await s.send("client", s.client(), "more");
    co_await s.pause();
    co_await s.send("client", s.client(), "more");
    co_await s.read("client", s.client());
}

task<> early_refusal_of_one_who_waits_to_send(stage& s) {
    co_await s.begin();
    const auto uploads = [&]() -> task<> {
        co_await s.send("client", s.client(), std::string(16 * 1024 * 1024, 'x'));
        co_await s.read("client", s.client());
    };
    const auto refuses = [&]() -> task<> {
        co_await s.read_some("server", s.server());
        co_await s.send("server", s.server(), "refused");
        s.server().close();
    };
    co_await when_all(uploads(), refuses());
}

task<> reset_while_sending(stage& s) {
    co_await s.begin();
    const auto uploads = [&]() -> task<> {
        co_await s.send("client", s.client(), std::string(16 * 1024 * 1024, 'x'));
        co_await s.read("client", s.client());
    };
    const auto resets = [&]() -> task<> {
        co_await s.read_some("server", s.server());
        s.server().close(true);
    };
    co_await when_all(uploads(), resets());
}

task<> half_close_then_reset(stage& s) {
    co_await s.begin();
    s.client().shutdown_output();
    co_await s.read("server", s.server());
    co_await s.send("server", s.server(), "x");
    s.server().close(true);
    co_await s.pause();
    co_await s.read("client", s.client());
}

task<> half_close_then_response(stage& s) {
    co_await s.begin();
    co_await s.send("client", s.client(), "request");
    s.client().shutdown_output();
    co_await s.read("server", s.server());
    co_await s.send("server", s.server(), "response");
    s.server().close();
    co_await s.pause();
    co_await s.read("client", s.client());
    co_await s.send("client", s.client(), "late");
}

task<> write_after_the_peer_closed_then_read(stage& s) {
    co_await s.begin();
    co_await s.send("server", s.server(), "bye");
    s.server().close();
    co_await s.pause();
    co_await s.send("client", s.client(), "one");
    co_await s.pause();
    co_await s.send("client", s.client(), "two");
    co_await s.read("client", s.client());
}

task<> close_while_bytes_come(stage& s) {
    co_await s.begin();
    co_await s.send("client", s.client(), "late");
    s.server().close();
    co_await s.pause();
    co_await s.read("client", s.client());
    co_await s.send("client", s.client(), "later");
}

task<> close_with_bytes_unread(stage& s) {
    co_await s.begin();
    co_await s.send("client", s.client(), "unread");
    co_await s.pause();
    s.server().close();
    co_await s.pause();
    co_await s.send("client", s.client(), "more");
    co_await s.read("client", s.client());
}

task<> end_with_data_in_one_segment(stage& s) {
    co_await s.begin();
    co_await s.send("server", s.server(), "hello");
    s.server().close();
    co_await s.pause();
    co_await s.read("client", s.client());
    co_await s.read("again", s.client());
}

task<> end_then_reset(stage& s) {
    co_await s.begin();
    co_await s.send("server", s.server(), "a");
    s.server().shutdown_output();
    co_await s.send("client", s.client(), "unread");
    co_await s.pause();
    s.server().close();
    co_await s.pause();
    co_await s.send("client", s.client(), "more");
    co_await s.read("client", s.client());
}

task<> shut_by_both(stage& s) {
    co_await s.begin();
    s.client().shutdown_output();
    s.server().shutdown_output();
    co_await s.pause();
    co_await s.read("client", s.client());
    co_await s.read("server", s.server());
    co_await s.send("client", s.client(), "x");
    co_await s.send("server", s.server(), "x");
}

task<> reset_told_to_a_reader(stage& s) {
    co_await s.begin();
    s.server().close(true);
    co_await s.pause();
    co_await s.read("client", s.client());
    co_await s.read("again", s.client());
    co_await s.send("client", s.client(), "x");
    co_await s.send("client", s.client(), "x");
}

task<> reset_told_to_a_sender(stage& s) {
    co_await s.begin();
    s.server().close(true);
    co_await s.pause();
    co_await s.send("client", s.client(), "x");
    co_await s.pause();
    co_await s.send("client", s.client(), "x");
    co_await s.read("client", s.client());
}

task<> refused_call(stage& s) {
    co_await s.listen();
    s.close_listener();
    co_await s.connect();
}

task<> listener_that_closes_on_a_connection(stage& s) {
    co_await s.listen();
    co_await s.connect();
    co_await s.pause();
    s.close_listener();
    co_await s.pause();
    co_await s.read("client", s.client());
    co_await s.send("client", s.client(), "x");
}

/// The client's earlier actions have arrived when it is accepted.
task<> look_at_what_was_accepted(stage& s) {
    co_await s.pause();
    co_await s.accept();
    if (!s.accepted()) co_return;
    co_await s.read("server", s.server());
    co_await s.send("server", s.server(), "x");
    co_await s.pause();
    co_await s.send("server", s.server(), "x");
}

task<> end_before_the_accept(stage& s) {
    co_await s.listen();
    co_await s.connect();
    co_await s.send("client", s.client(), "hello");
    s.client().close();
    co_await look_at_what_was_accepted(s);
}

task<> reset_before_the_accept(stage& s) {
    co_await s.listen();
    co_await s.connect();
    s.client().close(true);
    co_await look_at_what_was_accepted(s);
}

task<> data_and_reset_before_the_accept(stage& s) {
    co_await s.listen();
    co_await s.connect();
    co_await s.send("client", s.client(), "hello");
    s.client().close(true);
    co_await look_at_what_was_accepted(s);
}

constexpr conversation conversations[] = {
    {"reset_behind_data", reset_behind_data},
    {"reset_of_a_sender_that_is_full", reset_of_a_sender_that_is_full},
    {"early_refusal", early_refusal},
    {"early_refusal_of_one_who_sends_on", early_refusal_of_one_who_sends_on},
    {"early_refusal_of_one_who_waits_to_send", early_refusal_of_one_who_waits_to_send},
    {"reset_while_sending", reset_while_sending},
    {"half_close_then_reset", half_close_then_reset},
    {"half_close_then_response", half_close_then_response},
    {"write_after_the_peer_closed_then_read", write_after_the_peer_closed_then_read},
    {"close_while_bytes_come", close_while_bytes_come},
    {"close_with_bytes_unread", close_with_bytes_unread},
    {"end_with_data_in_one_segment", end_with_data_in_one_segment},
    {"end_then_reset", end_then_reset},
    {"shut_by_both", shut_by_both},
    {"reset_told_to_a_reader", reset_told_to_a_reader},
    {"reset_told_to_a_sender", reset_told_to_a_sender},
    {"refused_call", refused_call},
    {"listener_that_closes_on_a_connection", listener_that_closes_on_a_connection},
    {"end_before_the_accept", end_before_the_accept},
    {"reset_before_the_accept", reset_before_the_accept},
    {"data_and_reset_before_the_accept", data_and_reset_before_the_accept},
};

std::string on_linux(const conversation& c, backend_kind kind, bool pauses) {
    runtime_options o;
    o.backend = kind;
    return block_on(
        [&]() -> task<std::string> {
            stage s(false, pauses);
            co_await c.play(s);
            co_return s.outcome();
        },
        o);
}

std::string in_a_simulation(const conversation& c, std::uint64_t seed) {
    simulation world(seed);
    return world.run([&]() -> task<std::string> {
        stage s(true, true);
        co_await c.play(s);
        co_return s.outcome();
    });
}

class simulation_and_linux : public ::testing::TestWithParam<conversation> {};
INSTANTIATE_TEST_SUITE_P(in, simulation_and_linux, ::testing::ValuesIn(conversations),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace

TEST_P(simulation_and_linux, share_every_outcome_that_linux_has) {
    std::map<std::string, std::string> real;  // and where
    for (const backend_kind kind : {backend_kind::uring, backend_kind::epoll, backend_kind::poll}) {
        if (!make_backend(kind)) continue;
        for (const bool pauses : {true, false}) {
            for (int i = 0; i != 3; ++i) {
                real[on_linux(GetParam(), kind, pauses)] +=
                    std::string(backend_name({kind, 0})) + (pauses ? " pausing, " : ", ");
            }
        }
    }
    std::set<std::string> simulated;
    std::set<std::string> missing;
    for (const auto& [outcome, where] : real) missing.insert(outcome);
    for (std::uint64_t seed = 1; seed != 1500 && !missing.empty(); ++seed) {
        const std::string outcome = in_a_simulation(GetParam(), seed);
        simulated.insert(outcome);
        missing.erase(outcome);
    }
    for (const std::string& outcome : missing) {
        std::string others;
        for (const std::string& s : simulated) others += "\n  " + s;
        ADD_FAILURE() << outcome << "\n  on " << real[outcome] << "\nand no seed but:" << others;
    }
}
