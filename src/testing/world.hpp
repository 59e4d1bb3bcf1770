#pragma once

#include "testing/disk/tree.hpp"
#include "testing/event_queue.hpp"
#include "testing/random.hpp"

#include <coracle/runtime/datagram_operation.hpp>
#include <coracle/runtime/mail_resolve_operation.hpp>
#include <coracle/testing/simulated_backend.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace coracle::testing::detail {

/// The simulated world: its clock, what will happen, its sockets, names and mishaps.
class world final : number_table {
public:
    explicit world(const simulation_options& o);
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    // The clock.
    time_point now() const noexcept { return now_; }
    duration elapsed() const noexcept { return now_ - start_; }
    std::int64_t wall_clock() const noexcept;
    std::uint64_t random() noexcept { return for_programs_.next(); }
    /// Lets time pass until `until`, a turn's time at least, or until something happens. False in a
    /// deadlock.
    bool pass(time_point until);
    // A bound that these find exceeded is a failure.
    void count_turn();
    void check_time();
    void fail(const std::string& why);
    void stuck(const std::string& why);

    // Descriptors.
    std::expected<int, error> listen(endpoint& at, const socket_options& o);
    std::expected<int, error> open_stream(const endpoint& local);
    std::expected<int, error> open_datagram(endpoint& at, const datagram_options& o);
    std::expected<endpoint, error> local_endpoint(int fd);
    std::expected<int, error> duplicate(int fd);
    std::expected<void, error> attach(descriptor& d, int fd, loop_view& home);
    void close(int fd, bool reset);
    std::size_t open_descriptors() const noexcept { return open_; }

    // Operations. Each tries once: a count or a negated errno, -EAGAIN when it has to wait.
    std::int64_t try_accept(address_operation& op);
    /// Closes the connection that has waited longest to be accepted. Needs no descriptor: a
    /// listener keeps one for this.
    void turn_away(int fd);
    std::int64_t begin_connect(address_operation& op);
    std::int64_t try_connect(int fd);
    std::int64_t try_receive(receive_operation& op);
    std::int64_t try_send_all(send_operation& op);
    std::int64_t try_send_file(send_file_operation& op);
    std::int64_t try_receive_from(datagram_operation& op);
    std::int64_t try_send_to(datagram_operation& op);
    std::int64_t try_receive_many(messages_operation& op);
    std::int64_t try_send_many(messages_operation& op);
    std::int64_t send_some(int fd, std::string_view bytes);
    void shut_output(int fd);
    bool hung_up(int fd, const hangup_watch& w);
    bool has_input(int fd);

    // Names.
    void add_name(std::string_view host, std::vector<net::address> addresses, duration ttl);
    void fail_name(std::string_view host, int number, duration after);
    void add_mail_hosts(std::string_view domain, const std::vector<net::mail_host>& hosts);
    void delay_names(duration least, duration most) noexcept;
    ref<pending> ask(resolve_operation& op, loop_view& home);
    std::int64_t response_to(resolve_operation& op);
    void black_hole(const net::address& to, bool on);

    // Files.
    /// Null when it has completed already.
    ref<pending> begin(file_operation& op, loop_view& home);
    simulated_disk& disk();

    // Chance and mishaps.
    std::uint64_t draw(std::uint64_t most) noexcept { return chance_.up_to(most); }
    /// Returns true if an operation that could complete at once shall wait instead; if so, it is
    /// tried again in the next turn.
    bool holds_back(int fd);
    /// Returns true if a try or a wait is interrupted.
    bool interrupted() { return mishap(options.faults.interruptions); }
    /// Lets the operations that wait on `fd` be tried again in the next turn.
    void poke(int fd);
    /// Returns true for a short count, or a refusal to send at once.
    bool falters(std::uint64_t one_in) { return options.split && chance_.one_in(one_in); }
    std::size_t part_of(std::size_t n) { return 1 + chance_.up_to(n - 1); }
    /// The errno with which `op`, which begins, shall fail, or 0.
    int fault_of(const io_operation& op);
    /// Returns true if memory runs out in an operation on `fd`.
    bool out_of_memory(int fd);
    fault_set faults_on(const net::address& client) const;
    std::uint64_t submitted(opcode kind) const noexcept {
        return submitted_[static_cast<unsigned>(kind)];
    }

    std::uint64_t trace() const noexcept { return trace_; }
    void note_turn(unsigned loop);

    simulation_options options;
    std::vector<loop_view*> views;
    simulated_backend::failure_handler failed = nullptr;
    void* failed_user = nullptr;

private:
    struct name {
        std::vector<net::address> addresses;
        std::vector<mail_exchange> exchanges;
        duration ttl = std::chrono::minutes(1);
        int failure = 0;
        duration after{};
    };

