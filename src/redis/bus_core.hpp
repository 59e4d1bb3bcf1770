#pragma once

#include "redis/bus_channels.hpp"
#include "redis/bus_message.hpp"
#include "redis/connection.hpp"

#include <coracle/base/detail/intrusive_list.hpp>
#include <coracle/redis/client.hpp>
#include <coracle/redis/topic_bus.hpp>
#include <coracle/runtime/background.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/task_group.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::redis::detail {

/// The thread of a bus and all that runs there: messages leave by the connection of a client, and
/// come by one of its own.
class bus_core {
public:
    bus_core(std::string_view url, topic_bus_options o);
    bus_core(const bus_core&) = delete;
    bus_core& operator=(const bus_core&) = delete;

    // From any thread.
    void start(websocket::topic_receiver& to);
    void stop() noexcept;
    void publish(std::string_view topic, websocket::message_type type, std::string_view bytes,
                 bool retain) noexcept;
    void subscribe(std::string_view pattern);
    void unsubscribe(std::string_view pattern) noexcept;
    bool is_standing() const noexcept { return standing_.load(std::memory_order_relaxed); }
    topic_bus_counters counters() const noexcept;

private:
    using count = std::atomic<std::uint64_t>;
    static void add(count& to, std::uint64_t n = 1) noexcept {
        to.fetch_add(n, std::memory_order_relaxed);
    }

    /// One of `topic_bus_options::queued`, until it is destroyed.
    class place_in_queue {
    public:
        explicit place_in_queue(std::atomic<std::size_t>& taken) noexcept
            : taken_(&taken), before_(taken.fetch_add(1)) {}
        place_in_queue(place_in_queue&& other) noexcept
            : taken_(std::exchange(other.taken_, nullptr)), before_(other.before_) {}
        place_in_queue& operator=(place_in_queue&&) = delete;
        ~place_in_queue() {
            if (taken_ != nullptr) taken_->fetch_sub(1);
        }
        bool is_within(std::size_t most) const noexcept { return before_ < most; }

    private:
        std::atomic<std::size_t>* taken_;
        std::size_t before_;
    };
    /// Counts a message as dropped unless it was sent, whatever becomes of it.
    class possible_loss {
    public:
        explicit possible_loss(count& of) noexcept : of_(&of) {}
        possible_loss(possible_loss&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
        possible_loss& operator=(possible_loss&&) = delete;
        ~possible_loss() {
            if (of_ != nullptr) add(*of_);
        }
        void averted() const noexcept { of_ = nullptr; }

    private:
        mutable count* of_;
    };
    struct outgoing {
        std::string topic;
        std::string bytes;
        websocket::message_type type;
        bool retain;
        place_in_queue place;
        possible_loss loss;
    };
    enum class fetched : std::uint8_t { now, later, stopped };
    struct ending;
    static constexpr unsigned usual_page = 20;
    struct wanted_messages {
        std::string pattern;
        bool again;     ///< after a gap: for all subscribers
        unsigned page;  ///< messages that are asked for at once, about
    };

    /// A subscription that may have to wait for memory.
    struct short_of_memory : list_hook {
        const std::string* pattern = nullptr;
        bool given_up = false;
    };

    task<> begin();
    task<> send(const outgoing* m);
    operation<reply> command_for(const outgoing& m, const std::string& encoded);

    task<> listen();
    task<> take_up(const std::string* pattern);
    task<bool> listen_once(net::resolver* names, backoff* delays);
    bool begin_gap(error why) noexcept;
    task<> carry(connection& c);
    task<> write_changes(connection& c);
    task<> read_all(connection& c);
    void take(const reply& r);
    void take_message(bool by_glob, std::string_view name, std::string_view channel,
                      std::string_view payload);
    void confirm(bool by_glob, std::string_view name);
    void want_retained(std::string pattern, bool again, unsigned page = usual_page);
    void check_standing();
    void report_gap();
    void lose(error why) noexcept;
    void ping() noexcept;
    task<bool> catch_up();

    task<> fetch_retained();
    task<fetched> fetch_first();
    task<std::expected<void, error>> fetch_one(const wanted_messages* w);
    task<std::expected<void, error>> scan(const wanted_messages* w);
    void restore(const wanted_messages& w, std::string_view topic, std::string_view encoded,
                 std::uint64_t since);
    void log(log_level level, std::string_view text) const;

    const topic_bus_options options_;
    const endpoint endpoint_;
    const std::string retained_key_;
    const std::string order_key_;
    client commands_;
    websocket::topic_receiver* receiver_ = nullptr;
    std::unique_ptr<background> background_;

    // On the loop of the bus.
    intrusive_list<short_of_memory> short_;
    node_id self_{};
    std::uint64_t number_ = 0;
    node_id last_from_{};
    std::uint64_t last_number_ = 0;
    bus_channels channels_;
    std::set<std::string, std::less<>> known_;  ///< patterns that were confirmed once
    std::deque<wanted_messages> to_fetch_;
    /// Those of them that have not begun, and `again` of each.
    std::map<std::string, bool, std::less<>> unbegun_;
    event changed_;
    event fetch_work_;
    task_group* carrying_ = nullptr;
    std::optional<error> lost_;
    std::optional<error> gap_;  ///< why there may be messages that were missed
    time_point gap_since_;
    std::uint64_t dropped_before_ = 0;
    event ponged_;
    std::uint64_t pings_ = 0;       ///< wanted on this connection
    std::uint64_t pings_sent_ = 0;  ///< of these
    std::uint64_t pongs_ = 0;
    std::uint64_t generation_ = 0;  ///< of connections
    bool pinged_ = false;           ///< a PING was sent, and nothing has come since
    bool connected_ = false;

    std::atomic<std::size_t> waiting_{0};
    std::atomic<bool> standing_{false};
    count published_{0};
    count dropped_{0};
    count received_{0};
    count echoes_{0};
    count duplicates_{0};
    count unwanted_{0};
    count foreign_{0};
    count restored_{0};
    count connections_{0};
    count gaps_{0};
    count subscriptions_{0};
};

}  // namespace coracle::redis::detail
