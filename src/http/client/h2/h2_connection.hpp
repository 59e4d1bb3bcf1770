#pragma once

#include "http/client/client_connection.hpp"
#include "http/h2/received_content.hpp"
#include "http/h2/session.hpp"

#include <coracle/base/detail/intrusive_list.hpp>
#include <coracle/runtime/operation.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

class client_h2_connection;
class client_h2_exchange;

/// The link of a connection in the list of its origin's HTTP/2 connections.
struct h2_place_link : list_hook {};
/// The link of an exchange in the lists of its connection.
struct h2_exchange_link : list_hook {};

/// Detects a silent server: sends a PING after a time without received bytes, and loses the
/// connection when nothing follows.
class h2_silence_watch final : deadline {
public:
    h2_silence_watch(loop& owner, client_h2_connection& c) noexcept
        : deadline(owner), connection_(&c) {}
    /// Starts watching, if it is not under way already.
    void begin() noexcept;
    void end() noexcept { disarm(); }

private:
    void expired() noexcept override;

    client_h2_connection* connection_;
    bool asked_ = false;
    time_point asked_at_{};
};

/// The writing task's wait for frames. Frames of several tasks of one turn of the loop are written
/// together.
class [[nodiscard]] h2_writing_turn final : public coracle::detail::leaf<h2_writing_turn, void> {
public:
    static constexpr const char* name = "frames to send";
    explicit h2_writing_turn(client_h2_connection& c) noexcept : connection_(&c) {}
    bool start() noexcept;
    void cancel() noexcept override;
    std::expected<void, error> result() const noexcept { return {}; }
    void come() noexcept { owner().hand_over(*this); }

private:
    client_h2_connection* connection_;
};

/// A connection of HTTP/2 (RFC 9113): owns the transport stream and the session, and reads and
/// writes for all exchanges in two tasks of the loop. It is destroyed when it and both tasks have
/// ended. When it is lost, its exchanges fail with the reason.
class client_h2_connection final : public client_connection,
                                   public h2_place_link,
                                   public h2::session_events {
public:
    client_h2_connection(origin& home, std::unique_ptr<net::byte_stream> stream,
                         const tls::session_info* secured);

    /// Starts reading and writing. Without memory the connection is lost at once.
    void start() noexcept;

    h2::session& session() noexcept { return session_; }
    h2::instant now() const noexcept;
    /// Returns the number of exchanges.
    std::size_t exchanges() const noexcept { return exchanges_count_; }
    /// Returns true if one more exchange may begin now; `most` is the limit of the pool.
    bool has_place(std::size_t most) const noexcept;
    const client_h2_options& options() const noexcept { return *options_; }
    /// Sends a PING to find out if the server is still there.
    void ping() noexcept;
    /// Loses the connection because the server is silent.
    void lose_silent() noexcept;
    /// Returns true if it can ever carry further exchanges.
    bool usable() const noexcept;
    /// Writes the frames of the session in this turn of the loop.
    void wake_writer() noexcept;
    /// The block that the session is parsing.
    const h2::shared_block& block_in_hand() const noexcept { return in_hand_; }
    /// To be called when an exchange is over. `after_silence`: it was cancelled after a time
    /// without received bytes. `reported` is false if there was no memory for a RST_STREAM: then
    /// the connection ends.
    void ended(client_h2_exchange& e, bool after_silence, bool reported) noexcept;
    void lose_without_memory() noexcept;
    /// A list for the fields of a head that is about to be sent, so that each head finds its
    /// memory.
    std::vector<http::field>& head_lines() noexcept { return head_lines_; }
    /// Returns true when the peer's SETTINGS have been received.
    bool knows_settings() const noexcept { return knows_settings_; }
    /// Notes that an exchange waits until it may begin.
    void wants_place() noexcept { place_is_wanted_ = true; }
    /// To be called when the peer refuses streams below its announced limit.
    void refuses_more() noexcept;
    /// To be called when a stream is reset because its call was given up.
    void gave_up() noexcept;
    /// The time at which bytes were last received.
    time_point received_at() const noexcept { return received_at_; }
    /// The time since then in which there was an exchange. To be called while there is one.
    duration silence() const noexcept;
    const std::optional<error>& lost() const noexcept { return lost_; }

    // ---- client_connection
    client_exchange& begin_exchange() override;
    bool begin_waiting(time_point until) noexcept override;
    void end_waiting() noexcept override { disarm(); }
    bool fit() noexcept override { return usable(); }
    void end(bool reset) noexcept override;
    void abandon() noexcept override;

private:
    friend class h2_writing_turn;
    class running;

    ~client_h2_connection() override = default;
    task<> read();
    task<> write();
    task<> write_until_over();
    task<std::expected<void, error>> write_batch();
    void take(buffer received);
    void lose(error e) noexcept;
    void lose_to_failure();
    void task_ended() noexcept;
    void offer_places() noexcept;
    void completed_one() noexcept;
    void write_last_words() noexcept;
    void stop_tasks() noexcept;
    void destroy_if_over() noexcept;

    // ---- session_events
    h2::stream* open() override { return nullptr; }
    void head_received(h2::stream& s, const h2::head& message, bool end) override;
    void head_too_large(h2::stream& s, h2::head_fault limit) override;
    void data_received(h2::stream& s, std::string_view piece) override;
    void end_received(h2::stream& s, const h2::head* trailers) override;
    void sent(h2::stream& s) override;
    void closed(h2::stream& s) override;
    void failed(h2::stream& s, h2::error_code code, bool by_peer) override;
    void settings_received(const h2::peer_settings&) override;
    void goaway_received(std::uint32_t last, h2::error_code code, std::string_view debug) override;
    void pong_received(std::uint64_t) override;
    void limit_reached(h2::limit_kind kind) override;

    const client_h2_options* options_;
    h2_limits limits_;
    h2::session session_;
    loop* owner_;
    intrusive_list<h2_exchange_link> exchanges_;  ///< exchanges that were not released
    intrusive_list<h2_exchange_link> leaving_;    ///< released exchanges with bytes being sent
    std::size_t exchanges_count_ = 0;
    static constexpr std::size_t unlimited = ~std::size_t{0};
    std::size_t most_ = unlimited;  ///< limit of exchanges, after one was refused
    std::size_t completed_ = 0;     ///< since then, or since the limit was raised
    h2::token_bucket resets_left_;
    bool worn_ = false;  ///< it has reset so many streams that it carries no further exchanges
    std::uint32_t begun_ = 0;
    time_point received_at_{};
    time_point waits_since_{};  ///< with an exchange, and without a byte received
    duration waited_{};         ///< so, before
    time_point pinged_{};
    h2_silence_watch watch_;

    std::vector<http::field> head_lines_;
    std::vector<std::string_view> views_;
    std::vector<slice> slices_;
    h2_writing_turn* waiting_ = nullptr;
    coracle::detail::context* reader_ = nullptr;
    coracle::detail::context* writer_ = nullptr;

    h2::shared_block in_hand_;
    std::optional<error> lost_;
    std::optional<error>
        farewell_;  ///< the reason of the peer's GOAWAY, if it was an error of ours
    std::optional<h2::limit_kind> exceeded_;  ///< by the server
    unsigned tasks_ = 0;
    bool knows_settings_ = false;
    bool place_is_wanted_ = false;
    bool silent_ = false;      ///< an exchange was cancelled, and nothing was received since
    bool last_words_ = false;  ///< the writer ends after the queued frames
    bool ending_ = false;      ///< it was removed from its pool
    bool resets_ = false;
    bool receiving_ = false;  ///< the session is parsing bytes
};

}  // namespace coracle::http::detail
