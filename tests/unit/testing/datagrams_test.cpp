// Simulated datagrams and names, by the operations that backends have for them.

#include "unit/testing/simulated_pair.hpp"

#include <coracle/runtime/datagram_operation.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

using namespace simulated;

namespace {

/// An operation of a backend as something to await.
template <class Op>
class raw final : public coracle::detail::leaf<raw<Op>, std::int64_t>, public Op {
public:
    static constexpr const char* name = "raw";
    template <class... Args>
    explicit raw(Args&&... args) : Op(std::forward<Args>(args)..., &done) {}
    bool start() { return this->owner().backend().submit(*this); }
    void cancel() noexcept override { this->owner().backend().cancel(*this); }
    std::expected<std::int64_t, error> result() const { return io_operation::result; }

private:
    static void done(io_operation& op) noexcept {
        auto& self = static_cast<raw&>(static_cast<Op&>(op));
        if (op.result == -ECANCELED) self.mark_cancelled();
        self.complete();
    }
};

/// A datagram socket of a simulated world.
class socket {
public:
    socket(simulation& sim, std::string_view where) : backend_(&sim.backend()) {
        endpoint e = at(where).to_endpoint();
        const auto fd = backend_->open_datagram(e, {});
        if (!fd) throw_exception(fd.error());
        local = net::address::from(e);
        if (auto attached = backend_->attach(d_, *fd); !attached) throw_exception(attached.error());
    }
    ~socket() { backend_->close(d_); }
    socket(const socket&) = delete;
    socket& operator=(const socket&) = delete;

    task<std::int64_t> send(net::address to, std::string bytes) {
        raw<datagram_operation> op(opcode::send_to);
        op.on = &d_;
        op.peer = to.to_endpoint();
        op.bytes = slice(bytes);
        const auto n = co_await as_result(op);
        co_return n ? *n : -ECANCELED;
    }
    task<std::string> receive(std::size_t capacity = 65'535) {
        raw<datagram_operation> op(opcode::receive_from);
        op.on = &d_;
        op.capacity = capacity;
        const auto n = co_await as_result(op);
        if (!n || *n < 0) throw_exception(error(std::errc::io_error, "receive"));
        from = net::address::from(op.peer);
        truncated = op.truncated;
        co_return std::string(op.into.view());
    }

    net::address local;
    net::address from;
    bool truncated = false;

private:
    simulated_backend* backend_;
    descriptor d_;
};

/// Sends "0" to "99" and gives what arrived within a minute, with commas.
std::string arrived(const simulation_options& o) {
    simulation sim(o);
    std::string all;
    sim.run([&]() -> task<> {
        socket from(sim, "127.0.0.1:0");
        socket to(sim, "127.0.0.1:53");
        for (int i = 0; i != 100; ++i) co_await from.send(to.local, std::to_string(i));
        auto read = [&]() -> task<> {
            for (;;) {
                all += co_await to.receive();
                all += ',';
            }
        };
        co_await as_result(with_timeout(1min, read));
    });
    EXPECT_EQ(sim.backend().open_descriptors(), 0u);
    return all;
}

std::string counted_to_100() {
    std::string all;
    for (int i = 0; i != 100; ++i) all += std::to_string(i) + ',';
    return all;
}

struct found {
    std::int64_t result = 0;
    std::vector<net::address> addresses;
    duration ttl{};
};

int family_of(const net::address& a) {
    std::uint16_t family = 0;
    const endpoint e = a.to_endpoint();
    std::memcpy(&family, e.bytes, sizeof family);
    return family;
}

task<found> resolve(std::string host, int family = 0) {
    raw<resolve_operation> op;
    op.host = host;
    op.family = family;
    const auto n = co_await as_result(op);
    found f;
    f.result = n ? *n : -ECANCELED;
    f.ttl = op.ttl;
    for (const endpoint& e : op.found) f.addresses.push_back(net::address::from(e));
    co_return f;
}

}  // namespace

TEST(simulated_datagrams, arrive_whole_and_in_order_in_a_world_without_faults) {
    for (const std::uint64_t seed : seeds(20)) EXPECT_EQ(arrived(seeded(seed)), counted_to_100());
}

TEST(simulated_datagrams, say_whence_they_come) {
    simulation sim;
    sim.run([&]() -> task<> {
        socket any(sim, "0.0.0.0:0");
        socket to(sim, "[::1]:53");
        EXPECT_EQ(co_await any.send(to.local, "hello"), 5);
        EXPECT_EQ(co_await to.receive(), "hello");
        EXPECT_EQ(to.from.host(), "127.0.0.1");
        EXPECT_EQ(to.from.port(), any.local.port());
        EXPECT_EQ(co_await to.send(to.from, ""), 0);
        EXPECT_EQ(co_await any.receive(), "");
        EXPECT_EQ(any.from, to.local);
        // A wildcard is the loopback.
        socket alone(sim, "127.0.0.1:5353");
        EXPECT_EQ(co_await any.send(at("0.0.0.0:5353"), "all"), 3);
        EXPECT_EQ(co_await alone.receive(), "all");
    });
}

