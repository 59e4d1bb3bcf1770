#include "smtp/client/connection.hpp"

#include <coracle/base/log.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/smtp/error.hpp>

#include <utility>

namespace coracle::smtp::detail {
namespace {

task<std::expected<void, error>> send_all(net::byte_stream* to, std::string_view bytes) {
    auto sent = co_await as_result(to->send(bytes));
    if (!sent) co_return std::unexpected(std::move(sent).error());
    co_return std::expected<void, error>();
}

error malformed(reply_fault fault) {
    error e(make_error_code(errc::malformed_reply), "smtp", phase::receive);
    switch (fault) {
        case reply_fault::line_too_long: e.on("client_options.reply_line_limit"); break;
        case reply_fault::too_many_lines: e.on("client_options.reply_lines_limit"); break;
        default: e.on("what came is no reply"); break;
    }
    return e;
}

template <class T>
std::expected<T, error> flat(std::expected<std::expected<T, error>, error> r) {
    if (!r) return std::unexpected(std::move(r).error());
    return *std::move(r);
}

}  // namespace

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

task<std::expected<void, error>> connection::write(std::string_view bytes, duration limit) {
    const std::int64_t n = stream_->try_send(bytes);
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    if (bytes.empty()) co_return std::expected<void, error>();
    auto sending = send_all(stream_.get(), bytes);
    if (limit <= duration::zero()) limit = duration::max();
    auto limited = with_timeout(limit, std::move(sending));
    auto sent = flat(co_await as_result(limited));
    if (!sent) broken_ = true;
    co_return std::move(sent);
}

task<std::expected<buffer, error>> connection::receive() {
    auto r = co_await as_result(stream_->receive());
    co_return std::move(r);
}

task<std::expected<reply, error>> connection::read_reply(duration limit) {
    const time_point due = limit > duration::zero()
                               ? coracle::detail::later(stream_->owner().now(), limit)
                               : time_point::max();
    for (;;) {
        if (!input_.empty()) {
            const reply_parser::result r = parser_.parse(input_.view());
            input_.consume(r.consumed);
            if (input_.empty()) input_ = {};
            if (r.fault != reply_fault::none) {
                broken_ = true;
                co_return std::unexpected(malformed(r.fault));
            }
            if (r.complete) {
                reply said = parser_.take();
                log('<', said.to_string());
                // The server closes (RFC 5321 section 3.8).
                if (said.code == 421) broken_ = true;
                co_return std::move(said);
            }
        }
        auto limited = with_deadline(due, receive());
        auto got = flat(co_await as_result(limited));
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
    stream_->close();
}

task<std::expected<void, error>> connection::secure(tls::client_context& context,
                                                    const std::string& host) {
    auto handshake = tls::connect(context, std::move(stream_), host);
    auto made = co_await as_result(handshake);
    if (!made) co_return std::unexpected(std::move(made).error());
    secured_ = made->get();
    stream_ = *std::move(made);
    if (verbose_) {
        std::string text = "TLS with ";
        log('*', text.append(secured_->cipher()));
    }
    co_return std::expected<void, error>();
}

}  // namespace coracle::smtp::detail
