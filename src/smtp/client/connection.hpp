#pragma once

#include <coracle/base/buffer.hpp>
#include <coracle/net/byte_stream.hpp>
#include <coracle/runtime/task.hpp>
#include <coracle/smtp/client_options.hpp>
#include <coracle/smtp/reply.hpp>
#include <coracle/tls/stream.hpp>

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::smtp::detail {

/// Those of a server that has not said any.
std::shared_ptr<const capabilities> no_capabilities();

/// A stream to a server: commands out, replies in. Knows nothing of their order. Belongs to one
/// loop; one call at a time.
class connection {
public:
    connection(std::unique_ptr<net::byte_stream> stream, const client_options& o);

    /// Sends what goes without waiting; returns what is left.
    std::string_view write_some(std::string_view bytes) noexcept;
    /// Sends all of it, in at most so long.
    task<std::expected<void, error>> write(std::string_view bytes, duration limit);
    /// `write` for what `write_some` has left.
    task<std::expected<void, error>> write_rest(std::string_view bytes, duration limit);
    /// The next reply, or the fault in it, if it has come whole already.
    std::optional<std::expected<reply, error>> reply_at_hand();
    /// The next reply, which has come whole by then.
    task<std::expected<reply, error>> read_reply(duration limit);
    /// A command without its line end, and the reply to it. `shown`: what a log may have of it.
    task<std::expected<reply, error>> command(std::string_view line, std::string_view shown,
                                              duration limit);
    /// Returns whether something has come that nobody has asked for.
    bool has_input() noexcept { return !input_.empty() || stream_->has_input(); }
    /// Returns whether bytes that nobody has asked for, or the end, have come indeed, and takes
    /// them: a record of TLS may bring nothing (RFC 8446 section 4.6).
    task<bool> takes_input();
    /// Returns whether it may carry another mail.
    bool fit() noexcept { return !broken_ && !has_input(); }
    void break_off() noexcept { broken_ = true; }
    bool broken() const noexcept { return broken_; }
    /// Says good-bye where that needs no waiting, and closes.
    void quit() noexcept;

    /// Puts TLS on it; nothing that has come in clear may be left.
    task<std::expected<void, error>> secure(tls::client_context& context, const std::string& host);

    net::byte_stream& stream() noexcept { return *stream_; }
    const tls::session_info* secured() const noexcept { return secured_; }
    const std::string& peer() const noexcept { return peer_; }
    void log(char direction, std::string_view text) const;
    /// Logs each of the commands, which end with CRLF.
    void log_commands(std::string_view all) const;

    // State of the session.
    std::shared_ptr<const capabilities> can = no_capabilities();
    std::string hello_name;
    bool authenticated = false;
    bool needs_reset = false;
    unsigned mails = 0;
    time_point idle_since{};

private:
    std::unique_ptr<net::byte_stream> stream_;
    std::string peer_;
    const tls::session_info* secured_ = nullptr;
    reply_parser parser_;
    buffer input_;
    bool broken_ = false;
    bool verbose_;
};

}  // namespace coracle::smtp::detail
