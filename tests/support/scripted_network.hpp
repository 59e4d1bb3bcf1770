#pragma once

#include "support/virtual_time.hpp"

#include <coracle/net/address.hpp>

#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing {

/// Names and hosts that respond when and as a test says, in virtual time.
class scripted_network final : public virtual_backend {
public:
    static constexpr duration never = duration::max();

    struct name_response {
        std::vector<std::string> addresses;  ///< "192.0.2.1", "2001:db8::1"
        duration after{};
        std::int64_t result = 0;
        duration ttl = std::chrono::minutes(5);
    };
    struct host_response {
        duration after{};
        std::int64_t result = 0;
    };

    name_response& v4(const std::string& host) { return names_[{host, AF_INET}]; }
    name_response& v6(const std::string& host) { return names_[{host, AF_INET6}]; }
    /// "192.0.2.1" or "[2001:db8::1]"; at others, no host responds.
    host_response& host(const std::string& numeric) { return hosts_[numeric]; }

    /// The events, each with its time in milliseconds: "250 connect 192.0.2.1".
    const std::vector<std::string>& log() const noexcept { return log_; }
    std::string log_text() const {
        std::string all;
        for (const std::string& line : log_) all += line + '\n';
        return all;
    }
    int open() const noexcept { return open_; }

    bool submit(io_operation& op) noexcept override {
        if (op.code == opcode::resolve) return start_resolve(static_cast<resolve_operation&>(op));
        if (op.code != opcode::connect) return virtual_backend::submit(op);
        const auto& to = static_cast<address_operation&>(op).peer;
        std::string numeric = net::address::from(to).to_string();
        numeric.resize(numeric.rfind(':'));
        note("connect " + numeric);
        const auto found = hosts_.find(numeric);
        if (found == hosts_.end()) return wait_for(op, never, 0);
        return wait_for(op, found->second.after, found->second.result);
    }
    void cancel(io_operation& op) noexcept override {
        if (pending_.erase(&op) == 0) return;
        op.result = -ECANCELED;
        loop::current()->complete_later(op);
    }
    std::expected<int, error> open_stream(const endpoint&,
                                          const socket_options&) noexcept override {
        ++open_;
        return ++last_;
    }
    std::expected<void, error> attach(descriptor& d, int fd) noexcept override {
        d.fd = fd;
        return {};
    }
    void close(descriptor& d, bool) noexcept override {
        --open_;
        d.fd = -1;
    }
    void discard(int) noexcept override { --open_; }

private:
    struct completion final : coracle::detail::timer {
        completion(scripted_network& n, io_operation& o, std::int64_t r) noexcept
            : network(&n), op(&o), result(r) {}
        ~completion() { loop::current()->disarm(*this); }
        void expired() noexcept override {
            io_operation& done = *op;
            done.result = result;
            network->pending_.erase(op);
            loop::current()->refill_inline_budget();
            done.completed(done);
        }
        scripted_network* network;
        io_operation* op;
        std::int64_t result;
    };

    bool start_resolve(resolve_operation& op) {
        const std::string host(op.host);
        note("ask " + host + (op.family == AF_INET ? " v4" : " v6"));
        const auto found = names_.find({host, op.family});
        if (found == names_.end()) {
            op.result = -ENOENT;
            op.ttl = std::chrono::minutes(5);
            return true;
        }
        const name_response& a = found->second;
        for (const std::string& text : a.addresses) {
            const bool is_v6 = op.family == AF_INET6;
            op.found.push_back(
                net::address::parse(is_v6 ? '[' + text + "]:0" : text + ":0")->to_endpoint());
        }
        op.ttl = a.ttl;
        return wait_for(op, a.after, a.result);
    }
    bool wait_for(io_operation& op, duration after, std::int64_t result) {
        if (after == duration::zero()) {
            op.result = result;
            return true;
        }
        auto c = std::make_unique<completion>(*this, op, result);
        if (after != never) loop::current()->arm(*c, now() + after);
        pending_[&op] = std::move(c);
        return false;
    }
    void note(const std::string& what) {
        using std::chrono::duration_cast;
        const duration since = now().time_since_epoch() - std::chrono::seconds(1000);
        const auto ms = duration_cast<std::chrono::milliseconds>(since).count();
        log_.push_back(std::to_string(ms) + ' ' + what);
    }

    std::map<std::pair<std::string, int>, name_response> names_;
    std::map<std::string, host_response> hosts_;
    std::map<io_operation*, std::unique_ptr<completion>> pending_;
    std::vector<std::string> log_;
    int open_ = 0;
    int last_ = 100;
};

/// Runs `f(network)`, which gives a task, in virtual time; a `loop` is current meanwhile.
template <class F>
void run_scripted(F f) {
    auto owned = std::make_unique<scripted_network>();
    scripted_network& network = *owned;
    run_on(std::move(owned), [&] { return f(network); });
}

}  // namespace coracle::testing
