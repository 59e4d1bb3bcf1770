#pragma once

#include "http/client/incoming.hpp"
#include "http/client/send_speed.hpp"

#include <string>

namespace coracle::http::detail {

using call_result = std::expected<response, error>;

class opening;

/// The two copies of a hedged call.
struct hedged_pair {
    /// The connection of the first one, of which nothing may be read but its address.
    const client_connection* first = nullptr;
};

/// The begin of a call, or of one of its copies.
struct call_start {
    time_point started;           ///< its timeouts run from here
    time_point began;             ///< that of the first attempt
    hedged_pair* pair = nullptr;  ///< null: it is sent once
    bool is_second = false;       ///< the second of the pair
};

/// A call from its start to the head of the final response: its attempts and redirects. Lives in
/// the coroutine frame of `run_call`.
class running_call {
public:
    running_call(client_shard& s, call_state& c, const call_start& start);
    ~running_call();
    running_call(const running_call&) = delete;
    running_call& operator=(const running_call&) = delete;

    /// Resolves the URL, the options and the origin of the call.
    std::expected<void, error> prepare();
    /// Makes one attempt: sends the request and waits for the head of the response.
    task<call_result> attempt();

    /// The step after an attempt. `again`: a retry. The others repeat the request at once:
    /// `new_connection`, because an idle connection was stale; `elsewhere`, because the server said
    /// that it did nothing; `over_http_1`, because the server requires it; `misdirected`, on a
    /// connection to this origin alone; `without_expect`, because the server refused "Expect:
    /// 100-continue" (RFC 9110 section 10.1.1).
    enum class verdict : std::uint8_t {
        done,
        again,
        new_connection,
        elsewhere,
        redirect,
        authenticate,
        without_expect,
        over_http_1,
        misdirected
    };
    verdict judge(const call_result& a);
    /// Returns true if the function of the call has been run with the response: the attempt was the
    /// last one, and the call is complete.
    bool responded_early() const noexcept { return early_ != nullptr; }
    /// Prepares the next attempt. Fails when there can be none.
    task<std::expected<void, error>> before_next(verdict v, call_result& a);
    /// Ends the call with this result, to which it adds what it knows.
    void complete_with(error& failure);
    void complete_with(response& r);

private:
    // running_call.cpp: the target of the request.
    std::expected<void, error> keep_to_http_1();
    bool must_be_http_1() const noexcept;
    std::expected<void, error> go_to(url where);
    std::expected<void, error> choose_credentials(const url& where);
    bool reads_netrc() const noexcept;
    bool has_own_authorization() const noexcept;
    std::expected<secret, error> authorization();
    std::expected<secret, error> proxy_authorization();
    bool challenged_by_proxy(const fields& received);
    bool is_safe_protocol(std::string_view scheme) const noexcept;
    std::expected<void, error> follow_redirect(const response& r);
    bool wants_redirect(const response& r) const;
    verdict judge_failure(const error& e);
    verdict judge_status(const response& r);
    bool may_retry();
    bool may_be_repeated(std::string_view method) const noexcept;
    bool idempotent() const noexcept { return may_be_repeated(method_); }
    bool may_be_sent_again() const noexcept;
    bool can_repeat_body() const noexcept;
    duration retry_delay(const call_result& a);
    /// Waits for the time of a retry. Fails where it would come too late.
    task<std::expected<void, error>> before_retry(call_result& a);
    task<void> drop_response(call_result& a);
    http::method call_method() const noexcept;
    bool may_have_responded(const error& e) const noexcept;

    // connecting.cpp
    bool was_granted() noexcept;
    task<std::expected<lease, error>> get_connection();
    task<std::expected<lease, error>> coalesce();
    task<std::expected<void, error>> wait_for_place(lease& granted,
                                                    const client_connection* avoided);
    /// The connection that holds the first of two copies up, and would hold the second up, too.
    const client_connection* avoided() const noexcept {
        return is_second_ ? pair_->first : nullptr;
    }
    task<std::expected<bool, error>> is_fit(lease& granted);
    task<std::expected<lease, error>> open_connection(opening& counted, time_point begun);
    operation<std::unique_ptr<net::byte_stream>> reach_origin(connect::timings& parts);
    task<std::expected<std::unique_ptr<net::byte_stream>, error>> connect_to_peer(
        const tls::session_info** secured);

    // sending.cpp
    bool has_body() const noexcept;
    bool expects_continue() const noexcept;
    bool send_at_once();
    task<std::expected<void, error>> send_request();
    task<std::expected<void, error>> send_head_and_body();
    task<std::expected<void, error>> await_final_head();
    task<std::expected<void, error>> await_refusal();
    task<std::expected<void, error>> send_unless_refused();
    task<std::expected<void, error>> keep_to_rate(coracle::detail::context& context,
                                                  std::uint64_t bytes);
    std::uint64_t largest_step() const noexcept;
    send_speed* slow_upload_watch();
    error sends_too_slowly() const;
    task<std::expected<void, error>> send_now(task<std::expected<void, error>> sending);
    task<std::expected<void, error>> send_piece(std::string_view piece, follows next);
    task<std::expected<void, error>> send_flush();
    task<std::expected<void, error>> send_end(const fields* trailers = nullptr);
    task<std::expected<void, error>> send_bytes(std::string_view bytes);
    task<std::expected<void, error>> send_file_body();
    std::string all_cookies() const;
    std::expected<void, error> compose();
    bool report_sent(std::uint64_t bytes);
    error announced_otherwise(std::uint64_t size, const char* written) const;
    friend class request_body_writer;

