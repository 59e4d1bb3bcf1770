// A client of the mail sink. The first byte of the input says how to cut the rest, and what the
// sink offers; an LF alone stands for CRLF. Checked: any cut leaves the same mails and gives the
// same replies, unless a reset took the last ones away, which a reply parser reads, and what is
// kept obeys the limits.
#include "require.hpp"

#include <coracle/runtime/operation.hpp>
#include <coracle/smtp/reply.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/testing/smtp_sink.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle;

namespace {

std::string with_line_ends(std::string_view input) {
    std::string out;
    for (const char c : input) {
        if (c == '\n' && !out.ends_with('\r')) out += '\r';
        out += c;
    }
    return out;
}

testing::smtp_sink_options options_of(unsigned flags) {
    testing::smtp_sink_options o;
    o.lmtp = (flags & 1) != 0;
    o.any_login = (flags & 2) != 0;
    if ((flags & 4) != 0) {
        o.user = "mary";
        o.password = secret("pencil");
    }
    o.pipelining = (flags & 8) == 0;
    o.recipients = 3;
    o.message_bytes = 200;
    o.messages = 4;
    o.kept_bytes = 2000;
    o.command_bytes = 200;
    o.errors = 8;
    return o;
}

/// Replies to a client, and the mails that are kept.
struct outcome {
    std::string replies;
    bool is_whole = false;  ///< not reset
    std::string mails;
};

task<outcome> talk(net::address to, std::string text, std::size_t step) {
    auto connecting = testing::connect_peer(std::move(to));
    testing::peer client = co_await std::move(connecting);
    for (std::size_t at = 0; at < text.size(); at += step) {
        auto sending = client.send(text.substr(at, step));
        const auto sent = co_await as_result(std::move(sending));
        if (!sent) break;
    }
    client.shutdown_output();
    auto reading = client.read_to_end();
    outcome out;
    out.replies = co_await std::move(reading);
    out.is_whole = client.ended() == testing::ending::finished;
    // A sink that stops amid the input resets the connection, and loses what was on its way.
    co_return out;
}

/// Returns the number of replies.
std::size_t check_replies(const outcome& out) {
    smtp::reply_parser parser;
    std::size_t count = 0;
    for (std::string_view said = out.replies; !said.empty();) {
        const auto r = parser.parse(said);
        require(r.fault == smtp::reply_fault::none && (r.complete || !out.is_whole));
        said.remove_prefix(r.consumed);
        if (!r.complete) break;
        static_cast<void>(parser.take());
        ++count;
    }
    return count;
}

std::string show(const testing::sink_message& m, const testing::smtp_sink_options& o) {
    require(!m.recipients.empty() && m.recipients.size() <= o.recipients);
    require(m.recipient_parameters.size() == m.recipients.size());
    require(m.text.size() <= o.message_bytes);
    require(o.user.empty() || o.any_login || m.user == o.user);
    std::string text = m.hello + '|' + m.sender + '|' + m.parameters + '|' + m.user + '\n';
    for (const std::string& r : m.recipients) text += r + '\n';
    return text + m.text + "\n--\n";
}

outcome talk_to_sink(unsigned flags, const std::string& text, std::size_t step) {
    const testing::smtp_sink_options o = options_of(flags);
    outcome out;
    testing::simulation sim;
    sim.run([&]() -> task<> {
        testing::smtp_sink sink(*loop::current(), o);
        auto talking = talk(sink.address(), text, step);
        out = co_await std::move(talking);
        std::size_t bytes = 0;
        for (const testing::sink_message& m : sink.messages()) {
            out.mails += show(m, o);
            bytes += m.size();
        }
        const std::size_t replies = check_replies(out);
        require(sink.count() <= o.messages && bytes <= o.kept_bytes);
        require(!out.is_whole || sink.count() < replies);
        sink.stop();
        auto stopping = sink.stopped();
        co_await std::move(stopping);
    });
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2 || size > 2048) return 0;
    const std::string text = with_line_ends({reinterpret_cast<const char*>(data) + 1, size - 1});
    const unsigned flags = data[0] & 15U;
    const outcome whole = talk_to_sink(flags, text, text.size());
    const outcome cut = talk_to_sink(flags, text, (data[0] >> 4) + 1U);
    require(cut.mails == whole.mails);
    if (cut.is_whole && whole.is_whole) require(cut.replies == whole.replies);
    return 0;
}
