// The writing of responses to a connection of HTTP/1.

#include "http/exchange/exchange_scope.hpp"
#include "http/exchange/failure.hpp"
#include "http/exchange/replace_response.hpp"
#include "http/exchange/run_exchange.hpp"
#include "http/exchange/upgrade_offer.hpp"
#include "http/h1/body_end.hpp"
#include "http/message/connection_field.hpp"
#include "http/server/h1_connection.hpp"

#include <coracle/http/h1/head_writer.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace coracle::http::detail {
namespace {

using counters = server_counters;

/// Bodies up to this size are copied after their head; larger ones are sent from where they are.
constexpr std::size_t copied_body = 16 * 1024;
/// Responses are gathered up to about this size before they are sent.
constexpr std::size_t gathered = 256 * 1024;

/// Returns true if the server itself writes this field.
bool is_ours(field_id id) noexcept {
    return id == field_id::content_length || id == field_id::date ||
           (is_connection_field(id) && id != field_id::upgrade);
}

/// The most bytes that the server adds to a head itself.
constexpr std::size_t own_fields = h1::status_line_size() + h1::date_size +
                                   h1::content_length_size + h1::connection_size +
                                   h1::transfer_encoding_size + h1::head_end_size + 64;

std::size_t head_bound(const exchange& e, std::string_view server_name) noexcept {
    std::size_t size = own_fields + e.res.default_type().size() + server_name.size();
    for (const field& f : e.res.fields()) size += h1::field_size(f.name, f.value);
    return size;
}

/// The status line and Date. One copy of a known size for a 200: 60 instructions less.
char* write_start(char* out, status code, const shard::head_start& start) noexcept {
    if (code == status::ok) {
        std::memcpy(out, start.text, sizeof start.text);
        return out + sizeof start.text;
    }
    out = h1::write_status_line(out, code);
    std::memcpy(out, start.text + start.ok.size(), start.date_line);
    return out + start.date_line;
}

/// The protocols that another server speaks, whose response a handler returns, are not ours (RFC
/// 9110 section 7.8). A 426 must name those that it wants.
void drop_received_upgrade(response& r) noexcept {
    const bool is_received = r.extension()->info() != nullptr;
    const bool names_them =
        r.status() == status::switching_protocols || r.status() == status::upgrade_required;
    if (is_received && !names_them) r.fields().remove("Upgrade");
}

/// Looks at the value in place: a call here costs every response its registers.
bool is_close(std::string_view value) noexcept {
    constexpr std::string_view word = "close";
    if (value.size() != word.size()) return false;
    bool same = true;
    for (std::size_t i = 0; i != word.size(); ++i) same = same && (value[i] | 0x20) == word[i];
    return same;
}

/// Writes the Date of another server's response over ours.
void write_received_date(char* head, response& r) noexcept {
    constexpr std::string_view name = "Date: ";
    const std::string_view date = received_date(r);
    char* const line_end = static_cast<char*>(std::memchr(head, '\n', h1::status_line_size()));
    std::ranges::copy(date, line_end + 1 + name.size());
}

/// RFC 9110 section 7.8: what has an Upgrade field names it in Connection.
std::string_view connection_with_upgrade(bool keep_alive, version v) noexcept {
    if (!keep_alive) return "close, upgrade";
    return v == version::http_1_0 ? "keep-alive, upgrade" : "upgrade";
}

/// Returns true for fields about a body, which an interim response does not have (RFC 9110 section
/// 15.2).
bool is_left_out(field_id id) noexcept {
    return is_ours(id) ? id != field_id::date : id == field_id::trailer || id == field_id::upgrade;
}

/// An event for others to wait for, which is set when this is destroyed.
class announced_end {
public:
    explicit announced_end(event*& place) noexcept : place_(&place) { place = &end_; }
    announced_end(const announced_end&) = delete;
    announced_end& operator=(const announced_end&) = delete;
    ~announced_end() {
        *place_ = nullptr;
        end_.set();
    }

private:
    event** place_;
    event end_;
};

}  // namespace

bool h1_connection::fits(const exchange& e) const noexcept {
    const http::body& b = e.res.body();
    return b.in_memory() && b.bytes().size() <= copied_body && output_.size() < gathered &&
           is_final(e.res.status());
}

