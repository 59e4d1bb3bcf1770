#pragma once

#include <coracle/runtime/backend.hpp>

#include <sys/socket.h>

#include <atomic>

namespace coracle {
struct messages_operation;
}

namespace coracle::detail {

struct message_headers;

/// The base of all backends that run on the kernel: sockets, clocks, randomness, and the system
/// calls that try an operation without waiting.
class system_backend : public backend {
public:
    system_backend() noexcept;
    ~system_backend() override;
    void enters_thread() noexcept override;
    duration processor_time() const noexcept override;
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
    void shutdown_output(descriptor& d) noexcept override;
    void turn_away(descriptor& d) noexcept override;
    bool prefer_input(descriptor& d, std::size_t bytes) noexcept override;
    void discard(int fd) noexcept override;
    void give_memory_back() noexcept override;

protected:
    /// Each function makes one attempt, and returns a count or a negated errno (-EAGAIN, or for a
    /// connect -EINPROGRESS: it would wait).
    std::int64_t try_accept(address_operation& op) noexcept;
    std::int64_t try_connect(address_operation& op) noexcept;
    std::int64_t try_receive(receive_operation& op) noexcept;
    /// Sends as much as possible and advances the slices. -EAGAIN: not all could be sent.
    std::int64_t try_send_all(coracle::send_operation& op) noexcept;
    /// Sends as much of a file as possible. Returns `unfinished` when it has sent its share of one
    /// turn.
    std::int64_t try_send_file(send_file_operation& op) noexcept;
    static constexpr std::int64_t unfinished = INT64_MIN;

    std::int64_t try_splice_in(splice_operation& op) noexcept;
    std::int64_t try_splice_out(splice_operation& op) noexcept;

    // Datagrams (datagram_calls.cpp).
    std::int64_t try_receive_from(datagram_operation& op) noexcept;
    std::int64_t try_send_to(datagram_operation& op) noexcept;
    std::int64_t try_receive_many(messages_operation& op) noexcept;
    std::int64_t try_send_many(messages_operation& op) noexcept;

    /// Queries the system if there is input to receive.
    bool peek(descriptor& d) noexcept;
    /// Converts `result`, the 0 or negated errno of a call on the connection `d`: the system
    /// reports a reset only once, and then an end for a receive, and EPIPE for a send.
    static std::int64_t true_result(descriptor& d, std::int64_t result) noexcept;
    void close_number(int fd, bool reset) noexcept;
    static int socket_error(int fd) noexcept;

private:
    std::int64_t received_nothing(receive_operation& op, std::int64_t result,
                                  bool borrowed) noexcept;
    std::int64_t receive_single(messages_operation& op) noexcept;
    std::int64_t send_some(messages_operation& op) noexcept;
    std::int64_t send_segments(messages_operation& op) noexcept;
    bool has_headers() noexcept;

    std::atomic<int> thread_clock_{0};
    std::atomic<std::int64_t> spent_before_{0};  ///< set by the thread, with the time
    std::uint64_t random_pool_[32];
    unsigned random_left_ = 0;
    std::size_t not_given_back_ = 0;  ///< freed memory that could not be returned last time
    std::unique_ptr<message_headers> headers_;  ///< for several datagrams in one call
};

inline const sockaddr* as_sockaddr(const endpoint& e) noexcept {
    return reinterpret_cast<const sockaddr*>(e.bytes);
}
inline sockaddr* as_sockaddr(endpoint& e) noexcept {
    return reinterpret_cast<sockaddr*>(e.bytes);
}

inline error system_error(int number, const char* operation) noexcept {
    return {std::error_code(number, std::generic_category()), operation};
}

}  // namespace coracle::detail
