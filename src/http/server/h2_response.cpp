// The response on a stream of HTTP/2.

#include "fs/scattered_read.hpp"
#include "http/exchange/run_exchange.hpp"
#include "http/message/connection_field.hpp"
#include "http/read_file_piece.hpp"
#include "http/server/h2_connection.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

namespace coracle::http::detail {
namespace {

/// Bodies in memory up to this size count as sent once the session has them, as those do over
/// HTTP/1 that go into the buffer of the socket.
constexpr std::size_t sent_at_once = 16 * 1024;

/// Formats the value of ":status".
struct status_text {
    explicit status_text(status shown) noexcept {
        std::to_chars(digits, digits + sizeof digits, to_code(shown));
    }
    field line() const noexcept { return {":status", {digits, sizeof digits}, field_id::other}; }
    char digits[3];
};

/// Returns true for fields that the server writes itself or HTTP/2 forbids.
bool is_ours(field_id id) noexcept {
    return id == field_id::content_length || id == field_id::date || is_connection_field(id);
}

}  // namespace

/// Waits until the session no longer refers to our content, or needs more of it. Cancelling it
/// resets the stream, and still waits for a write that has some of it.
class h2_stream::sent_wait final : public coracle::detail::leaf<sent_wait, void> {
public:
    static constexpr const char* name = "send";
    explicit sent_wait(h2_stream& s) noexcept : stream_(&s) {}
    bool start() noexcept {
        if (stream_->may_go_on()) return true;
        stream_->writer_ = this;
        return false;
    }
    void cancel() noexcept override {
        mark_cancelled();
        stream_->abandon();
        if (stream_->may_go_on()) wake();
    }
    std::expected<void, error> result() const noexcept { return {}; }
    void wake() noexcept {
        stream_->writer_ = nullptr;
        if (!linked()) owner().enqueue(*this);
    }

private:
    h2_stream* stream_;
};

void h2_stream::wake_writer() noexcept {
    if (writer_ != nullptr && may_go_on()) writer_->wake();
}

/// A part of a file, read into the frames of the stream. A thread reads what is not in memory, into
/// a block that then takes its place.
class h2_stream::file_content final : public h2::content_source {
public:
    file_content(h2_stream& s, int fd, std::uint64_t offset, std::uint64_t size) noexcept
        : stream_(&s), fd_(fd), offset_(offset), left_(size) {}
    file_content(const file_content&) = delete;
    file_content& operator=(const file_content&) = delete;
    ~file_content() {
        stream_->starved_ = false;
        stream_->home_->session().withdraw(*stream_);
    }

    /// Bytes that are in no frame yet.
    std::uint64_t left() const noexcept { return left_; }

    std::size_t read(std::span<const std::span<char>> places) noexcept override {
        // A window that opens asks again, while a thread reads what comes next.
        if (stream_->starved_) return 0;
        const std::size_t n = block_.empty() ? read_at_once(places) : take(places.front());
        offset_ += n;
        left_ -= n;
        if (n == 0) {
            stream_->starved_ = true;
            stream_->wake_writer();
        }
        return n;
    }

    /// Reads on where `read` had nothing.
    task<std::expected<void, error>> fetch() {
        if (!block_) block_.obtain(largest_file_piece);
        block_.clear();
        const std::uint64_t wanted = std::min<std::uint64_t>(left_, largest_file_piece);
        auto reading = read_file_piece(
            fd_, offset_, {block_.spare(), static_cast<std::size_t>(wanted)}, "write_file");
        const auto n = co_await std::move(reading);
        if (!n) co_return std::unexpected(n.error());
        block_.commit(*n);
        stream_->starved_ = false;
        stream_->home_->session().resume(*stream_);
        stream_->home_->schedule_flush();
        co_return std::expected<void, error>();
    }

private:
    std::size_t read_at_once(std::span<const std::span<char>> places) const noexcept {
        const auto n = fs::detail::try_read_at(fd_, offset_, places);
        return n ? *n : 0;
    }
    std::size_t take(std::span<char> to) noexcept {
        const std::size_t n = std::min(to.size(), block_.size());
        std::memcpy(to.data(), block_.data(), n);
        block_.consume(n);
        return n;
    }