/// Decides the fate of the connection, which the head announces, when the head is written.
void h1_connection::decide_ending(h1_exchange& e) {
    const server_options& o = shard_->options();
    if (requests_ >= o.limits.requests || shard_->owner().now() >= retires_) {
        end_behind(ending::linger);  // more requests may be under way
        shard_->count(&counters::retired);
    }
    if (shard_->draining()) end_behind(ending::linger);
    // A proxy that looks at no status takes the connection for a tunnel now, and passes on whatever
    // its client sends: that must not be taken for requests.
    if (to_code(e.res.status()) >= 400 && offers_upgrade(e.req, "websocket")) {
        end_behind(ending::linger);
    }
    const bool leaves_body = !e.body.complete() && e.res.body().type() != body::kind::stream;
    if (leaves_body) {
        // A task beside the handler goes on with it.
        if (scope() != nullptr && scope()->tasks->size() != 0)
            end_behind(ending::linger);
        else
            e.body.discard_received();
    }
    if (!e.keep_alive || (leaves_body && !e.body.ends_within(o.limits.discard))) {
        end_behind(ending::close);
    }
    if (e.body.continue_is_due()) {
        // The response has begun: a 100 after its head would be taken for a part of it.
        e.body.drop_continue();
        end_behind(ending::close);
    }
}

buffer& h1_connection::output() {
    if (!output_) shard_->take_output(output_);
    return output_;
}

void h1_connection::write_head(h1_exchange& e, std::optional<std::uint64_t> length, bool chunked) {
    decide_ending(e);
    e.begun = true;
    if (e.res.extension() != nullptr) [[unlikely]]
        drop_received_upgrade(e.res);
    if (e.res.status() == status::reset_content) {
        chunked = false;
        length = 0;
    }
    output().reserve_spare(head_bound(e, shard_->options().server_name));
    char* const begin = output_.spare();
    char* const end = write_fields(begin, e, length, chunked);
    if (e.res.extension() != nullptr) [[unlikely]]
        write_received_date(begin, e.res);
    output_.commit(static_cast<std::size_t>(end - begin));
}

char* h1_connection::write_fields(char* out, h1_exchange& e, std::optional<std::uint64_t> length,
                                  bool chunked) {
    const std::string_view server_name = shard_->options().server_name;
    out = write_start(out, e.res.status(), shard_->start_of_head());
    if (!server_name.empty() && !e.res.fields().contains(field_id::server))
        out = h1::write_field(out, field_id::server, server_name);
    bool has_type = false;
    bool offers_upgrade = false;
    for (const field& f : e.res.fields()) {
        if (is_ours(f.id)) {
            // In another server's response it is about the connection to that one.
            if (f.id == field_id::connection && e.res.extension() == nullptr && is_close(f.value))
                end_behind(ending::linger);
            continue;
        }
        has_type = has_type || f.id == field_id::content_type;
        offers_upgrade = offers_upgrade || f.id == field_id::upgrade;
        out = h1::write_field(out, f.name, f.value);
    }
    if (!has_type && !e.res.default_type().empty()) {
        out = h1::write_field(out, field_id::content_type, e.res.default_type());
    }
    if (chunked)
        out = h1::write_transfer_encoding_chunked(out);
    else if (length && may_have_length(e.res.status()))
        out = h1::write_content_length(out, *length);
    if (e.res.status() == status::switching_protocols)
        out = h1::write_field(out, field_id::connection, "upgrade");
    else if (offers_upgrade)
        out = h1::write_field(out, field_id::connection,
                              connection_with_upgrade(keeps(), e.req.version()));
    else if (!keeps())
        out = h1::write_connection(out, false);
    else if (e.req.version() == version::http_1_0)
        out = h1::write_connection(out, true);
    return h1::write_head_end(out);
}

void h1_connection::write_in_memory(h1_exchange& e) {
    const std::string_view bytes = e.res.body().bytes();
    write_head(e, announced_length(e), false);
    if (!may_have_body(e)) return;
    output_.append(bytes);
    e.body_bytes = bytes.size();
}

bool h1_connection::flush_now() {
    while (!output_.empty()) {
        const std::int64_t n = stream_->try_send(output_.view());
        if (n < 0) return false;
        output_.consume(static_cast<std::size_t>(n));
    }
    if (output_) shard_->give_back(output_);
    return true;
}

task<bool> h1_connection::flush() {
    bool ok = flush_now();
    if (!ok) {
        slice all(output_.view());
        ok = co_await send_all({&all, 1});
        output_.release();
    }
    co_return ok;
}

