// The server against scripted clients in a world where everything goes wrong: whatever happens, a
// response that is whole is the right one, in its place, and none is lost without a fault.

#include "integration/http/simulated_script.hpp"
#include "support/simulated_seeds.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

/// How a conversation went.
struct outcome {
    std::size_t responses = 0;  ///< whole responses
    net::address from;
    bool connected = false;
    bool closed = false;  ///< by a server that would not read the rest of a body
    std::string wrong;    ///< what was not as it must be
    std::string broken;   ///< how it ended before its time
};

struct response {
    int status = 0;
    std::string head;
    std::string body;
    bool has(std::string_view line) const { return head.find(line) != std::string::npos; }
    std::string field(const std::string& name) const {
        const auto at = head.find("\r\n" + name + ": ");
        if (at == std::string::npos) return {};
        const auto begin = at + name.size() + 4;
        return head.substr(begin, head.find("\r\n", begin) - begin);
    }
};

task<std::string> read_chunks(peer& p) {
    std::string body;
    for (;;) {
        const std::string line = co_await p.read_until("\r\n");
        const std::size_t size = std::strtoul(line.c_str(), nullptr, 16);
        const std::string chunk = co_await p.read_exactly(size + 2);
        if (size == 0) co_return body;
        body.append(chunk, 0, size);
    }
}

task<response> read_response(peer& p, bool may_have_body) {
    response a;
    a.head = co_await p.read_until("\r\n\r\n");
    a.status = std::atoi(a.head.c_str() + 9);
    if (a.status == 100 || !may_have_body) co_return a;
    if (a.has("\r\nTransfer-Encoding: chunked\r\n")) {
        a.body = co_await read_chunks(p);
    } else {
        const std::string length = a.field("Content-Length");
        a.body = co_await p.read_exactly(std::strtoul(length.c_str(), nullptr, 10));
    }
    co_return a;
}

/// One client at work: a task that sends and one that reads.
class conversation {
public:
    conversation(const scripted::client& script, outcome& out) : script_(script), out_(out) {}

    task<> run(net::address to) {
        std::unique_ptr<net::socket> s = co_await net::connect(to);
        out_.connected = true;
        out_.from = s->local().value();
        peer p(std::move(s));
        auto both = [this, &p](task_group& g) -> task<> {
            g.spawn([this, &p] { return write(p); });
            co_await as_result(read(p));
            g.cancel();
        };
        auto talk = [&both]() -> task<> { co_await with_task_group(both); };
        const auto ended = co_await as_result(with_timeout(10min, talk));
        if (!ended) out_.broken = ended.error().message();
        leave(p);
    }

private:
    task<> wait_for_responses(std::size_t n, bool or_continue) {
        while (out_.responses < n) {
            if (or_continue && told_to_continue_ == n) co_return;
            progress_.reset();
            co_await progress_.wait();
        }
    }

    task<> write(peer& p) {
        for (std::size_t i = 0; i != script_.requests.size(); ++i) {
            const scripted::request& r = script_.requests[i];
            if (r.waits) co_await wait_for_responses(i, false);
            auto sent = co_await as_result(p.send(r.head));
            if (sent && r.expects) co_await wait_for_responses(i + 1, true);
            if (sent && !(r.expects && out_.responses > i))
                sent = co_await as_result(p.send(r.body));
            if (!sent) co_return;
        }
    }

    task<> read(peer& p) {
        for (std::size_t i = 0; i != script_.requests.size();) {
            const scripted::request& r = script_.requests[i];
            const auto got = co_await as_result(read_response(p, r.has_body));
            if (!got) {
                out_.broken = got.error().message();
                co_return;
            }
            if (got->status == 100) {
                if (!r.expects) out_.wrong += r.id + ": told to go on without having asked\n";
                told_to_continue_ = i + 1;
                progress_.set();
                continue;
            }
            check(r, *got);
            out_.responses = ++i;
            progress_.set();
            if (!got->has("\r\nConnection: close\r\n")) continue;
            out_.closed = r.ignored;
            if (i != script_.requests.size()) out_.broken = "Connection: close";
            co_return;
        }
    }

    void check(const scripted::request& r, const response& a) {
        const std::string id = a.field("X-Id");
        // A response without the mark of a handler is the server's own: it refuses.
        if (id.empty() && a.status >= 400) {
            if (a.status != r.status) refused_ = true;
            return;
        }
        if (id != r.id) out_.wrong += r.id + ": got the response to " + id + '\n';
        if (a.status != r.status) out_.wrong += r.id + ": got " + std::to_string(a.status) + '\n';
        const std::string length = std::to_string(r.response.size());
        if (r.has_body && a.body != r.response) {
            out_.wrong +=
                r.id + ": " + std::to_string(a.body.size()) + " wrong bytes for " + length + '\n';
        }
        if (!r.has_body && a.field("Content-Length") != length) {
            out_.wrong += r.id + ": length " + a.field("Content-Length") + " for " + length + '\n';
        }
    }

