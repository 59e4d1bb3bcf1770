#pragma once

#include "testing/link.hpp"
#include "testing/random.hpp"

#include <coracle/testing/simulated_backend.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace coracle::testing::detail {

enum class event_kind : std::uint8_t {
    bytes,        ///< a piece arrives
    finish,       ///< the end of a direction arrives
    reset,        ///< a reset arrives
    room,         ///< the sender hears that bytes were taken
    call,         ///< a client arrives at a listener
    established,  ///< the client hears that it is connected
    refused,      ///< the client hears that nobody listens
    poke,         ///< what an end waits for is tried again
    poke_listener,
};

/// Something that will happen. Events of one moment happen in the order in which they were made.
struct event {
    time_point at;
    std::uint64_t sequence;
    event_kind kind;
    side towards;
    std::size_t amount;
    std::shared_ptr<detail::link> on;
    std::shared_ptr<listening> listener;

    bool after(const event& e) const noexcept {
        return at != e.at ? at > e.at : sequence > e.sequence;
    }
};

/// The simulated world: its clock, what will happen, its listeners and connections.
class world {
public:
    explicit world(const simulation_options& o);
    virtual ~world() = default;

    // The clock.
    time_point now() const noexcept { return now_; }
    std::int64_t wall_clock() const noexcept;
    std::uint64_t random() noexcept { return for_programs_.next(); }
    /// Lets time pass until `until` or until something happens. False in a deadlock.
    bool pass(time_point until);

    // Descriptors.
    std::expected<int, error> listen(endpoint& at, const socket_options& o);
    std::expected<int, error> open_stream(const endpoint& peer);
    std::expected<endpoint, error> local_endpoint(int fd);
    std::expected<void, error> attach(descriptor& d, int fd);
    void close(int fd, bool reset);
    std::size_t open_descriptors() const noexcept { return open_; }

    // Operations. Each tries once: a count or a negated errno, -EAGAIN when it has to wait.
    std::int64_t try_accept(address_operation& op);
    std::int64_t begin_connect(address_operation& op);
    std::int64_t try_receive(receive_operation& op);
    std::int64_t try_send_all(send_operation& op);
    std::int64_t try_send_file(send_file_operation& op);
    std::int64_t send_some(int fd, std::string_view bytes);
    void shut_output(int fd);
    bool hung_up(int fd);

    /// Whether an operation that could complete at once shall wait instead; if so, it is tried
    /// again in the next turn.
    bool holds_back(int fd);
    /// For a short count, or a refusal to send at once.
    bool falters(std::uint64_t one_in) { return options.split && chance_.one_in(one_in); }
    std::size_t part_of(std::size_t n) { return 1 + chance_.up_to(n - 1); }

    std::uint64_t trace() const noexcept { return trace_; }

    /// Completes what waits on a descriptor, if it can. The backend's.
    class completer {
    public:
        virtual void input_ready(descriptor& d) noexcept = 0;
        virtual void output_ready(descriptor& d) noexcept = 0;
        virtual void connected(descriptor& d, std::int64_t result) noexcept = 0;

    protected:
        ~completer() = default;
    };
    completer* completes = nullptr;

    simulation_options options;

private:
    node* find(int fd) noexcept;
    std::expected<int, error> new_node(node n);
    void schedule(event_kind kind, time_point at, const std::shared_ptr<link>& on, side towards,
                  std::size_t amount = 0, std::shared_ptr<listening> listener = nullptr);
    duration latency();
    time_point next_due(pipe& p);
    void send_reset(const std::shared_ptr<link>& l, side towards);
    std::size_t cut(std::size_t n, cutting how);
    cutting choose_cutting();

    void happen(event& e);
    void bytes_arrive(const std::shared_ptr<link>& l, side towards);
    void finish_arrives(link& l, side towards);
    void reset_arrives(link& l, side towards);
    void call_arrives(const std::shared_ptr<link>& l);
    std::shared_ptr<listening> who_listens(const endpoint& at);
    void close_listener(listening& l);
    void close_end(const std::shared_ptr<link>& l, side which, bool reset);
    void wake_end(end& e);
    void note(event_kind kind, const link* l, std::uint64_t amount, std::string_view bytes = {});

    static constexpr int first_number = 1'000'000;  ///< so that none is mistaken for a real one

    time_point now_;
    time_point start_;
    random_source chance_;
    random_source for_programs_;
    std::vector<event> events_;  ///< a heap
    std::uint64_t sequence_ = 0;
    std::vector<node> nodes_;
    std::vector<int> free_;
    std::size_t open_ = 0;
    std::map<std::string, std::vector<std::shared_ptr<listening>>> listeners_;
    std::uint64_t links_ = 0;
    std::uint16_t last_port_ = 49151;
    std::uint64_t trace_ = 0xcbf29ce484222325;
};

}  // namespace coracle::testing::detail