    // duplex.cpp
    struct directions;
    task<void> send_beside(directions* both);
    task<void> receive_beside(directions* both);
    task<std::expected<void, error>> await_end_of_sending(directions* both);
    task<std::expected<void, error>> await_hangup();
    task<std::expected<void, error>> send_and_receive();
    response make_early_response();

    // receiving.cpp
    void begin_attempt();
    task<std::expected<void, error>> await_turn();
    task<std::expected<bool, error>> wait_for_continue();
    head_state read_told_head();
    head_state read_next_head();
    task<std::expected<void, error>> tell_interim();
    task<std::expected<void, error>> tell_earlier(call_result& a);
    error head_error() const;
    error head_failure(error e);
    error exceeded(const char* limit) const;
    response make_response();
    call_result switched_response();
    body_rules rules() const noexcept;
    response_info info_of_response() const;
    /// The name of the TLS version; empty without TLS.
    std::string_view tls_version() const noexcept;

    /// Logging of connections and heads, secrets masked, with `client_options::verbose`.
    void log_connection() const;
    void log_head(char direction, std::string_view head) const;
    void log_retry(const call_result& a, duration delay) const;
    void notify_of_failure(const error& why) noexcept;
    error fail(error e, phase where) const;
    /// `limit`: the option that ended the call, unless it was that for the whole call.
    error out_of_time(phase where, const char* limit) const;
    response_info info_of_attempt() const;
    response_info info_so_far() const;
    std::uint64_t sent() const noexcept { return exchange_ ? exchange_->sent() : 0; }
    std::uint64_t received() const noexcept { return exchange_ ? exchange_->received() : 0; }
    /// Returns true if no server has acted on the request of this attempt.
    bool unprocessed() const noexcept {
        return !responded_ && (!exchange_ || exchange_->unprocessed());
    }
    time_point now() const noexcept { return shard_->owner().now(); }
    duration since_start() const noexcept { return now() - started_; }

    shard_use shard_;
    call_state& call_;
    std::shared_ptr<const prepared_options> client_options_;
    const client_options* options_;
    std::shared_ptr<const transport> transport_;

    url to_;
    origin* origin_ = nullptr;
    std::string_view method_;
    coracle::detail::context* context_ = nullptr;
    waiting_limit limit_;
    std::unique_ptr<send_speed> send_speed_;  ///< set with `low_speed_limit`
    time_point started_;
    time_point began_;  ///< the first attempt at this target; its wait for a connection counts
    time_point call_deadline_ = time_point::max();
    time_point attempt_deadline_ = time_point::max();  ///< that of the call, or less
    phase reached_ = phase::none;                      ///< by connecting

    hedged_pair* pair_;
    bool is_second_;
    lease exchange_;
    std::unique_ptr<response> early_;    ///< the response that began before the request was sent
    response_start start_;               ///< of the last head that was read
    bool needs_new_connection_ = false;  ///< requires a new connection
    unsigned moves_ = 0;                 ///< changes of connection that are not retries
    bool body_dropped_ = false;          ///< a redirect changed the method to GET
    bool responded_ = false;             ///< this attempt has got its response
    bool body_sent_ = false;             ///< a body that cannot be repeated was begun
    bool left_origin_ = false;           ///< a redirect led to another origin
    bool left_tls_ = false;              ///< one led from https to http
    bool url_had_user_ = false;          ///< that of the caller
    bool tells_interim_ = false;         ///< the call has a function for interim responses
    bool flushes_ = false;               ///< the exchange has the whole request
    bool head_logged_ = false;           ///< the head of the response was logged
    bool may_expect_ = true;             ///< large bodies use Expect: 100-continue
    bool proxy_may_challenge_ = false;   ///< a forwarding proxy gets no credentials yet
    bool sent_expect_ = false;           ///< this attempt sent Expect
    bool needs_http_1_ = false;          ///< the server does not upgrade over HTTP/2
    bool held_back_ = false;             ///< the budget allowed no further retry
    bool completed_ = false;             ///< its result is known
    unsigned attempts_ = 0;
    unsigned retries_ = 0;
    unsigned redirects_ = 0;
    unsigned interim_ = 0;
    std::uint64_t body_bytes_ = 0;
    steady_rate rate_;                     ///< rate of sending
    std::shared_ptr<authenticator> auth_;  ///< for the origin; null: no credentials
    unsigned challenges_ = 0;              ///< challenges of the origin responded to
    unsigned proxy_challenges_ = 0;        ///< challenges of the proxy responded to
    call_timings times_;
};

}  // namespace coracle::http::detail