    void leave(peer& p) {
        using leaving = scripted::client::leaving;
        if (script_.leaves == leaving::finish) p.shutdown_output();
        p.close(script_.leaves == leaving::reset);
        if (refused_) {
            out_.broken = "refused";
            --out_.responses;
        }
    }

    const scripted::client& script_;
    outcome& out_;
    std::size_t told_to_continue_ = 0;
    event progress_;
    bool refused_ = false;
};

/// A server on every loop of a world, its clients, and what became of them.
class trial {
public:
    trial(std::uint64_t seed, unsigned loops, const fault_options& faults)
        : plan_(scripted::scenario_maker(seed).make()), outcomes_(plan_.clients.size()),
          sim_(options(seed, loops, faults)), server_(router(), server_options(loops)) {
        for (unsigned i = 0; i != loops; ++i) server_.open(sim_.loop(i));
    }

    void run() {
        auto main = [this]() -> task<> {
            for (std::size_t i = 0; i != sim_.loops(); ++i) serve_on(sim_.loop(i));
            for (std::size_t i = 0; i != plan_.clients.size(); ++i) start_client(i);
            if (plan_.drains_midway()) {
                co_await sleep_for(std::chrono::microseconds(plan_.drains_after_us));
                stop();
            }
            while (gone_ != plan_.clients.size()) co_await sleep_for(50ms);
            stop();
            while (serving_ != 0) co_await sleep_for(50ms);
            EXPECT_EQ(sim_.detached(), 0u);
            for (std::size_t i = 0; i != sim_.loops(); ++i) {
                EXPECT_EQ(sim_.loop(i).services(), 0u);
            }
        };
        try {
            sim_.run(main);
        } catch (const std::exception& e) {
            ADD_FAILURE() << e.what();
        }
        check();
    }

    std::uint64_t trace() const { return sim_.trace(); }
    std::uint64_t submitted(opcode kind) { return sim_.backend().submitted(kind); }

private:
    static simulation_options options(std::uint64_t seed, unsigned loops,
                                      const fault_options& faults) {
        simulation_options o;
        o.seed = seed;
        o.loops = loops;
        o.faults = faults;
        return o;
    }
    static http::server_options server_options(unsigned loops) {
        http::server_options o;
        // Several loops without a runtime need an address that can be shared.
        o.listen = loops == 1 ? "127.0.0.1:80" : "unix:@server";
        // Longer than a connection stands still in all, so that no stall costs a response.
        o.timeouts.linger = 10s;
        return o;
    }

    http::handler router();

    void serve_on(loop& l) {
        ++serving_;
        l.post([this, &l] {
            auto serve = [this, &l]() -> task<> {
                co_await as_result(server_.run(l));
                --serving_;
                ended_ = sim_.now();
            };
            spawn(serve, "server");
        });
    }

    void start_client(std::size_t i) {
        loop& l = sim_.loop(i % sim_.loops());
        l.post([this, i] {
            auto talk = [this, i]() -> task<> {
                const scripted::client& script = plan_.clients[i];
                co_await sleep_for(std::chrono::microseconds(script.comes_after_us));
                conversation c(script, outcomes_[i]);
                const auto ended = co_await as_result(c.run(server_.addresses().front()));
                if (!ended) outcomes_[i].broken = ended.error().message();
                ++gone_;
            };
            spawn(talk, "client");
        });
    }

    void stop() {
        if (stopped_) return;
        stopped_ = true;
        stopped_at_ = sim_.now();
        server_.stop();
    }

    void check() {
        for (std::size_t i = 0; i != outcomes_.size(); ++i) check(plan_.clients[i], outcomes_[i]);
        EXPECT_LE(ended_ - stopped_at_, server_options(1).timeouts.drain + 1s);
        const auto c = server_.counters();
        EXPECT_EQ(c.open, 0u);
        EXPECT_EQ(c.in_flight, 0u);
        EXPECT_EQ(sim_.backend().open_descriptors(), 0u);
    }

    void check(const scripted::client& script, const outcome& o) {
        SCOPED_TRACE("client " + std::to_string(script.number) + ": " + o.broken);
        EXPECT_EQ(o.wrong, "");
        // A call that came to nothing is judged by its fault, of which there is no address.
        if (!o.connected || o.closed) return;
        const fault_set faults = sim_.backend().faults_on(o.from);
        if (faults.may_lose()) return;
        // It may have been the one that gave way, for want of descriptors, right before it asked.
        if (server_.counters().made_room != 0) return;
        if (!plan_.drains_midway()) {
            EXPECT_EQ(o.responses, script.requests.size()) << "responses were lost without a fault";
            return;
        }
        for (std::size_t i = o.responses; i != script.requests.size(); ++i) {
            EXPECT_FALSE(begun_.contains(script.requests[i].id))
                << script.requests[i].id << " was handled, and its response lost in the drain";
        }
    }

    scripted::scenario plan_;
    std::vector<outcome> outcomes_;
    std::set<std::string, std::less<>> begun_;
    simulation sim_;
    http::server server_;
    std::size_t serving_ = 0;
    std::size_t gone_ = 0;
    bool stopped_ = false;
    time_point stopped_at_;
    time_point ended_;
};

