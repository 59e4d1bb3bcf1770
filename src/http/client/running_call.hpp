#pragma once

#include "http/client/incoming.hpp"
#include "http/client/request_head.hpp"

#include <string>

namespace coracle::http::detail {

using call_result = std::expected<response, error>;

/// One call from its start to the head of the answer that the caller gets: its attempts and the
/// redirects that it follows. Lives in the frame of `run_call`.
class running_call {
public:
    /// Its time limits count from `started`.
    running_call(client_shard& s, call_state& c, time_point started);
    ~running_call();
    running_call(const running_call&) = delete;
    running_call& operator=(const running_call&) = delete;

    /// Finds out where it goes.
    std::expected<void, error> prepare();
    /// Sends the request once, and waits for the head of its answer.
    task<call_result> attempt();

    /// `afresh`: at once, on a new connection, for the one that waited was stale.
    enum class verdict : std::uint8_t { done, again, afresh, redirect, authenticate };
    verdict judge(const call_result& a);
    /// What has to happen before the next attempt; gives why there is none.
    task<std::expected<void, error>> before_next(verdict v, call_result& a);
    call_result complete(call_result a);

private:
    // running_call.cpp: where the request goes.
    std::expected<void, error> go_to(url where);
    std::expected<void, error> choose_credentials(const url& where);
    std::expected<secret, error> authorization();
    std::expected<secret, error> proxy_authorization();
    bool challenged_by_proxy(const fields& answer);
    bool is_safe_protocol(std::string_view scheme) const noexcept;
    std::expected<void, error> follow_redirect(const response& r);
    bool wants_redirect(const response& r) const;
    verdict judge_failure(const error& e);
    verdict judge_status(const response& r);
    bool may_retry();
    bool idempotent() const noexcept;
    bool may_be_sent_again() const noexcept;
    bool can_repeat_body() const noexcept;
    duration retry_delay(const call_result& a);
    task<void> drop_answer(call_result& a);
    http::method call_method() const noexcept;
    bool may_have_answered(const error& e) const noexcept;

    // connecting.cpp
    bool has_turn() noexcept;
    task<std::expected<lease, error>> get_connection();
    task<std::expected<void, error>> wait_for_room(lease& granted);
    task<std::expected<bool, error>> is_fit(lease& granted);
    task<std::expected<lease, error>> open_connection();
    operation<std::unique_ptr<net::byte_stream>> reach_origin(connect::timings& parts);
    task<std::expected<std::unique_ptr<net::byte_stream>, error>> connect_to_peer(
        const tls::stream** secured);

    // sending.cpp
    bool has_body() const noexcept;
    bool asks_before_body() const noexcept;
    bool send_at_once(buffer& out);
    task<std::expected<void, error>> send_request(buffer& out);
    task<std::expected<void, error>> send_head_and_body(buffer& out);
    task<std::expected<void, error>> hear_refusal();
    task<std::expected<void, error>> send_unless_refused(buffer& out);
    task<std::expected<void, error>> keep_to_rate(coracle::detail::context& who,
                                                  std::uint64_t bytes);
    std::uint64_t largest_step() const noexcept;
    task<std::expected<void, error>> send_pieces(std::span<slice> pieces, bool more);
    task<std::expected<void, error>> send_now(std::span<slice> pieces, bool more);
    task<std::expected<void, error>> send_slowly(std::span<slice> pieces, bool more);
    task<std::expected<void, error>> send_bytes(std::string_view head, std::string_view bytes);
    task<std::expected<void, error>> send_file_body();
    std::expected<void, error> compose(buffer& out);
    bool tell_sent(std::uint64_t bytes);
    error announced_otherwise(std::uint64_t size, const char* written) const;
    friend class request_body_writer;

    // receiving.cpp
    task<std::expected<bool, error>> wait_for_continue();
    /// Keeps what was received, or what the receive was lent.
    void take_input(net::receive& from, std::expected<buffer, error>& got) noexcept;
    enum class head_state : std::uint8_t { partial, interim, final };
    std::expected<head_state, error> look_at_head();
    error head_failure(error e);
    error beyond(const char* limit) const;
    response make_response();
    body_rules rules() const noexcept;
    answer_info info_of_answer() const;
    /// As TLS names it; empty without it.
    std::string_view tls_version() const noexcept;

    /// What goes over the wire, secrets masked, where the options want to see it.
    void log_connection() const;
    void log_head(char direction, std::string_view head) const;
    void log_retry(const call_result& a, duration delay) const;
    error fail(error e, phase where) const;
    /// `limit`: the option that ended it, unless that was one of the whole.
    error out_of_time(phase where, const char* limit) const;
    answer_info info_of_attempt() const;
    answer_info info_so_far() const;
    time_point now() const noexcept { return shard_->owner().now(); }
    duration since_start() const noexcept { return now() - started_; }

    shard_use shard_;
    call_state& call_;
    std::shared_ptr<const prepared_options> client_options_;
    const client_options* options_;
    std::shared_ptr<const transport> way_;

    url to_;
    origin* origin_ = nullptr;
    std::string_view method_;
    coracle::detail::context* who_ = nullptr;
    waiting_limit limit_;
    time_point started_;
    time_point call_whole_ = time_point::max();
    time_point whole_ = time_point::max();  ///< of this attempt
    phase reached_ = phase::none;           ///< by what connects

    lease connection_;
    bool fresh_ = false;          ///< no connection that was used before
    bool body_dropped_ = false;   ///< a redirect made it a GET
    bool body_sent_ = false;      ///< one that cannot be repeated was begun
    bool left_origin_ = false;    ///< a redirect led to another one
    bool body_whole_ = true;      ///< the request was sent to its end
    bool rest_has_body_ = false;  ///< what is left to send is head and body
    bool head_logged_ = false;    ///< that of the answer
    unsigned attempts_ = 0;
    unsigned retries_ = 0;
    unsigned redirects_ = 0;
    unsigned interim_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t body_bytes_ = 0;
    std::uint64_t received_ = 0;
    time_point sending_since_{};
    std::size_t head_size_ = 0;
    std::shared_ptr<authenticator> auth_;  ///< of the origin; null: nothing to say
    unsigned challenges_ = 0;              ///< answered
    unsigned proxy_challenges_ = 0;        ///< likewise
    call_timings times_;
};

}  // namespace coracle::http::detail
