// The server's HTTP/2 against clients that do anything at any time, in a world where everything
// goes wrong: each stream ends once, a response that is whole is the right one, and nothing is
// left.

#include "integration/http/simulated_server.hpp"
#include "support/h2_peer.hpp"
#include "support/sanitized.hpp"
#include "testing/random.hpp"

#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <algorithm>
#include <memory>

namespace {

using namespace simulated;
using http::h2::error_code;

std::string content_of(std::size_t n, unsigned salt) {
    std::string s(n, '\0');
    for (std::size_t i = 0; i != n; ++i) s[i] = static_cast<char>('a' + (i * 7 + salt) % 26);
    return s;
}

/// One thing that a client asks for, and the response that it must get if it gets a whole one.
struct errand {
    h2_message* message;
    std::string wanted;
    bool is_cancelled = false;
};

/// A client that asks for several things at once, gives some up, and may leave at any time.
class restless_client {
public:
    /// `wants_all`: nothing goes wrong, so every response must be whole.
    restless_client(world& w, std::uint64_t seed, bool wants_all)
        : world_(&w), random_(seed), wants_all_(wants_all) {}

    task<> run() {
        http::h2_limits limits;
        if (one_in(3)) limits.stream_window = static_cast<std::uint32_t>(2000 + below(70'000));
        auto connected = co_await as_result(connected_peer());
        if (!connected) co_return;
        h2_peer p(std::move(*connected), limits);
        for (std::size_t left = 5 + below(25); left != 0 && !p.closed(); --left) {
            ask(p);
            if (one_in(4)) give_one_up(p);
            if (one_in(3)) co_await p.go_on_for(std::chrono::milliseconds(below(200)));
            if (one_in(40)) {
                p.connection().close(one_in(2));
                check_end(p);
                co_return;
            }
        }
        const auto all_over = [this] { return are_over(); };
        const auto rest = [&]() -> task<> { co_await p.until(all_over); };
        co_await as_result(with_timeout(5min, rest));
        for (const errand& e : errands_) check(e);
        // The last windows come back behind the responses.
        if (wants_all_) co_await p.go_on_for(5s);
        check_end(p);
    }

private:
    operation<peer> connected_peer() {
        return [](world* w) -> task<std::expected<peer, error>> {
            try {
                co_return co_await w->connect();
            } catch (const exception& e) {
                co_return std::unexpected(e.error());
            }
        }(world_);
    }
    std::size_t below(std::size_t n) { return random_.next() % n; }
    bool one_in(std::size_t n) { return below(n) == 0; }
    bool are_over() const {
        for (const errand& e : errands_) {
            if (!e.message->over()) return false;
        }
        return true;
    }

    void ask(h2_peer& p) {
        const unsigned salt = static_cast<unsigned>(below(26));
        const std::size_t size = one_in(3) ? below(300'000) : below(3000);
        switch (below(6)) {
            case 0: errands_.push_back({&p.get("/hello"), "hello"}); break;
            case 1:
                errands_.push_back(
                    {&p.post("/echo", content_of(size, salt)), content_of(size, salt)});
                break;
            case 2:
                errands_.push_back({&p.get("/big?n=" + std::to_string(size)), repeated(size, 'b')});
                break;
            case 3:
                errands_.push_back(
                    {&p.get("/sleep?ms=" + std::to_string(below(3000)) + "&id=7"), "slept 7"});
                break;
            case 4: errands_.push_back({&p.get("/stream"), "one,two"}); break;
            default: errands_.push_back({&p.post("/ignore", content_of(size, salt)), "ignored"});
        }
    }
    void give_one_up(h2_peer& p) {
        errand& e = errands_[below(errands_.size())];
        if (e.message->over() || e.message->http::h2::stream::over()) return;
        p.cancel(*e.message);
        e.is_cancelled = true;
    }
    /// The accounts of our side, whose bytes are those of the server's.
    void check_end(h2_peer& p) const {
        EXPECT_TRUE(p.session().windows_add_up());
        for (const auto& m : p.messages()) {
            EXPECT_LE(m->endings, 1) << "stream " << m->id();
            // One whose connection broke ends without an event.
            const bool ended = m->id() != 0 && m->http::h2::stream::over();
            if (ended) {
                EXPECT_EQ(m->endings, 1) << "stream " << m->id();
            }
        }
        const bool heard = std::any_of(p.messages().begin(), p.messages().end(),
                                       [](const auto& m) { return m->ended; });
        if (!wants_all_ || !heard || p.closed() || p.session().streams() != 0) return;
        // The server has given all back, but for less than a half.
        EXPECT_GT(p.session().send_window(), std::int64_t{1} << 19);
    }
    void check(const errand& e) const {
        const h2_message& m = *e.message;
        if (wants_all_ && !e.is_cancelled) {
            EXPECT_TRUE(m.ended) << "stream " << m.id() << ", " << m.content.size() << " bytes of "
                                 << e.wanted.size() << ", reset "
                                 << (m.reset ? describe(*m.reset) : "no");
            EXPECT_EQ(m.status, 200) << "stream " << m.id();
        }
        if (m.ended && m.status == 200) {
            EXPECT_EQ(m.content, e.wanted) << "stream " << m.id();
        } else if (!m.content.empty() && m.status == 200) {
            EXPECT_EQ(m.content, e.wanted.substr(0, m.content.size())) << "stream " << m.id();
        }
        if (m.ended) {
            EXPECT_TRUE(m.status == 200 || m.status == 408 || m.status == 503) << m.status;
        }
    }

    world* world_;
    coracle::testing::detail::random_source random_;
    std::vector<errand> errands_;
    bool wants_all_;
};

void run_restless(std::uint64_t seed, bool with_faults) {
    simulation_options s;
    if (with_faults) s.faults = fault_options::every();
    http::server_options o;
    o.timeouts.body = 20s;
    o.timeouts.write = 20s;
    o.timeouts.drain = 10s;
    if (seed % 5 == 0) o.limits.requests = 10;
    const bool wants_all = !with_faults && seed % 5 != 0;
    world w(seed, o, s);
    w.run([seed, wants_all](world& in) -> task<> {
        const auto several = [&in, seed, wants_all](task_group& g) -> task<> {
            for (std::uint64_t i = 0; i != 4; ++i) {
                g.spawn([&in, i, seed, wants_all]() -> task<> {
                    restless_client c(in, seed * 16 + i, wants_all);
                    co_await c.run();
                });
            }
            co_return;
        };
        co_await with_task_group(several);
        // A stop in the midst of what others have left behind.
        co_await sleep_for(std::chrono::milliseconds(seed % 7 * 100));
    });
    // A request whose connection broke may be cut, but is never wrong.
    EXPECT_EQ(w.counters().malformed, 0u) << "seed " << seed;
    if (wants_all) {
        EXPECT_EQ(w.counters().write_timeouts, 0u);
        EXPECT_EQ(w.counters().write_too_slow, 0u);
        EXPECT_EQ(w.counters().body_timeouts, 0u);
    }
}

}  // namespace

TEST(h2_simulation, every_response_that_is_whole_is_the_right_one) {
    for (const std::uint64_t seed : seeds(fewer_if_sanitized(150))) {
        run_restless(seed, false);
        if (::testing::Test::HasFailure()) return;
    }
}

TEST(h2_simulation, the_same_holds_where_everything_goes_wrong) {
    for (const std::uint64_t seed : seeds(fewer_if_sanitized(250))) {
        run_restless(seed, true);
        if (::testing::Test::HasFailure()) return;
    }
}
