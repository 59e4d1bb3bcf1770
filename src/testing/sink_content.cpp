// A sink and the content of mails: DATA and BDAT, and the replies to their ends.

#include "testing/sink_parameters.hpp"
#include "testing/sink_session.hpp"

#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace coracle::testing::detail {

task<bool> sink_session::take_data() {
    say_or("354 go ahead");
    smtp::detail::incoming_data data(options_.message_bytes);
    using fault = smtp::detail::incoming_data::fault;
    while (!data.complete()) {
        if (in_.empty()) {
            auto receiving = receive();
            const bool more = co_await std::move(receiving);
            if (!more) co_return false;
        }
        in_.erase(0, data.add(in_));
        if (data.problem() == fault::lone_cr || data.problem() == fault::lone_lf) {
            // The rest may be meant as commands: it is not looked at.
            say("521 5.5.2 a CR or an LF alone");
            over_ = true;
            co_return true;
        }
    }
    if (data.problem() == fault::too_large) {
        refuse_mail("552 5.3.4 too large", true);
        co_return true;
    }
    auto ending = end_mail(std::move(data.text()));
    const bool ended = co_await std::move(ending);
    co_return ended;
}

namespace {

/// The size that the parameters of BDAT announce.
std::optional<std::uint64_t> chunk_size(std::string_view parameters) noexcept {
    std::uint64_t size = 0;
    const std::string_view digits = parameters.substr(0, parameters.find(' '));
    const auto r = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (r.ec != std::errc() || r.ptr != digits.data() + digits.size()) return {};
    return size;
}

}  // namespace

/// Takes the bytes of a chunk off the connection.
task<bool> sink_session::take_bytes(std::uint64_t size, bool keeps) {
    while (size != 0) {
        if (in_.empty()) {
            auto receiving = receive();
            const bool more = co_await std::move(receiving);
            if (!more) co_return false;
        }
        const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(size, in_.size()));
        if (keeps) chunk_text_.append(in_, 0, n);
        in_.erase(0, n);
        size -= n;
    }
    co_return true;
}

/// The bytes come whatever the reply is (RFC 3030 section 2): none of them is a command.
task<bool> sink_session::drop_chunk(std::string line) {
    const auto size = chunk_size(line);
    over_ = over_ || !size;
    if (over_) co_return true;
    auto taking = take_bytes(*size, false);
    co_return co_await std::move(taking);
}

task<bool> sink_session::take_chunk(std::string line) {
    const bool last = upper(line).ends_with(" LAST");
    const auto size = chunk_size(line);
    if (!options_.chunking || !size) {
        fail("501 5.5.4 BDAT size [LAST]");
        over_ = true;  // where commands go on nobody knows
        co_return true;
    }
    // The bytes come whatever we say.
    const bool fits = *size <= options_.message_bytes - chunk_text_.size();
    auto taking = take_bytes(*size, fits);
    const bool taken = co_await std::move(taking);
    if (!taken) co_return false;
    if (message_.recipients.empty()) {
        fail("503 5.5.1 no recipients");
        reset();
        co_return true;
    }
    if (!fits) {
        refuse_mail("552 5.3.4 too large", last);
        co_return true;
    }
    chunks_ = true;
    message_.in_chunks = true;
    if (!last) {
        say_or("250 2.0.0 ok");
        co_return true;
    }
    auto ending = end_mail(std::exchange(chunk_text_, {}));
    const bool ended = co_await std::move(ending);
    co_return ended;
}

task<bool> sink_session::keep(std::string text) {
    sink_message m = message_;
    m.text = std::move(text);
    m.unix_time = stream_->owner().unix_time();
    if (!options_.deliver) co_return store_.add(std::move(m));
    m.number = store_.next_number();
    auto delivering = options_.deliver(m);
    const bool kept = co_await std::move(delivering);
    if (kept) store_.count_delivered();
    co_return kept;
}

task<bool> sink_session::accept_or_refuse(std::string text) {
    auto keeping = keep(std::move(text));
    const bool kept = co_await std::move(keeping);
    if (!kept) {
        fail("452 4.3.1 full");
    } else {
        say_or("250 2.0.0 kept");
    }
    next_line_.clear();
    co_return kept;
}

/// Refuses a mail, and forgets it. LMTP has a reply for each recipient at the end of its content
/// (RFC 2033 section 4.2), which `at_end` says is reached.
void sink_session::refuse_mail(std::string_view reply, bool at_end) {
    const std::size_t replies = options_.lmtp && at_end ? message_.recipients.size() : 1;
    for (std::size_t i = 1; i < replies; ++i) say(reply);
    fail(reply);
    reset();
}

/// A reply for each recipient, for which there may be a rule. Returns false where one of them ends
/// the connection.
task<bool> sink_session::end_mail_of_lmtp(std::string text) {
    std::vector<sink_rule> replies;
    std::vector<std::string> accepted;
    std::vector<std::string> parameters;
    for (std::size_t i = 0; i != message_.recipients.size(); ++i) {
        const std::string& one = message_.recipients[i];
        auto rule = store_.rule_for("end of data", one);
        replies.push_back(rule ? *std::move(rule) : sink_rule{.text = "250 2.0.0 kept"});
        if (!replies.back().text.starts_with('2')) continue;
        accepted.push_back(one);
        parameters.push_back(message_.recipient_parameters[i]);
    }
    message_.recipients = std::move(accepted);
    message_.recipient_parameters = std::move(parameters);
    bool kept = false;
    if (!message_.recipients.empty()) {
        auto keeping = keep(std::move(text));
        kept = co_await std::move(keeping);
    }
    reset();
    for (const sink_rule& one : replies) {
        if (one.what != sink_rule::action::reply) {
            auto leaving = leave(one.what);
            co_await std::move(leaving);
            co_return false;
        }
        const bool is_full = !kept && one.text.starts_with('2');
        say(is_full ? "452 4.3.1 full" : one.text);
        if (one.closes) {
            over_ = true;
            break;
        }
    }
    co_return true;
}

task<bool> sink_session::end_mail(std::string text) {
    if (options_.lmtp) {
        auto ending = end_mail_of_lmtp(std::move(text));
        co_return co_await std::move(ending);
    }
    // That of a last chunk has its reply here.
    std::string for_chunk = std::exchange(next_line_, {});
    auto asking = by_rule("end of data", message_.sender);
    const verdict v = co_await std::move(asking);
    if (v == verdict::carry_out) {
        if (next_line_.empty()) next_line_ = std::move(for_chunk);
        auto accepting = accept_or_refuse(std::move(text));
        co_await std::move(accepting);
    }
    reset();
    co_return v != verdict::over;
}

}  // namespace coracle::testing::detail
