#pragma once

#include "http/client/shard.hpp"
#include "http/client/waiting_limit.hpp"
#include "http/decoding_source.hpp"
#include "http/h1/chunked_decoder.hpp"

#include <coracle/http/answer_info.hpp>
#include <coracle/http/call.hpp>
#include <coracle/http/response.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace coracle::http::detail {

/// What holds for the body of an answer while it is read.
struct body_rules {
    duration idle{};
    time_point whole = time_point::max();
    std::uint64_t low_speed = 0;
    duration low_speed_time{};
    std::uint64_t rate = 0;
    std::uint64_t most = 0;  ///< bytes, decoded; 0: no limit
    std::size_t body_limit = 0;
    std::uint64_t block = 0;  ///< that it is received into, at most
};

/// The rest of an answer: its body as it comes off the connection (RFC 9112 sections 6 and 7),
/// which it holds until the body has ended.
class incoming final : public response_extension, public body_source {
public:
    incoming(client_shard& s, http::method asked, answer_info info, time_point started)
        : shard_(s), method_(asked), info_(std::move(info)), started_(started) {}
    /// Bytes behind the object, for a body that it holds.
    struct room {
        std::size_t bytes;
    };
    static void* operator new(std::size_t size, room behind);
    static void operator delete(void* p, room) noexcept { operator delete(p); }
    static void operator delete(void* p) noexcept;

    /// The body is there already, and is copied into the room behind this.
    void holds(std::string_view all, const body_rules& rules) noexcept;
    /// The body comes off this connection, which is given back at its end if `reusable`.
    void comes_from(lease from, h1::body_framing framing, std::uint64_t length, bool reusable,
                    const body_rules& rules);
    void answers_head(const h1::response_head& head) noexcept {
        to_head_ = true;
        if (head.has_content_length) head_length_ = head.content_length;
    }
    /// Decodes the body, if all of its codings are known, and takes out of `of` what then says
    /// something else than there is.
    void decode(fields& of, const client_options& o);
    void tell(unique_function<bool(const progress&)> f, const progress& p) {
        tell_ = std::move(f);
        progress_ = p;
    }

    received_body* received() noexcept override { return &body_; }
    const std::string_view* rest() noexcept override {
        const bool plain = decoders_.empty() && !tell_;
        return there_ && plain && !is_beyond(rest_.size()) ? &rest_ : nullptr;
    }
    void take_rest() noexcept override {
        rest_ = {};
        left_ = 0;
        body_ = received_body();
    }
    answer_info* info() noexcept override { return &info_; }
    answer_info& details() noexcept { return info_; }
    std::size_t body_limit() const noexcept override { return rules_.body_limit; }
    const std::optional<std::uint64_t>* head_length() const noexcept override {
        return to_head_ ? &head_length_ : nullptr;
    }

    task<std::expected<std::string_view, error>> read() override;
    std::optional<std::uint64_t> length() const noexcept override;
    const fields* trailers() const noexcept override { return trailers_.get(); }
    void refused(std::error_code why) noexcept override;

    /// Whether all of it is known to come within so many bytes.
    bool ends_within(std::uint64_t bytes) const noexcept {
        return there_ || (framing_ == h1::body_framing::length && left_ <= bytes);
    }
    /// What left HTTP: a connection for who takes it over.
    void gives_up(lease from) noexcept {
        lease_ = std::move(from);
        left_http_ = true;
    }
    std::optional<detached_connection> detach() noexcept override;

private:
    std::expected<std::string_view, error> next_piece();
    std::expected<std::string_view, error> next_of_length();
    std::expected<std::string_view, error> next_of_chunks();
    std::expected<std::string_view, error> lend(std::string_view piece);
    std::expected<void, error> count(std::size_t bytes);
    std::expected<void, error> take(std::size_t bytes);
    bool is_beyond(std::uint64_t bytes) const noexcept {
        return rules_.most != 0 && bytes > rules_.most;
    }
    std::expected<std::string_view, error> take_what_is_there();
    std::uint32_t largest_block() const noexcept;
    task<std::expected<void, error>> receive_more();
    task<std::expected<void, error>> keep_to_rate();
    bool watches_speed() const noexcept {
        return rules_.low_speed != 0 && rules_.low_speed_time > duration::zero();
    }
    /// Until too few bytes have come for too long.
    duration speed_patience() const noexcept { return rules_.low_speed_time - slow_time_; }
    void finish();
    /// There is no more of it: says so now, and to whoever reads again.
    error failed(error e);
    error stalled();

    shard_use shard_;
    http::method method_;
    answer_info info_;
    time_point started_;
    received_body body_;
    std::vector<std::unique_ptr<decoding_source>> decoders_;
    std::string_view rest_;
    bool there_ = false;
    bool to_head_ = false;
    bool left_http_ = false;
    bool receiving_ = false;  ///< or a wait for bytes was given up
    std::unique_ptr<error> failure_;
    std::optional<std::uint64_t> head_length_;

    lease lease_;
    body_rules rules_;
    h1::body_framing framing_ = h1::body_framing::none;
    bool reusable_ = false;
    std::uint64_t left_ = 0;
    std::size_t lent_ = 0;
    std::uint64_t received_ = 0;
    std::optional<h1::chunked_decoder> decoder_;
    std::unique_ptr<fields> trailers_;
    time_point reading_since_{};
    duration slow_time_{};  ///< waited for `slow_bytes_`
    std::uint64_t slow_bytes_ = 0;
    unique_function<bool(const progress&)> tell_;
    progress progress_;
};

}  // namespace coracle::http::detail