/// Waits for a write, as long as it makes progress.
template <class Op>
task<std::expected<void, error>> h1_connection::finish_write(Op& op) {
    // The limit of a client that has sent its end is none for what it receives.
    if (!reads_body()) disarm();
    {
        const wait_mark mark(write_.of, op, write_);
        write_.progress = &op.progress();
        write_.pace.begin(shard_->owner().now());
        write_.arm_in(send_pace::between_looks(shard_->options().timeouts));
        co_await coracle::detail::completion(op);
        write_.pace.look(shard_->owner().now(), op.progress());
    }
    if (!reads_body()) back_to(phase_);
    auto sent = op.outcome();
    if (sent && write_.pace.is_too_slow(shard_->options().timeouts)) {
        shard_->count(&counters::write_too_slow);
        sent = std::unexpected(error(errc::too_slow, "write", coracle::phase::send));
    }
    if (sent) co_return std::expected<void, error>();
    end_behind(ending::reset);
    // The kernel has ended it, by TCP_USER_TIMEOUT or because its probes had no reply.
    if (sent.error() == std::errc::timed_out) shard_->count(&counters::write_timeouts);
    if (sent.error() == std::errc::broken_pipe || sent.error() == std::errc::connection_reset) {
        client_gone_ = true;
        count_gone();
    }
    log(log_level::debug, sent.error().message());
    co_return std::unexpected(std::move(sent).error());
}

task<bool> h1_connection::send_all(std::span<slice> pieces) {
    net::send op = stream_->send(pieces);
    const auto sent = co_await finish_write(op);
    co_return sent.has_value();
}

/// Sends what `output_` holds with content, which is one of the pieces; `sent`: its bytes that went
/// out, also on failure.
task<bool> h1_connection::send_counted(std::span<slice> pieces, std::size_t content,
                                       std::uint64_t& sent) {
    std::int64_t before = 0;
    for (const slice& s : pieces.first(content)) before += static_cast<std::int64_t>(s.size);
    const auto size = static_cast<std::int64_t>(pieces[content].size);
    net::send op = stream_->send(pieces);
    const auto done = co_await finish_write(op);
    output_.release();
    sent = static_cast<std::uint64_t>(std::clamp(op.progress() - before, std::int64_t{0}, size));
    co_return done.has_value();
}

task<std::expected<void, error>> h1_connection::send_continue() {
    output().append("HTTP/1.1 100 Continue\r\n\r\n");
    // A task beside this one may begin the response meanwhile.
    const announced_end here(continuing_);
    // Half of it could not be taken back where the reader is cancelled. The write has a limit.
    const auto send = [this] { return flush(); };
    auto sending = shielded(std::chrono::hours(1), send);
    const auto ok = co_await as_result(sending);
    if (ok && *ok) co_return std::expected<void, error>();
    co_return std::unexpected(error(std::errc::broken_pipe, "body", coracle::phase::send));
}

task<bool> h1_connection::send_interim_head(const response& interim) {
    // A client of HTTP/1.0 knows no interim responses (RFC 9110 section 15.2).
    if (exchange_->req.version() == version::http_1_0) co_return true;
    std::size_t bound = h1::status_line_size() + h1::head_end_size;
    for (const field& f : interim.fields()) bound += h1::field_size(f.name, f.value);
    output().reserve_spare(bound);
    char* const begin = output_.spare();
    char* end = h1::write_status_line(begin, interim.status());
    for (const field& f : interim.fields()) {
        if (!is_left_out(f.id)) end = h1::write_field(end, f.name, f.value);
    }
    end = h1::write_head_end(end);
    output_.commit(static_cast<std::size_t>(end - begin));
    co_return co_await flush();
}

task<bool> h1_connection::send_bytes(exchange& e) {
    const std::string_view bytes = e.res.body().bytes();
    if (bytes.size() <= copied_body) {
        write_in_memory(*exchange_);
        co_return co_await flush();
    }
    write_head(*exchange_, bytes.size(), false);
    if (!may_have_body(e)) co_return co_await flush();
    slice pieces[] = {output_.view(), bytes};
    co_return co_await send_counted(pieces, 1, e.body_bytes);
}

task<bool> h1_connection::send_file(exchange& e) {
    const file_range& part = e.res.body().file_part();
    write_head(*exchange_, part.size(), false);
    if (!may_have_body(e) || part.size() == 0) co_return co_await flush();
    const auto sent = co_await send_whole_file(part.fd(), part.offset(), part.size(), e.body_bytes);
    if (!sent) report_file(e, sent.error());
    co_return sent.has_value();
}

