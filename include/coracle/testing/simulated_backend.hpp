#pragma once

#include <coracle/net/address.hpp>
#include <coracle/net/resolver.hpp>
#include <coracle/testing/simulation_options.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::testing {

namespace detail {
class world;
class loop_view;
}  // namespace detail

class simulated_disk;

/// A backend without a system: a virtual clock that jumps to the next event when nothing is ready,
/// and a network in memory whose pieces, delays and faults come from a seed. Any address can be
/// listened on. A closed connection behaves as one of TCP does: FIN and RST arrive after the bytes;
/// a reset may discard what its sender still had to send and, one time in four, what has come and
/// was not read; bytes that come to a closed end cause a reset. Each outcome that Linux may give a
/// conversation is that of some seed. Datagrams, names and files (`simulated_disk`) are simulated
/// as well; foreign descriptors are not: `readable` and `writable` fail with ENOTSUP. Only `wake`
/// may be called from other threads, and a run that another thread influences cannot be repeated.
class simulated_backend final : public backend {
public:
    /// Called once, when the run cannot go on: nothing is left that could happen (a deadlock), a
    /// bound is exceeded, or an operation breaks the contract of `backend`.
    using failure_handler = void (*)(void* user, const std::string& why) noexcept;

    explicit simulated_backend(const simulation_options& options = {});
    ~simulated_backend() override;

    /// The backend of one more loop in the same world. Several loops need `simulation` to drive
    /// them.
    std::unique_ptr<simulated_backend> sibling();

    /// Sets the function for failures of the whole world.
    void on_failure(failure_handler f, void* user) noexcept;

    std::string_view name() const noexcept override { return "simulated"; }
    bool is_of_the_system() const noexcept override { return false; }
    bool submit(io_operation& op) noexcept override;
    void cancel(io_operation& op) noexcept override;
    void wait(time_point until) noexcept override;
    void wake() noexcept override;
    time_point now() noexcept override;
    std::int64_t wall_clock() noexcept override;
    std::uint64_t random() noexcept override;
    std::expected<int, error> listen(endpoint& at, const socket_options& o) noexcept override;
    std::expected<int, error> open_stream(const endpoint& peer,
                                          const socket_options& o) noexcept override;
    std::expected<int, error> open_datagram(endpoint& at,
                                            const datagram_options& o) noexcept override;
    std::expected<endpoint, error> local_endpoint(int fd) noexcept override;
    std::expected<int, error> duplicate(const descriptor& d) noexcept override;
    std::expected<void, error> attach(descriptor& d, int fd) noexcept override;
    void close(descriptor& d, bool reset = false) noexcept override;
    bool watch_hangup(descriptor& d, hangup_watch* w) noexcept override;
    bool has_input(descriptor& d) noexcept override;
    std::int64_t try_send(descriptor& d, slice bytes) noexcept override;
    void shutdown_output(descriptor& d) noexcept override;
    void turn_away(descriptor& d) noexcept override;
    void discard(int fd) noexcept override;

    // These functions act on the whole world, whichever loop's backend they are called on.

    /// A host that `opcode::resolve` finds, instead of one of that name. The ports are of no
    /// account.
    void add_name(std::string_view host, std::vector<net::address> addresses,
                  duration ttl = std::chrono::minutes(1));
    /// Sets the hosts that take the mail of a domain; its name needs no addresses then. One host
    /// with an empty name: it takes no mail.
    void add_mail_hosts(std::string_view domain, const std::vector<net::mail_host>& hosts);
    /// Makes queries for `host` fail with `number`, a positive errno, after a time.
    void fail_name(std::string_view host, int number, duration after = {});
    /// Sets the time that each response to a name query takes, at most. Default: as long as bytes.
    void delay_names(duration least, duration most) noexcept;
    /// Drops calls to this address without a response; without a port, for all of its ports.
    void black_hole(const net::address& to);
    /// Ends what `black_hole` began, for later calls.
    void restore(const net::address& to);
    /// Returns the faults that struck the connection from this address. Of connections that shared
    /// a port one after the other, all.
    fault_set faults_on(const net::address& client) const;
    /// Returns the number of operations of this kind that have been submitted.
    std::uint64_t submitted(opcode kind) const noexcept;

    /// The files that there are.
    simulated_disk& disk() noexcept;
    /// A hash of all that happened so far: times, connections, bytes and files.
    std::uint64_t trace() const noexcept;
    /// Returns the number of open descriptors.
    std::size_t open_descriptors() const noexcept;
    /// Changes `simulation_options::descriptors`.
    void limit_descriptors(std::size_t most) noexcept;

    detail::loop_view& view() noexcept { return *view_; }

private:
    explicit simulated_backend(std::shared_ptr<detail::world> shared);

    std::shared_ptr<detail::world> world_;
    std::unique_ptr<detail::loop_view> view_;
};

}  // namespace coracle::testing