http::handler trial::router() {
    http::router r;
    const auto begin = [this](http::request& req) {
        std::string id(req.query("id").value_or(""));
        begun_.insert(id);
        return id;
    };
    const auto marked = [](http::response res, const std::string& id) {
        res.set("X-Id", id);
        return res;
    };
    r.get("/text", [begin, marked](http::request& req) {
        const std::string id = begin(req);
        return marked(scripted::pattern(id, req.query<std::size_t>("n", 0)), id);
    });
    r.get("/later", [begin, marked](http::request& req) -> task<http::response> {
        const std::string id = begin(req);
        const auto n = req.query<std::size_t>("n", 0);
        co_await sleep_for(std::chrono::milliseconds(n * 4));
        co_return marked(scripted::pattern(id, n), id);
    });
    r.get("/stream", [begin, marked](http::request& req) {
        const std::string id = begin(req);
        auto text = scripted::pattern(id, req.query<std::size_t>("n", 0));
        auto write = [text = std::move(text)](http::body_writer& out) -> task<> {
            std::string_view left = text;
            for (std::size_t size = 1; !left.empty(); size = size * 3 + 1) {
                co_await out.write(left.substr(0, size));
                left.remove_prefix(std::min(size, left.size()));
                if (size % 2 == 0) co_await sleep_for(1ms);
            }
        };
        return marked(http::stream(write, "text/plain"), id);
    });
    r.post("/echo", [begin, marked](http::request& req) -> task<http::response> {
        const std::string id = begin(req);
        std::string text = co_await req.body().text();
        co_return marked(std::move(text), id);
    });
    r.post("/echo-stream", [begin, marked](http::request& req) {
        const std::string id = begin(req);
        auto copy = [&req](http::body_writer& out) -> task<> {
            for (;;) {
                const std::string_view piece = co_await req.body().read();
                if (piece.empty()) co_return;
                co_await out.write(piece);
            }
        };
        return marked(http::stream(copy), id);
    });
    r.post("/ignore",
           [begin, marked](http::request& req) { return marked("ignored", begin(req)); });
    r.get("/throw", [begin](http::request& req) -> http::response {
        begin(req);
        throw std::runtime_error("as scripted");
    });
    return r;
}

std::uint64_t run_seed(std::uint64_t seed, unsigned loops, bool faulty) {
    SCOPED_TRACE(replay(seed));
    trial t(seed, loops, faulty ? fault_options::every() : fault_options());
    t.run();
    return t.trace();
}

void run_seeds(std::uint64_t count, unsigned loops, bool faulty) {
    coracle::testing::run_seeds(count,
                                [&](std::uint64_t seed) { return run_seed(seed, loops, faulty); });
}

}  // namespace

TEST(server_simulation, loses_no_response_while_everything_goes_wrong) {
    run_seeds(1000, 1, true);
}

TEST(server_simulation, loses_no_response_on_several_loops_while_everything_goes_wrong) {
    run_seeds(250, 3, true);
}

TEST(server_simulation, loses_no_response_in_a_world_without_faults) {
    run_seeds(250, 1, false);
}

TEST(server_simulation, survives_that_any_one_operation_finds_no_memory) {
    // A single seed may have none of a kind.
    std::map<opcode, std::uint64_t> all;
    for (const std::uint64_t seed : seeds(4)) {
        for (const opcode kind : {opcode::accept, opcode::connect, opcode::receive, opcode::send}) {
            fault_options faults;
            faults.fails = kind;
            trial whole(seed, 1, faults);
            whole.run();
            const std::uint64_t count = std::min<std::uint64_t>(whole.submitted(kind), 60);
            all[kind] += count;
            while (faults.fails_at++ != count) {
                SCOPED_TRACE(replay(seed) + ", operation " + std::to_string(faults.fails_at));
                trial t(seed, 1, faults);
                t.run();
            }
            if (::testing::Test::HasFailure()) return;
        }
    }
    for (const auto& [kind, count] : all) EXPECT_NE(count, 0u) << static_cast<int>(kind);
}

/// Started by the test below.
TEST(server_simulation, DISABLED_prints_its_traces) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        std::printf("trace %llu\n",
                    static_cast<unsigned long long>(run_seed(seed, seed % 2 == 0 ? 3 : 1, true)));
    }
}

TEST(server_simulation, gives_the_same_trace_in_another_process) {
    std::string ours;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        ours += "trace " + std::to_string(run_seed(seed, seed % 2 == 0 ? 3 : 1, true)) + '\n';
    }
    // The other one is no shard of ours.
    const std::string command = "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX " +
                                std::filesystem::read_symlink("/proc/self/exe").string() +
                                " --gtest_also_run_disabled_tests"
                                " --gtest_filter=server_simulation.DISABLED_prints_its_traces";
    std::FILE* other = ::popen(command.c_str(), "r");
    ASSERT_NE(other, nullptr);
    std::string theirs;
    char line[256];
    while (std::fgets(line, sizeof line, other) != nullptr) {
        if (std::string_view(line).starts_with("trace ")) theirs += line;
    }
    EXPECT_EQ(::pclose(other), 0);
    EXPECT_EQ(theirs, ours);
}