TEST(simulated_datagrams, are_cut_where_there_is_no_room) {
    simulation sim;
    sim.run([&]() -> task<> {
        socket s(sim, "127.0.0.1:0");
        co_await s.send(s.local, "0123456789");
        EXPECT_EQ(co_await s.receive(4), "0123");
        EXPECT_TRUE(s.truncated);
        co_await s.send(s.local, "0123");
        EXPECT_EQ(co_await s.receive(4), "0123");
        EXPECT_FALSE(s.truncated);
        EXPECT_EQ(co_await s.send(s.local, std::string(65'508, 'x')), -EMSGSIZE);
    });
}

TEST(simulated_datagrams, vanish_where_nobody_listens_and_where_too_many_wait) {
    simulation_options o;
    o.datagrams = 10;
    const std::string all = arrived(o);
    EXPECT_TRUE(all.starts_with("0,")) << all;
    simulation sim;
    sim.run([&]() -> task<> {
        socket s(sim, "127.0.0.1:0");
        EXPECT_EQ(co_await s.send(at("127.0.0.1:9"), "lost"), 4);
    });
}

TEST(simulated_datagrams, are_lost_doubled_and_late_by_the_seed) {
    std::size_t fewer = 0;
    std::size_t more = 0;
    std::size_t disordered = 0;
    for (const std::uint64_t seed : seeds(20)) {
        simulation_options o = seeded(seed);
        o.faults.lost_datagrams = 10;
        fewer += arrived(o).size() < counted_to_100().size();
        o.faults = {};
        o.faults.doubled_datagrams = 10;
        more += arrived(o).size() > counted_to_100().size();
        o.faults = {};
        o.faults.late_datagrams = 10;
        const std::string late = arrived(o);
        EXPECT_EQ(late.size(), counted_to_100().size());
        disordered += late != counted_to_100();
        EXPECT_EQ(arrived(o), late);
    }
    if (seeds(20).size() != 20) return;
    EXPECT_EQ(fewer, 20u);
    EXPECT_EQ(more, 20u);
    EXPECT_EQ(disordered, 20u);
}

TEST(simulated_datagrams, refuse_an_address_that_is_taken) {
    simulation sim;
    socket s(sim, "127.0.0.1:53");
    endpoint e = s.local.to_endpoint();
    const auto again = sim.backend().open_datagram(e, {});
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error(), std::errc::address_in_use);
    for (const char* where : {"0.0.0.0:53", "[::]:53"}) {
        e = at(where).to_endpoint();
        const auto all = sim.backend().open_datagram(e, {});
        EXPECT_TRUE(!all && all.error() == std::errc::address_in_use) << where;
    }
    e = at("[::]:53").to_endpoint();
    datagram_options o;
    o.v6_only = true;
    EXPECT_TRUE(sim.backend().open_datagram(e, o));
}

TEST(simulated_datagrams, can_be_waited_for_again_after_a_cancellation) {
    simulation sim;
    sim.run([&]() -> task<> {
        socket s(sim, "127.0.0.1:0");
        auto read = [&]() -> task<> { co_await s.receive(); };
        EXPECT_FALSE(co_await as_result(with_timeout(1s, read)));
        co_await s.send(s.local, "late");
        EXPECT_EQ(co_await s.receive(), "late");
    });
}

// ---- names --------------------------------------------------------------------------------------

TEST(simulated_names, are_those_that_were_added) {
    simulation sim;
    sim.backend().add_name("boats.example", {at("10.0.0.1:0"), at("[fd00::1]:0")}, 30s);
    sim.run([&]() -> task<> {
        const found all = co_await resolve("Boats.Example");
        EXPECT_EQ(all.result, 2);
        EXPECT_EQ(all.ttl, 30s);
        const found v4 = co_await resolve("boats.example", family_of(at("1.1.1.1:0")));
        EXPECT_EQ(v4.addresses.size(), 1u);
        EXPECT_EQ(v4.addresses.at(0), at("10.0.0.1:0"));
        const found v6 = co_await resolve("boats.example", family_of(at("[::1]:0")));
        EXPECT_EQ(v6.addresses.at(0), at("[fd00::1]:0"));
        const found none = co_await resolve("nowhere.example");
        EXPECT_EQ(none.result, -ENOENT);
        EXPECT_TRUE(none.addresses.empty());
    });
}

TEST(simulated_names, fail_and_take_time_when_they_shall) {
    simulation sim;
    sim.backend().add_name("slow.example", {at("10.0.0.1:0")});
    sim.backend().fail_name("broken.example", EAGAIN, 5s);
    sim.backend().delay_names(2s, 3s);
    sim.run([&]() -> task<> {
        EXPECT_EQ((co_await resolve("slow.example")).result, 1);
        EXPECT_GE(sim.elapsed(), 2s);
        EXPECT_LE(sim.elapsed(), 4s);
        const time_point before = sim.now();
        EXPECT_EQ((co_await resolve("broken.example")).result, -EAGAIN);
        EXPECT_GE(sim.now() - before, 7s);
    });
}

TEST(simulated_names, are_asked_for_until_somebody_stops) {
    simulation sim;
    sim.backend().delay_names(1h, 1h);
    sim.run([&]() -> task<> {
        auto ask = []() -> task<> { co_await resolve("slow.example"); };
        co_await as_result(with_timeout(1s, ask));
        EXPECT_LT(sim.elapsed(), 2s);
        co_await sleep_for(2h);  // the response comes, to nobody
    });
}

TEST(simulated_names, fail_by_the_seed) {
    simulation_options o;
    o.faults.name_failures = 1;
    simulation sim(o);
    sim.backend().add_name("boats.example", {at("10.0.0.1:0")});
    sim.run([]() -> task<> { EXPECT_EQ((co_await resolve("boats.example")).result, -EAGAIN); });
}
