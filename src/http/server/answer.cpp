// How a connection writes its answers.

#include "http/h1/head_writer.hpp"
#include "http/message/trailer.hpp"
#include "http/server/connection.hpp"
#include "http/server/failure.hpp"
#include "http/server/guarded_call.hpp"

#include <cerrno>
#include <cstring>

namespace coracle::http::detail {
namespace {

using counters = server_counters;

/// Bodies up to this size are copied behind their head; larger ones are sent from where they are.
constexpr std::size_t copied_body = 16 * 1024;
/// Answers are gathered up to about this size before they are sent.
constexpr std::size_t gathered = 256 * 1024;

/// Whether the server itself writes this field.
bool is_ours(field_id id) noexcept {
    switch (id) {
        case field_id::content_length:
        case field_id::transfer_encoding:
        case field_id::connection:
        case field_id::keep_alive:
        case field_id::date: return true;
        default: return false;
    }
}

/// RFC 9110 sections 6.4.1 and 15.3.6.
bool may_have_body(const exchange& e) noexcept {
    if (e.req.method() == method::head) return false;
    const status code = e.res.status();
    if (code == status::ok) [[likely]]
        return true;
    return code != status::no_content && code != status::reset_content &&
           code != status::not_modified && static_cast<int>(code) >= 200;
}

/// RFC 9110 section 8.6: not in a 1xx or 204; in a 304 only with the length of the 200.
bool may_have_length(status code) noexcept {
    return code != status::no_content && code != status::not_modified &&
           static_cast<int>(code) >= 200;
}

/// What an answer whose body is in memory tells as its length: one to HEAD that another server gave
/// has no body, and is passed on with the length that it came with (RFC 9110 section 8.6).
std::optional<std::uint64_t> told_length(exchange& e) noexcept {
    const std::size_t size = e.res.body().bytes().size();
    response_extension* const rest = e.res.extension();
    if (size != 0 || rest == nullptr || e.req.method() != method::head) return size;
    const auto* const told = rest->head_length();
    return told == nullptr ? size : *told;
}

/// What the server itself may write into a head, but for the texts of others.
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

/// RFC 9110 section 7.8: what has an Upgrade field names it in Connection.
std::string_view connection_with_upgrade(bool keep_alive, version v) noexcept {
    if (!keep_alive) return "close, upgrade";
    return v == version::http_1_0 ? "keep-alive, upgrade" : "upgrade";
}

/// Whether it may end an exchange: interim ones may not, and no other is known to clients.
bool is_final(status code) noexcept {
    return static_cast<unsigned>(code) - 200U < 800U;
}

}  // namespace

bool connection::fits(const exchange& e) const noexcept {
    const body& b = e.res.body();
    return b.in_memory() && b.bytes().size() <= copied_body && output_.size() < gathered &&
           is_final(e.res.status());
}

void connection::write_head(exchange& e, std::optional<std::uint64_t> length, bool chunked) {
    const server_options& o = shard_->options();
    const bool switches = e.res.status() == status::switching_protocols;
    if (requests_ >= o.limits.requests || shard_->owner().now() >= retires_) {
        keep_alive_ = false;
        lingers_ = true;  // more requests may be under way
        shard_->count(&counters::retired);
    }
    if (shard_->draining()) lingers_ = true;
    const bool leaves_body = !e.body.complete() && e.res.body().type() != body::kind::stream;
    if (leaves_body) e.body.discard_received();
    if (!e.keep_alive || shard_->draining() ||
        (leaves_body && !e.body.ends_within(o.limits.discard))) {
        keep_alive_ = false;
    }
    if (e.body.continue_is_due()) {
        // The answer is there: a 100 behind its head would be taken for a part of it.
        e.body.drop_continue();
        keep_alive_ = false;
    }
    if (e.res.status() == status::reset_content) {
        chunked = false;
        length = 0;
    }
    if (!output_) shard_->take_output(output_);
    output_.reserve_spare(head_bound(e, o.server_name));

    char* const begin = output_.spare();
    char* out = write_start(begin, e.res.status(), shard_->start_of_head());
    if (!o.server_name.empty()) out = h1::write_field(out, field_id::server, o.server_name);
    bool has_type = false;
    bool offers_upgrade = false;
    for (const field& f : e.res.fields()) {
        if (is_ours(f.id)) continue;
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
    if (switches)
        out = h1::write_field(out, field_id::connection, "upgrade");
    else if (offers_upgrade)
        out = h1::write_field(out, field_id::connection,
                              connection_with_upgrade(keep_alive_, e.req.version()));
    else if (!keep_alive_)
        out = h1::write_connection(out, false);
    else if (e.req.version() == version::http_1_0)
        out = h1::write_connection(out, true);
    out = h1::write_head_end(out);
    output_.commit(static_cast<std::size_t>(out - begin));
}

void connection::write_in_memory(exchange& e) {
    const std::string_view bytes = e.res.body().bytes();
    write_head(e, told_length(e), false);
    if (!may_have_body(e)) return;
    output_.append(bytes);
    e.body_bytes = bytes.size();
}

bool connection::flush_now() {
    while (!output_.empty()) {
        const std::int64_t n = stream_->try_send(output_.view());
        if (n < 0) return false;
        output_.consume(static_cast<std::size_t>(n));
    }
    if (output_) shard_->give_back(output_);
    return true;
}

task<bool> connection::flush() {
    bool ok = flush_now();
    if (!ok) {
        slice all(output_.view());
        ok = co_await send_all({&all, 1});
        output_.release();
    }
    co_return ok;
}

/// Waits for an operation that moves bytes out, as long as it moves some.
template <class Op>
task<std::expected<void, error>> connection::finish_write(Op& op) {
    const phase before = phase_;
    phase_ = phase::write;
    wait_ = &op;
    progress_ = &op.progress();
    progress_seen_ = 0;
    stalls_ = 0;
    arm_in(shard_->options().timeouts.write / write_checks);
    auto sent = co_await as_result(op);
    progress_ = nullptr;
    wait_ = nullptr;
    disarm();
    phase_ = before;
    if (sent) co_return std::expected<void, error>();
    keep_alive_ = false;
    reset_ = true;
    if (sent.error() == std::errc::broken_pipe || sent.error() == std::errc::connection_reset) {
        client_gone_ = true;
        count_gone();
    }
    log(log_level::debug, sent.error().message());
    co_return std::unexpected(std::move(sent).error());
}

task<bool> connection::send_all(std::span<slice> pieces) {
    net::send op = stream_->send(pieces);
    const auto sent = co_await finish_write(op);
    co_return sent.has_value();
}

task<std::expected<void, error>> connection::send_continue() {
    if (!output_) shard_->take_output(output_);
    output_.append("HTTP/1.1 100 Continue\r\n\r\n");
    const bool ok = co_await flush();
    if (ok) co_return std::expected<void, error>();
    co_return std::unexpected(error(std::errc::broken_pipe, "body", coracle::phase::send));
}

task<bool> connection::write_answer(exchange& e) {
    const bool in_memory = e.res.body().in_memory();
    if (in_memory && e.res.upgrade() != nullptr) return write_upgrade(e);
    if (!is_final(e.res.status())) {
        log(log_level::error, "a handler answered with a status that is interim, or none");
        e.res = response(status::internal_server_error, "500 Internal Server Error\n");
    }
    switch (e.res.body().type()) {
        case body::kind::file: return write_file(e);
        case body::kind::stream: return write_stream(e);
        default: return write_bytes(e);
    }
}

task<bool> connection::write_bytes(exchange& e) {
    const std::string_view bytes = e.res.body().bytes();
    if (bytes.size() <= copied_body) {
        write_in_memory(e);
        co_return co_await flush();
    }
    write_head(e, bytes.size(), false);
    if (!may_have_body(e)) co_return co_await flush();
    slice pieces[] = {output_.view(), bytes};
    const bool ok = co_await send_all(pieces);
    output_.release();
    e.body_bytes = bytes.size();
    co_return ok;
}

task<bool> connection::write_file(exchange& e) {
    const file_range& part = e.res.body().file_part();
    write_head(e, part.size(), false);
    if (!may_have_body(e) || part.size() == 0) co_return co_await flush();
    // The head waits for the first bytes of the file, so that both leave in one segment.
    net::send head = stream_->send(output_.view(), true);
    auto sent = co_await finish_write(head);
    output_.release();
    if (!sent) co_return false;
    net::send_file file = stream_->send_file(part.fd(), part.offset(), part.size());
    sent = co_await finish_write(file);
    e.body_bytes = static_cast<std::uint64_t>(file.progress());
    co_return sent.has_value();
}

/// The pieces of a streamed answer: chunks for HTTP/1.1, bytes up to the end for HTTP/1.0.
class stream_writer final : public body_writer {
public:
    stream_writer(connection& c, exchange& e, bool chunked) noexcept
        : connection_(&c), exchange_(&e), left_(e.res.body().size()), chunked_(chunked) {}

    /// The head is written with the first piece: until then a 100 (Continue) may go before it, and
    /// a failure may still have an answer of its own.
    void begin() {
        if (begun_) return;
        begun_ = true;
        connection_->write_head(*exchange_, left_, chunked_);
    }
    bool begun() const noexcept { return begun_; }
    /// Whether all that was announced has been written.
    bool whole() const noexcept { return left_ == std::uint64_t{0}; }
    /// Whether a write failed for the sake of its file, not of the connection.
    bool file_failed() const noexcept { return failed_ == culprit::file; }

    /// Ends the body; false when it cannot be ended: less than was announced has been written, or a
    /// write has failed.
    bool finish() {
        if (failed_ != culprit::none) return false;
        begin();
        if (left_) return *left_ == 0;
        if (!chunked_) return true;
        buffer& out = connection_->output_;
        if (!out) connection_->shard_->take_output(out);
        const bool with_trailers = trailers_ != nullptr && may_send_trailers();
        std::size_t bound = h1::last_chunk_size + h1::head_end_size;
        if (with_trailers) {
            for (const field& f : *trailers_) bound += h1::field_size(f.name, f.value);
        }
        out.reserve_spare(bound);
        char* const begin = out.spare();
        char* end = h1::write_last_chunk(begin);
        if (with_trailers) {
            for (const field& f : *trailers_) end = h1::write_field(end, f.name, f.value);
        }
        end = h1::write_head_end(end);
        out.commit(static_cast<std::size_t>(end - begin));
        return true;
    }

private:
    /// RFC 9110 section 6.5.1: a client that does not ask for them may drop them unseen, which is
    /// what a handler that announces some accepts.
    bool may_send_trailers() const noexcept {
        return exchange_->req.fields().has_token(field_id::te, "trailers") ||
               exchange_->res.fields().contains(field_id::trailer);
    }

    void add_trailer(std::string_view name, std::string_view value) override {
        if (!may_be_trailer(find_field_id(name))) {
            throw_exception(error(std::errc::invalid_argument, "trailer").on(name));
        }
        if (trailers_ == nullptr) trailers_ = std::make_unique<fields>();
        trailers_->set(name, value);
    }

    task<std::expected<void, error>> write_piece(std::string_view piece) override {
        if (piece.empty()) co_return std::expected<void, error>();
        if (connection_->waits()) co_return one_at_a_time("write");
        if (failed_ != culprit::none) co_return cut("write");
        if (left_ && piece.size() > *left_) {
            co_return std::unexpected(error(std::errc::message_size, "write"));
        }
        begin();
        // The head, when it has not gone yet, leaves in the same write.
        slice pieces[4];
        std::size_t n = 0;
        char size_line[h1::chunk_header_size];
        buffer& head = connection_->output_;
        if (!head.empty()) pieces[n++] = head.view();
        if (chunked_) {
            const char* end = h1::write_chunk_header(size_line, piece.size());
            pieces[n++] = slice(size_line, static_cast<std::size_t>(end - size_line));
        }
        pieces[n++] = piece;
        if (chunked_) pieces[n++] = slice("\r\n", 2);
        const bool ok = co_await connection_->send_all({pieces, n});
        head.release();
        if (!ok) co_return lose("write");
        exchange_->body_bytes += piece.size();
        if (left_) *left_ -= piece.size();
        co_return std::expected<void, error>();
    }

    task<std::expected<void, error>> write_file_part(int fd, std::uint64_t offset,
                                                     std::uint64_t size) override {
        if (size == 0) co_return std::expected<void, error>();
        if (connection_->waits()) co_return one_at_a_time("write_file");
        if (failed_ != culprit::none) co_return cut("write_file");
        if (left_ && size > *left_) {
            co_return std::unexpected(error(std::errc::message_size, "write_file"));
        }
        begin();
        bool ok = co_await write_before_file(size);
        if (!ok) co_return lose("write_file");
        net::send_file file = connection_->stream_->send_file(fd, offset, size);
        auto sent = co_await connection_->finish_write(file);
        exchange_->body_bytes += static_cast<std::uint64_t>(file.progress());
        if (!sent) co_return fail_file(std::move(sent).error());
        if (chunked_) {
            slice line_end("\r\n", 2);
            ok = co_await connection_->send_all({&line_end, 1});
            if (!ok) co_return lose("write_file");
        }
        if (left_) *left_ -= size;
        co_return std::expected<void, error>();
    }

    static std::unexpected<error> cut(const char* operation) noexcept {
        return std::unexpected(error(std::errc::broken_pipe, operation));
    }
    std::unexpected<error> lose(const char* operation) noexcept {
        failed_ = culprit::connection;
        return cut(operation);
    }
    /// Sending a file fails for the sake of the file, or of the connection.
    std::unexpected<error> fail_file(error why) noexcept {
        const bool timed_out = why == std::errc::timed_out || coracle::detail::is_cancellation(why);
        if (timed_out || connection_->client_gone_) return lose("write_file");
        failed_ = culprit::file;
        return std::unexpected(std::move(why));
    }

    /// What stands before the bytes of a file waits for the first of them.
    task<bool> write_before_file(std::uint64_t size) {
        buffer& head = connection_->output_;
        if (chunked_) {
            char size_line[h1::chunk_header_size];
            const char* end = h1::write_chunk_header(size_line, size);
            if (!head) connection_->shard_->take_output(head);
            head.append({size_line, static_cast<std::size_t>(end - size_line)});
        }
        if (head.empty()) co_return true;
        net::send before = connection_->stream_->send(head.view(), true);
        const auto sent = co_await connection_->finish_write(before);
        head.release();
        co_return sent.has_value();
    }

    task<std::expected<void, error>> send_head() override {
        if (connection_->waits()) co_return one_at_a_time("write");
        if (failed_ != culprit::none) co_return cut("write");
        begin();
        const bool ok = co_await connection_->flush();
        if (ok) co_return std::expected<void, error>();
        co_return lose("write");
    }

    enum class culprit : std::uint8_t { none, connection, file };

    connection* connection_;
    exchange* exchange_;
    std::optional<std::uint64_t> left_;  ///< of a body of announced size
    std::unique_ptr<fields> trailers_;
    bool chunked_;
    bool begun_ = false;
    culprit failed_ = culprit::none;  ///< what a write failed for: nothing can follow it
};

task<bool> connection::write_stream(exchange& e) {
    const bool has_body = may_have_body(e);
    const auto size = e.res.body().size();
    const bool chunked =
        !size && e.req.version() != version::http_1_0 && may_have_length(e.res.status());
    // HTTP/1.0 knows the end of a body of unknown size only by the end of the connection.
    if (!chunked && !size && has_body) e.keep_alive = false;
    if (!has_body) {
        write_head(e, size, chunked);
        co_return co_await flush();
    }
    stream_writer writer(*this, e, chunked);
    guarded_call<void> call(e.res.body().stream_part()(writer), handler_context_);
    stream_->watch_hangup(this);
    co_await call;
    stream_->watch_hangup(nullptr);
    const auto thrown = call.exception();
    if (thrown != nullptr && !client_gone_ && !reset_ && !writer.begun()) {
        take_failure(e, thrown);
        co_return co_await write_bytes(e);
    }
    // What was cancelled may have ended before its time, and in order.
    const bool cut = call.own_context().cancelled() && !writer.whole();
    // Also by what was sent before the head, such as a 100.
    const bool lost = reset_ && !writer.file_failed();
    const bool in_order = !cut && !reset_ && thrown == nullptr && writer.finish();
    if (in_order) co_return co_await flush();
    // The client must see that the body is not whole.
    reset_ = true;
    if (client_gone_) count_gone();
    if (client_gone_ || lost) co_return false;
    if (thrown != nullptr)
        take_failure(e, thrown);
    else if (!cut)
        log(log_level::error, "a streamed answer was shorter than it had announced");
    co_return false;
}

/// Instead of a 101 where the body of the request does not end.
task<bool> connection::refuse_upgrade(exchange& e, const error& why) {
    keep_alive_ = false;
    if (client_gone_ || coracle::detail::is_cancellation(why)) {
        if (client_gone_) count_gone();
        reset_ = true;
        co_return false;
    }
    const status answer = status_of(why);
    e.res = response(
        answer, std::to_string(to_code(answer)) + ' ' + std::string(reason_phrase(answer)) + '\n');
    lingers_ = true;
    co_return co_await write_bytes(e);
}

task<bool> connection::write_upgrade(exchange& e) {
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
    keep_alive_ = false;
    upgraded_connection upgraded{*stream_, std::move(into)};
    guarded_call<void> call((*e.res.upgrade())(upgraded), handler_context_);
    co_await call;
    if (auto thrown = call.exception()) take_failure(e, thrown);
    co_return !call.was_stopped();
}

void connection::answered(exchange& e) {
    const int number = static_cast<int>(e.res.status());
    if (number < 300)
        shard_->count(&counters::responses_2xx);
    else if (number < 400)
        shard_->count(&counters::responses_3xx);
    else if (number < 500)
        shard_->count(&counters::responses_4xx);
    else
        shard_->count(&counters::responses_5xx);
    if (e.res.status() == status::content_too_large) shard_->count(&counters::body_too_large);
    const server_options& o = shard_->options();
    if (o.log_access == nullptr) return;
    loop& l = shard_->owner();
    o.log_access(o.log_access_user, {info_.peer(), e.req, e.res.status(), e.body_bytes,
                                     l.now() - e.started, l.unix_time()});
}

}  // namespace coracle::http::detail