    h2_stream* stream_;
    int fd_;
    std::uint64_t offset_;
    std::uint64_t left_;
    buffer block_;
};

bool h2_stream::fits() const noexcept {
    response& res = exchange_->res;
    return res.body().in_memory() && res.body().bytes().size() <= sent_at_once &&
           res.upgrade() == nullptr && is_final(res.status());
}

void h2_stream::send_response_head(std::optional<std::uint64_t> length, bool end) {
    exchange& e = *exchange_;
    e.begun = true;
    const std::string_view server_name = owner().options().server_name;
    const shard::head_start& start = owner().start_of_head();
    std::vector<field>& lines = owner().field_lines;
    lines.clear();
    std::string_view date = received_date(e.res);
    if (date.empty()) date = {start.text + start.ok.size() + 6, http_date_size};
    lines.push_back({"date", date, field_id::date});
    if (!server_name.empty() && !e.res.fields().contains(field_id::server)) {
        lines.push_back({"server", server_name, field_id::server});
    }
    bool has_type = false;
    for (const field& f : e.res.fields()) {
        if (is_ours(f.id)) continue;
        has_type = has_type || f.id == field_id::content_type;
        lines.push_back(f);
    }
    if (!has_type && !e.res.default_type().empty()) {
        lines.push_back({"content-type", e.res.default_type(), field_id::content_type});
    }
    char digits[20];
    if (e.res.status() == status::reset_content) length = 0;
    if (length && may_have_length(e.res.status())) {
        const auto last = std::to_chars(digits, digits + sizeof digits, *length).ptr;
        lines.push_back({"content-length",
                         {digits, static_cast<std::size_t>(last - digits)},
                         field_id::content_length});
    }
    // The response has begun: a 100 after it would be malformed.
    continue_due_ = false;
    const status_text code(e.res.status());
    const field control[] = {code.line()};
    home_->session().send_head(*this, control, lines, end);
    home_->schedule_flush();
    if (end) end_request();
}

/// The response is complete before the request: receives and drops a little more of the request,
/// and refuses a longer rest (RFC 9113 section 8.1).
void h2_stream::end_request() noexcept {
    if (stream::over() || !sent_all() || received_all()) return;
    // Each side of a tunnel may end at any time.
    if (tunnel_ != nullptr && !refused_) return;
    refused_ = true;
    // A task beside the handler may still have the last piece.
    give_back(content_.drop_unread());
    const auto left = length();
    if (left && *left > owner().options().limits.discard)
        reset(h2::error_code::no_error);
    else
        arm_in(timeouts().linger_silence);
}

void h2_stream::respond_at_once() {
    offer_bytes();
    owner().responded(*exchange_, client_address());
}

/// Passes a response in memory to the session; it stays in memory until the stream is done.
void h2_stream::offer_bytes() {
    exchange& e = *exchange_;
    const std::string_view bytes = e.res.body().bytes();
    const bool has_body = may_have_body(e) && !bytes.empty();
    send_response_head(announced_length(e), !has_body);
    if (!has_body) return;
    e.body_bytes = bytes.size();
    offer(bytes, true);
}

/// Returns false if the stream is over.
bool h2_stream::offer(std::string_view bytes, bool end) {
    pieces_[0] = bytes;
    const std::span<const std::string_view> pieces(pieces_.data(), bytes.empty() ? 0U : 1U);
    if (lost_ || !home_->session().send_data(*this, pieces, end)) return false;
    begin_write(bytes.size());
    return true;
}

bool h2_stream::offer(file_content& from, std::uint64_t size) {
    if (lost_ || !home_->session().send_from(*this, from, size, false)) return false;
    begin_write(size);
    return true;
}

void h2_stream::begin_write(std::uint64_t size) noexcept {
    offered_ = size;
    writing_ = true;
    send_pace_.begin(owner().owner().now());
    arm_in(send_pace::between_looks(timeouts()));
    home_->schedule_flush();
}

void h2_stream::sent() noexcept {
    if (std::exchange(writing_, false)) disarm();
    wake_writer();
    if (tunnel_ != nullptr) tunnel_->sent();
    end_request();
}

task<bool> h2_stream::send_piece(std::string_view piece, std::uint64_t& sent) {
    if (!offer(piece, false)) co_return false;
    co_await wait_until_sent();
    sent = piece.size() - std::min<std::uint64_t>(piece.size(), lost_ ? given_up() : 0);
    co_return !lost_;
}

task<> h2_stream::wait_until_sent() {
    writes_ = true;
    // Otherwise it only waits behind others.
    const bool waits_for_client =
        needs_window() || std::cmp_greater(unsent(), home_->session().send_window());
    sent_wait gone(*this);
    co_await coracle::detail::completion(gone);
    writes_ = false;
    const time_point now = owner().owner().now();
    const auto moved = static_cast<std::int64_t>(offered_ - unsent());
    if (waits_for_client)
        send_pace_.look(now, moved);
    else
        send_pace_.excuse(now, moved);
}

task<bool> h2_stream::send_bytes(exchange& e) {
    if (lost_) co_return false;
    offer_bytes();
    if (e.res.body().bytes().size() > sent_at_once) co_await wait_until_sent();
    if (lost_) e.body_bytes -= std::min(e.body_bytes, given_up());
    co_return was_sent();
}

/// Returns false, and counts a client that has left, if the response was not sent.
bool h2_stream::was_sent() noexcept {
    if (lost_ && client_gone()) count_gone();
    return !lost_;
}

task<bool> h2_stream::send_file(exchange& e) {
    const file_range& part = e.res.body().file_part();
    const bool has_body = may_have_body(e) && part.size() != 0;
    if (lost_) co_return false;
    send_response_head(part.size(), !has_body);
    if (!has_body) co_return true;
    const auto sent = co_await send_file_piece(part.fd(), part.offset(), part.size(), e.body_bytes);
    if (sent) end_body(nullptr);
    if (!sent) report_file(e, sent.error());
    co_return was_sent() && sent.has_value();
}

task<std::expected<void, error>> h2_stream::send_file_piece(int fd, std::uint64_t offset,
                                                            std::uint64_t size,
                                                            std::uint64_t& sent) {
    file_content content(*this, fd, offset, size);
    if (!offer(content, size)) {
        co_return std::unexpected(error(std::errc::broken_pipe, "write_file"));
    }
    while (sending() && !lost_) {
        co_await wait_until_sent();
        sent = size - content.left();
        if (!starved_ || lost_) break;
        const auto fetched = co_await content.fetch();
        if (!fetched) co_return std::unexpected(fetched.error());
    }
    if (lost_) co_return std::unexpected(error(std::errc::broken_pipe, "write_file"));
    co_return std::expected<void, error>();
}

void h2_stream::begin_body(exchange&, std::optional<std::uint64_t> size, bool has_body) {
    if (!lost_) send_response_head(size, !has_body);
}

void h2_stream::end_body(const fields* trailers) {
    if (lost_) return;
    if (trailers == nullptr) {
        offer({}, true);
        return;
    }
    home_->session().send_head(*this, {}, {trailers->begin(), trailers->size()}, true);
    home_->schedule_flush();
    end_request();
}

task<bool> h2_stream::flush() {
    co_return !lost_;
}

task<bool> h2_stream::send_interim_head(const response& interim) {
    if (lost_) co_return false;
    std::vector<field>& lines = owner().field_lines;
    lines.clear();
    for (const field& f : interim.fields()) {
        if (f.id != field_id::content_length && f.id != field_id::trailer) lines.push_back(f);
    }
    const status_text code(interim.status());
    const field control[] = {code.line()};
    home_->session().send_head(*this, control, lines, false);
    home_->schedule_flush();
    co_return true;
}

}  // namespace coracle::http::detail
