#pragma once

#include "smtp/incoming_data.hpp"
#include "testing/sink_login.hpp"
#include "testing/sink_store.hpp"

#include <coracle/net/byte_stream.hpp>
#include <coracle/runtime/task.hpp>
#include <coracle/tls/stream.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace coracle::testing::detail {

/// One connection of a sink, from its greeting to its end.
class sink_session {
public:
    sink_session(const smtp_sink_options& o, sink_store& store, std::size_t index,
                 std::unique_ptr<net::byte_stream> stream);

    task<> run();

private:
    /// Steps give false when the connection goes on no more.
    task<bool> start_tls();
    task<bool> receive();
    task<bool> take_line(std::string& line);
    task<bool> flush();
    task<bool> greet();
    task<bool> command(std::string line);
    task<bool> carry_out(std::string verb, std::string line);
    /// Does what a rule says. Nothing: there is none, or it lets the command be carried out.
    enum class verdict : std::uint8_t { carry_out, done, over };
    task<> leave(sink_rule::action how);
    task<verdict> by_rule(std::string name, std::string line);
    task<bool> log_in(std::string line);
    task<bool> take_data();
    task<bool> take_bytes(std::uint64_t size, bool keeps);
    task<bool> drop_chunk(std::string line);
    task<bool> take_chunk(std::string line);
    task<bool> end_mail_of_lmtp(std::string text);
    task<bool> end_mail(std::string text);
    task<bool> accept_or_refuse(std::string text);
    /// False: there is no place for it.
    task<bool> keep(std::string text);
    void hello(std::string_view verb, std::string_view name);
    void mail_from(std::string_view line);
    void rcpt_to(std::string_view line);
    void say(std::string_view text);
    /// Says the line that a rule has given, or where there is none, this one.
    void say_or(std::string_view usual);
    void fail(std::string_view text);
    void refuse_mail(std::string_view reply, bool at_end);
    void reset() noexcept;
    bool may_send() const noexcept {
        return options_.user.empty() || options_.any_login || !message_.user.empty();
    }
    bool has_logins() const noexcept { return options_.any_login || !options_.user.empty(); }
    std::string_view mechanisms() const noexcept {
        return options_.any_login ? "PLAIN LOGIN" : std::string_view(options_.mechanisms);
    }
    std::vector<smtp::detail::channel_binding> bindings() const;

    const smtp_sink_options& options_;
    sink_store& store_;
    std::size_t index_;
    std::unique_ptr<net::byte_stream> stream_;
    const tls::session_info* secured_ = nullptr;
    sink_store::cut cut_;
    std::uint64_t received_ = 0;
    std::uint64_t sent_ = 0;
    std::string in_;
    std::string out_;
    std::string next_line_;  ///< in place of a reply: what a rule said
    sink_message message_;
    bool greeted_ = false;   ///< EHLO or HELO
    bool extended_ = false;  ///< EHLO or LHLO
    bool binary_ = false;    ///< BODY=BINARYMIME
    bool in_login_ = false;  ///< amid AUTH
    bool mail_ = false;      ///< MAIL
    bool chunks_ = false;
    std::string chunk_text_;
    std::size_t errors_ = 0;
    bool over_ = false;
};

}  // namespace coracle::testing::detail
