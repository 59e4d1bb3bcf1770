// How the head of an answer is read, and what becomes of its body.

#include "http/client/running_call.hpp"

#include <algorithm>

namespace coracle::http::detail {
namespace {

/// Whole bodies up to this size are copied, so that the buffer is free again.
constexpr std::size_t copied_body = 8 * 1024;
/// How long a server that is asked before the body has to say so (RFC 9110 section 10.1.1).
constexpr duration continue_patience = std::chrono::seconds(1);

/// The head of a request. Credentials in it are overwritten before its block goes to others.
struct request_head_buffer : buffer {
    bool has_secrets = false;

    ~request_head_buffer() {
        if (!has_secrets || !*this) return;
        const std::size_t filled = capacity() - spare_size();
        wipe(spare() - filled, filled);
    }
};

}  // namespace

error running_call::head_failure(error e) {
    if (limit_.passed()) return out_of_time(phase::first_byte, "first_byte_timeout");
    if (coracle::detail::is_cancellation(e)) return e;
    return fail(std::move(e), received_ == 0 ? phase::first_byte : phase::receive);
}

error running_call::beyond(const char* limit) const {
    error e(errc::limit_exceeded, "answer");
    return fail(e.on(limit), phase::receive);
}

std::expected<running_call::head_state, error> running_call::look_at_head() {
    buffer& input = connection_->input;
    h1::response_head& head = shard_->head;
    const h1::head_limits limits{.total = options_->head_limit, .field = options_->head_limit};
    const h1::parse_result r = connection_->parser.parse(input.view(), call_method(), head, limits);
    switch (r.status) {
        case h1::parse_status::need_more: return head_state::partial;
        case h1::parse_status::error: {
            if (r.error == h1::parse_error::head_too_large)
                return std::unexpected(beyond("client_options.head_limit"));
            error e(make_error_code(r.error), "answer");
            return std::unexpected(fail(std::move(e), phase::receive));
        }
        case h1::parse_status::complete: break;
    }
    head_size_ = r.consumed;
    const bool switches = head.code == 101 && call_.fields.contains(field_id::upgrade);
    const bool is_final = head.code >= 200 || switches;
    // One that came while the body was sent is looked at again.
    if (options_->verbose && !head_logged_) log_head('<', input.view().substr(0, head_size_));
    head_logged_ = is_final;
    if (is_final) return head_state::final;
    input.consume(r.consumed);
    if (++interim_ > options_->interim_limit) {
        return std::unexpected(beyond("client_options.interim_limit"));
    }
    if (head.code == 101) {
        return std::unexpected(fail(error(errc::protocol_error, "answer"), phase::receive));
    }
    return head_state::interim;
}

void running_call::take_input(net::receive& from, std::expected<buffer, error>& got) noexcept {
    if (got) received_ += got->size();
    connection_->input = got ? *std::move(got) : std::move(from.received());
}

task<std::expected<bool, error>> running_call::wait_for_continue() {
    for (;;) {
        if (!connection_->input.empty()) {
            auto state = look_at_head();
            if (!state) co_return std::unexpected(std::move(state).error());
            if (*state == head_state::final) {
                // The loop that reads the answer sees it again.
                connection_->parser.reset();
                co_return false;
            }
            if (*state == head_state::interim) {
                if (shard_->head.code == 100) co_return true;
                continue;
            }
        }
        limit_.begin(*who_, continue_patience, whole_);
        net::receive receiving = connection_->receive_more();
        auto got = co_await as_result(receiving);
        limit_.end();
        take_input(receiving, got);
        if (!got && limit_.passed() && now() < whole_) co_return true;
        if (!got) co_return std::unexpected(head_failure(std::move(got).error()));
    }
}

body_rules running_call::rules() const noexcept {
    body_rules r;
    r.idle = options_->idle_timeout;
    r.whole = call_whole_;
    r.low_speed = options_->low_speed_limit;
    r.low_speed_time = options_->low_speed_time;
    r.rate = options_->rate_limit;
    r.most = options_->response_limit;
    r.body_limit = options_->body_limit;
    r.block = options_->receive_block;
    return r;
}

std::string_view running_call::tls_version() const noexcept {
    const tls::stream* const secured = connection_->secured();
    if (secured == nullptr) return {};
    return secured->version() == tls::version::tls_1_3 ? "TLSv1.3" : "TLSv1.2";
}

answer_info running_call::info_of_answer() const {
    answer_info info = info_of_attempt();
    info.version = shard_->head.version;
    info.bytes_received = head_size_;
    return info;
}

response running_call::make_response() {
    h1::response_head& head = shard_->head;
    buffer& input = connection_->input;
    response r(static_cast<status>(head.code));
    const bool none = head.framing == h1::body_framing::none;
    const std::uint64_t length = none ? 0 : head.content_length;
    // What is counted or told of comes piece by piece.
    const bool copied = length <= copied_body && !call_.tells() &&
                        (options_->response_limit == 0 || length <= options_->response_limit);
    const bool whole = none || (head.framing == h1::body_framing::length && copied &&
                                length <= input.size() - head_size_);
    const auto body_size = static_cast<std::size_t>(whole ? length : 0);
    const std::string_view kept = r.fields().memory().copy(input.view().substr(0, head_size_));
    h1::rebase(head, input.data(), head_size_, kept.data());
    r.fields().adopt(head.fields.data(), head.fields.size());
    if (options_->cookies) call_.core->jar().receive(to_, r.fields(), shard_->owner().unix_time());

    const bool leaves_http =
        head.code == 101 || (call_method() == method::connect && head.code / 100 == 2);
    const bool reusable = head.keep_alive && body_whole_;
    std::unique_ptr<incoming> rest(new (incoming::room{body_size}) incoming(
        *shard_, call_method(), info_of_answer(), started_));
    if (call_method() == method::head) rest->answers_head(head);
    if (whole) rest->holds(input.view().substr(head_size_, body_size), rules());
    input.consume(head_size_ + body_size);
    if (leaves_http) {
        rest->gives_up(std::move(connection_));
    } else if (whole) {
        rest->details().bytes_received += body_size;
        rest->details().times.ended = since_start();
        // Bytes that no request asked for are no answer to the next one either.
        if (reusable && input.empty()) {
            connection_.give_back();
        } else {
            connection_.close(false);
        }
    } else {
        rest->comes_from(std::move(connection_), head.framing, length, reusable, rules());
    }
    // A part of a coded content cannot be decoded.
    const bool decodes = options_->accept_compression && !none && head.code != 206;
    if (decodes) rest->decode(r.fields(), *options_);
    if (received_body* const body = rest->received(); !body->ended()) {
        r.set_body(body::relay(*body));
    }
    r.set_extension(std::move(rest));
    return r;
}

task<call_result> running_call::attempt() {
    who_ = &co_await coracle::detail::current_context();
    ++attempts_;
    interim_ = 0;
    sent_ = received_ = 0;
    body_whole_ = true;
    rest_has_body_ = false;
    head_logged_ = false;
    times_ = {};
    whole_ = call_whole_;
    if (const duration one = options_->retry.attempt_timeout; one > duration::zero()) {
        // The wait for a turn is a part of the first.
        const time_point since = attempts_ == 1 ? started_ : now();
        whole_ = std::min(whole_, coracle::detail::later(since, one));
    }
    const bool idle_will_do = !fresh_ && !has_turn();
    connection_ = idle_will_do ? shard_->pool().take_idle(*origin_) : lease();
    if (!connection_) {
        auto got = co_await get_connection();
        if (!got) co_return std::unexpected(std::move(got).error());
        connection_ = *std::move(got);
    }
    {
        request_head_buffer out;
        auto composed = compose(out);
        if (!composed) co_return std::unexpected(std::move(composed).error());
        out.has_secrets = auth_ != nullptr || origin_->forwards() ||
                          call_.fields.contains(field_id::authorization);
        if (options_->verbose) {
            log_connection();
            log_head('>', out.view());
        }
        if (!send_at_once(out)) {
            auto sent = co_await send_request(out);
            // A server that does not want the body says why before it closes.
            if (!sent && !may_have_answered(sent.error())) {
                co_return std::unexpected(std::move(sent).error());
            }
            if (!sent) body_whole_ = false;
        }
    }
    times_.sent = since_start();
    limit_.begin(*who_, options_->first_byte_timeout, whole_);
    for (;;) {
        if (!connection_->input.empty()) {
            auto state = look_at_head();
            if (!state) co_return std::unexpected(std::move(state).error());
            if (*state == head_state::final) break;
            if (*state == head_state::interim) continue;
        }
        net::receive receiving = connection_->receive_more();
        auto got = co_await as_result(receiving);
        take_input(receiving, got);
        if (!got) co_return std::unexpected(head_failure(std::move(got).error()));
    }
    limit_.end();
    times_.first_byte = since_start();
    co_return make_response();
}

}  // namespace coracle::http::detail