    node* find(int fd) noexcept;
    std::expected<int, error> new_node(node n);
    std::uint16_t next_port() noexcept;
    bool is_taken(const net::address& a, const socket_options& o) const;
    bool is_taken(const net::address& a, const datagram_options& o) const;
    bool mishap(std::uint32_t one_in) { return one_in != 0 && mishaps_.one_in(one_in); }
    duration latency();
    time_point next_due(pipe& p);
    void schedule(event_kind kind, time_point at, subject& on, side towards = side::client,
                  std::uint64_t amount = 0) {
        events_.push(kind, at, on, towards, amount);
    }

    void happen_until_now();
    void happen(const event& e);
    void happen_to(link& l, const event& e);

    // Streams.
    endpoint client_endpoint(const endpoint& remote, const endpoint& wanted);
    int refusal_of(const endpoint& at) const;
    void plan_faults(link& l);
    void strike(link& l);
    void mark(link& l, fault f);
    void stall(link& l, pipe& out);
    void call_arrives(link& l);
    void bytes_arrive(link& l, side towards, std::size_t amount);
    void finish_arrives(link& l, side towards);
    void reset_arrives(link& l, side towards);
    void send_reset(link& l, side towards);
    static std::int64_t after_reset(const end& e, std::int64_t otherwise) noexcept;
    std::size_t room_for(const pipe& out) const noexcept;
    std::size_t cut(std::size_t n, cutting how);
    cutting choose_cutting();
    listening* who_listens(const endpoint& at);
    void close_listener(listening& l, descriptor* d);
    void close_end(link& l, side which, bool reset);
    void wake(const holder& h);

    // Datagrams.
    ref<datagram_socket> who_receives(const endpoint& at);
    std::int64_t connect_datagram(datagram_socket& s, const endpoint& peer);
    std::int64_t send_one(datagram_socket& from, const endpoint& peer, std::string_view bytes);
    void take_datagram(datagram_socket& from, message_slot& slot);
    void send_datagram(datagram_socket& to, datagram what);
    void datagram_arrives(datagram_socket& to, datagram what);

    // Files.
    ref<open_file> file_at(int fd) const override;
    std::expected<std::size_t, int> read_file(const send_file_operation& op,
                                              std::span<char> into) const;
    duration file_delay();
    void happens(file_task& t);
    void report(pending& p);
    std::int64_t perform(const file_task& t, file_operation& op);
    std::int64_t close_file(const file_operation& op);
    int file_fault(const file_operation& op);
    std::size_t transfer_limit(const file_operation& op);
    void note_file(const file_operation& op, std::int64_t result);

    void note(const event& e, std::uint64_t id, std::string_view bytes = {});
    void mix(std::uint64_t word) noexcept;
    void mix(std::string_view bytes) noexcept;
    void tell(const std::string& line);

    static constexpr int first_number = 1'000'000;  ///< so that none is mistaken for a real one

    time_point now_;
    time_point start_;
    time_point ends_;
    std::uint64_t turns_left_;
    bool has_failed_ = false;
    random_source chance_;
    random_source for_programs_;
    random_source mishaps_;
    std::unique_ptr<simulated_disk> own_disk_;  // without one in the options
    event_queue events_;
    std::vector<node> nodes_;
    std::vector<int> free_;
    std::size_t open_ = 0;
    std::map<std::string, std::vector<ref<listening>>, std::less<>> listeners_;
    std::set<std::string, std::less<>> bound_paths_;  // a listener leaves its socket's file behind
    std::map<std::string, ref<datagram_socket>, std::less<>> sockets_;
    std::map<std::string, name, std::less<>> names_;
    std::map<std::string, fault_set, std::less<>> faulty_;
    std::vector<net::address> black_holes_;
    duration name_delay_min_;
    duration name_delay_max_;
    std::uint64_t links_ = 0;
    std::uint64_t submitted_[static_cast<unsigned>(opcode::send_many) + 1] = {};
    std::uint16_t last_port_ = 49151;
    std::uint64_t trace_ = 0xcbf29ce484222325;
};

/// Text of this address with another port.
net::address with_port(const net::address& a, unsigned port);
/// Returns a delay whose sums with a time of the clock are times of the clock.
duration bounded(duration d) noexcept;
bool has_port(const net::address& a) noexcept;
/// Returns where a call or a datagram to `at` goes, or a datagram from it comes from: the loopback
/// for a wildcard, as on Linux.
endpoint destination(const endpoint& at);
bool is_wildcard(const net::address& a) noexcept;

/// The address that a socket is bound to.
struct binding {
    net::address at;
    bool v6_only;
};
/// Returns true if both would receive what is sent to one of them.
bool overlap(const binding& a, const binding& b);

}  // namespace coracle::testing::detail