/// Bytes before those of a file wait for the first of these, so that both are sent in one segment.
task<std::expected<void, error>> h1_connection::send_whole_file(int fd, std::uint64_t offset,
                                                                std::uint64_t size,
                                                                std::uint64_t& sent) {
    if (!output_.empty()) {
        net::send before = stream_->send(output_.view(), true);
        const auto written = co_await finish_write(before);
        output_.release();
        if (!written) co_return std::unexpected(error(std::errc::broken_pipe, "write_file"));
    }
    net::send_file file = stream_->send_file(fd, offset, size);
    auto done = co_await finish_write(file);
    sent = static_cast<std::uint64_t>(file.progress());
    co_return done;
}

void h1_connection::begin_body(exchange& e, std::optional<std::uint64_t> size, bool has_body) {
    chunked_ = !size && e.req.version() != version::http_1_0 && may_have_length(e.res.status());
    // HTTP/1.0 knows the end of a body of unknown size only by the end of the connection.
    if (!chunked_ && !size && has_body) exchange_->keep_alive = false;
    write_head(*exchange_, size, chunked_);
}

task<bool> h1_connection::send_piece(std::string_view piece, std::uint64_t& sent) {
    // An unsent head is sent in the same write.
    slice pieces[4];
    std::size_t n = 0;
    char size_line[h1::chunk_header_size];
    if (!output_.empty()) pieces[n++] = output_.view();
    if (chunked_) {
        const char* const end = h1::write_chunk_header(size_line, piece.size());
        pieces[n++] = slice(size_line, static_cast<std::size_t>(end - size_line));
    }
    const std::size_t content = n;
    pieces[n++] = piece;
    if (chunked_) pieces[n++] = slice("\r\n", 2);
    co_return co_await send_counted({pieces, n}, content, sent);
}

task<std::expected<void, error>> h1_connection::send_file_piece(int fd, std::uint64_t offset,
                                                                std::uint64_t size,
                                                                std::uint64_t& sent) {
    if (chunked_) {
        char size_line[h1::chunk_header_size];
        const char* const end = h1::write_chunk_header(size_line, size);
        output().append({size_line, static_cast<std::size_t>(end - size_line)});
    }
    auto done = co_await send_whole_file(fd, offset, size, sent);
    if (!done || !chunked_) co_return done;
    slice line_end("\r\n", 2);
    const bool ok = co_await send_all({&line_end, 1});
    if (!ok) co_return std::unexpected(error(std::errc::broken_pipe, "write_file"));
    co_return std::expected<void, error>();
}

void h1_connection::end_body(const fields* trailers) {
    if (chunked_) h1::append_body_end(output(), trailers);
}

task<bool> h1_connection::switch_protocols(exchange& base) {
    h1_exchange& e = *exchange_;
    if (!offers_upgrade(e.req, e.res.header("Upgrade"))) {
        // A 426 must name the protocol to offer (RFC 9110 section 15.5.22).
        response refusal(status::upgrade_required, "426 Upgrade Required\n");
        refusal.set("Upgrade", e.res.header("Upgrade"));
        replace_response(e.res, std::move(refusal));
        co_return co_await send_bytes(base);
    }
    // RFC 9110 section 7.8: the request ends before the other protocol begins.
    if (!e.body.complete()) {
        const auto dropped = co_await drop_body(e);
        if (!dropped) co_return co_await refuse_upgrade(e, dropped.error());
    }
    write_head(e, std::nullopt, false);
    const bool ok = co_await flush();
    if (!ok) co_return false;
    phase_ = phase::handler;
    disarm();
    end_behind(ending::close);
    switched_ = true;
    co_return true;
}

/// In place of a 101 if the body of the request does not end.
task<bool> h1_connection::refuse_upgrade(h1_exchange& e, const error& why) {
    if (client_gone() || coracle::detail::is_cancellation(why)) {
        if (client_gone()) count_gone();
        end_behind(ending::reset);
        co_return false;
    }
    end_behind(ending::linger);
    const status shown = status_of(why);
    response refusal(
        shown, std::to_string(to_code(shown)) + ' ' + std::string(reason_phrase(shown)) + '\n');
    replace_response(e.res, std::move(refusal));
    co_return co_await send_bytes(e);
}

}  // namespace coracle::http::detail
