#include "smtp/client/connection.hpp"

#include <coracle/base/log.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/smtp/error.hpp>

#include <utility>

namespace coracle::smtp::detail {
namespace {

error malformed(reply_fault fault) {
    error e(make_error_code(errc::malformed_reply), "smtp", phase::receive);
    switch (fault) {
        case reply_fault::line_too_long: e.on("client_options::reply_line_limit"); break;
        case reply_fault::too_many_lines: e.on("client_options::reply_lines_limit"); break;
        default: e.on("what came is no reply"); break;
    }
    return e;
}

}  // namespace

std::shared_ptr<const capabilities> no_capabilities() {
    // Is never destroyed: a client of static lifetime makes connections late.
    static const auto& none =
        *new std::shared_ptr<const capabilities>(std::make_shared<const capabilities>());
    return none;
}

connection::connection(std::unique_ptr<net::byte_stream> stream, const client_options& o)
    : stream_(std::move(stream)), peer_(stream_->subject()),
      parser_({o.reply_line_limit, o.reply_lines_limit}), verbose_(o.verbose) {}

void connection::log(char direction, std::string_view text) const {
    if (!verbose_) return;
    const logger& to = stream_->owner().log();
    std::string line(1, direction);
    line.append(" ").append(text);
    to.write(log_layer::smtp, log_level::info, line);
}

void connection::log_commands(std::string_view all) const {
    while (verbose_ && !all.empty()) {
        const std::size_t end = all.find("\r\n");
        log('>', all.substr(0, end));
        all.remove_prefix(end + 2);
    }
}

std::string_view connection::write_some(std::string_view bytes) noexcept {
    const std::int64_t n = stream_->try_send(bytes);
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    return bytes;
}

task<std::expected<void, error>> connection::write(std::string_view bytes, duration limit) {
    bytes = write_some(bytes);
    if (bytes.empty()) co_return std::expected<void, error>();
    auto writing = write_rest(bytes, limit);
    co_return co_await std::move(writing);
}

task<std::expected<void, error>> connection::write_rest(std::string_view bytes, duration limit) {
    auto sending = stream_->send(bytes);
    if (limit <= duration::zero()) limit = duration::max();
    auto sent = co_await as_result(with_timeout(limit, sending));
    if (sent) co_return std::expected<void, error>();
    broken_ = true;
    co_return std::unexpected(std::move(sent).error());
}

std::optional<std::expected<reply, error>> connection::reply_at_hand() {
    if (input_.empty()) return {};
    const reply_parser::result r = parser_.parse(input_.view());
    input_.consume(r.consumed);
    if (input_.empty()) input_ = {};
    if (r.fault != reply_fault::none) {
        broken_ = true;
        return std::unexpected(malformed(r.fault));
    }
    if (!r.complete) return {};
    reply said = parser_.take();
    if (verbose_) log('<', said.to_string());
    // The server closes (RFC 5321 section 3.8).
    if (said.code == 421) broken_ = true;
    return said;
}

task<bool> connection::takes_input() {
    // Long enough: bytes that have come are read at once.
    constexpr duration brief = std::chrono::milliseconds(10);
    if (!input_.empty()) co_return true;
    if (!stream_->has_input()) co_return false;
    auto receiving = stream_->receive();
    auto got = co_await as_result(with_timeout(brief, receiving));
    if (!got && got.error() == std::errc::timed_out) co_return false;
    if (got) input_ = *std::move(got);
    co_return true;
}

task<std::expected<reply, error>> connection::read_reply(duration limit) {
    const time_point due = limit > duration::zero()
                               ? coracle::detail::later(stream_->owner().now(), limit)
                               : time_point::max();
    for (;;) {
        if (auto said = reply_at_hand()) co_return *std::move(said);
        auto receiving = stream_->receive();
        auto got = co_await as_result(with_deadline(due, receiving));
        if (!got) {
            broken_ = true;
            co_return std::unexpected(std::move(got).error());
        }
        input_ = *std::move(got);
    }
}

task<std::expected<reply, error>> connection::command(std::string_view line, std::string_view shown,
                                                      duration limit) {
    log('>', shown);
    std::string bytes;
    bytes.reserve(line.size() + 2);
    bytes.append(line).append("\r\n");
    auto writing = write(bytes, limit);
    auto written = co_await std::move(writing);
    wipe(bytes.data(), bytes.size());
    if (!written) co_return std::unexpected(std::move(written).error());
    auto reading = read_reply(limit);
    co_return co_await std::move(reading);
}

void connection::quit() noexcept {
    if (!broken_) static_cast<void>(stream_->try_send("QUIT\r\n"));
    broken_ = true;
    if (stream_ != nullptr) stream_->close();
}

task<std::expected<void, error>> connection::secure(tls::client_context& context,
                                                    const std::string& host) {
    auto handshake = tls::connect(context, std::move(stream_), host);
    auto made = co_await as_result(handshake);
    if (!made) {
        broken_ = true;
        co_return std::unexpected(std::move(made).error());
    }
    secured_ = made->get();
    stream_ = *std::move(made);
    if (verbose_) {
        std::string text = "TLS with ";
        log('*', text.append(secured_->cipher()));
    }
    co_return std::expected<void, error>();
}

}  // namespace coracle::smtp::detail
