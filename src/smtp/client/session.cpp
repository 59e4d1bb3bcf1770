#include "smtp/client/session.hpp"

#include "smtp/client/failures.hpp"
#include "smtp/sasl.hpp"

#include <coracle/mime/base64.hpp>
#include <coracle/net/network.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/tls/error.hpp>

#include <utility>

namespace coracle::smtp::detail {
namespace {

/// Bytes of a command with its CRLF that every server takes (RFC 5321 section 4.5.3.1.4).
constexpr std::size_t longest_command = 512;

using done = std::expected<void, error>;

// RFC 5321 section 4.1.3.
std::string address_literal(const net::byte_stream& s) {
    const auto* const socket = dynamic_cast<const net::socket*>(&s);
    if (socket == nullptr) return "localhost";
    const auto local = socket->local();
    if (!local) return "localhost";
    switch (local->family()) {
        case net::family::v4: return '[' + local->host() + ']';
        case net::family::v6:
            // Without the zone of a link-local one, which is valid on this machine only.
            return "[IPv6:" + net::network::around(*local, 128).to_string() + ']';
        default: return "localhost";
    }
}

/// Returns true for what another attempt would meet again: certificates, versions of TLS, faults in
/// replies; not for a connection that has ended without close_notify.
bool is_permanent(const std::error_code& code) noexcept {
    if (code == make_error_code(tls::errc::truncated)) return false;
    return code.category() == tls::category() || code == make_error_code(errc::malformed_reply);
}

/// Makes a failure that is safe to try again: no mail was sent yet.
error before_mail(const error& cause, std::string_view command, phase where) {
    return connection_error(cause, command, where, !is_permanent(cause.code()));
}

class opening {
public:
    opening(const route& by, const client_options& for_mail, net::resolver& names) noexcept
        : route_(by), mail_(for_mail), names_(names) {}

    /// Says good-bye to a server that is not the right one.
    void give_up() noexcept {
        if (connection_ != nullptr) connection_->quit();
    }

    task<std::expected<std::unique_ptr<connection>, error>> run() {
        const duration limit = mail_.connect_timeout;
        const time_point due = limit > duration::zero()
                                   ? coracle::detail::later(names_.owner().now(), limit)
                                   : time_point::max();
        auto connecting = with_deadline(due, connect());
        auto connected = co_await as_result(connecting);
        if (!connected || !*connected) {
            const error why = connected ? connected->error() : connected.error();
            co_return std::unexpected(
                before_mail(why == std::errc::timed_out
                                ? error(std::errc::timed_out, "connect_timeout", reached_)
                                : why,
                            "connect", reached_));
        }
        auto greeted = co_await greet();
        if (!greeted) co_return std::unexpected(std::move(greeted).error());
        auto secured = co_await upgrade();
        if (!secured) co_return std::unexpected(std::move(secured).error());
        // RFC 8689 section 4.2.1: it has to be known who the server is.
        const tls::session_info* const secure = connection_->secured();
        const bool is_verified = secure != nullptr && secure->verified();
        if (options().require_tls && !(is_verified && connection_->can->require_tls)) {
            co_return std::unexpected(reply_error(errc::requiretls_unavailable, "EHLO", {}, false));
        }
        auto known = co_await authenticate();
        if (!known) co_return std::unexpected(std::move(known).error());
        co_return std::move(connection_);
    }

private:
    const client_options& options() const noexcept { return route_.options(); }
    const server_address& to() const noexcept { return route_.to(); }

    task<done> connect() {
        connect::timings parts;
        connect::options how = route_.connecting();
        how.record(&parts);
        std::string name = to().host;
        if (to().is_absolute) name += '.';
        auto connecting = connect::to(names_, name, to().port, how);
        auto stream = co_await as_result(connecting);
        reached_ = parts.reached;
        if (!stream) co_return std::unexpected(std::move(stream).error());
        const std::string literal = address_literal(**stream);
        connection_ = std::make_unique<connection>(*std::move(stream), options());
        connection_->hello_name = options().hello.empty() ? literal : options().hello;
        connection_->log('*', "connected to " + connection_->peer());
        if (to().kind != protocol::smtps) co_return done();
        auto securing = secure();
        co_return co_await std::move(securing);
    }

    task<done> secure() {
        reached_ = phase::tls;
        auto context = route_.tls();
        if (!context) co_return std::unexpected(std::move(context).error());
        auto securing = connection_->secure(**context, to().host);
        co_return co_await std::move(securing);
    }

    task<done> greet() {
        auto greeting = co_await connection_->read_reply(mail_.greeting_timeout);
        if (!greeting) {
            co_return std::unexpected(before_mail(greeting.error(), "greeting", phase::receive));
        }
        if (greeting->code != 220) {
            co_return std::unexpected(reply_error("greeting", *std::move(greeting)));
        }
        auto saying = hello();
        co_return co_await std::move(saying);
    }

    task<std::expected<reply, error>> ask(std::string line, std::string shown) {
        auto asking = connection_->command(line, shown, mail_.reply_timeout);
        auto said = co_await std::move(asking);
        if (!said) co_return std::unexpected(before_mail(said.error(), shown, phase::receive));
        co_return *std::move(said);
    }

    task<done> hello() {
        const bool lmtp = to().kind == protocol::lmtp;
        std::string line = lmtp ? "LHLO " : "EHLO ";
        line += connection_->hello_name;
        auto asking = ask(line, line);
        auto said = co_await std::move(asking);
        if (!said) co_return std::unexpected(std::move(said).error());
        if (said->positive()) {
            connection_->can = std::make_shared<const capabilities>(read_capabilities(*said));
            co_return done();
        }
        // RFC 5321 section 4.1.1.1: older servers know HELO only.
        if (lmtp || !said->permanent()) {
            co_return std::unexpected(reply_error(line, *std::move(said)));
        }
        line = "HELO " + connection_->hello_name;
        auto second = ask(line, line);
        said = co_await std::move(second);
        if (!said) co_return std::unexpected(std::move(said).error());
        if (!said->positive()) co_return std::unexpected(reply_error(line, *std::move(said)));
        connection_->can = no_capabilities();
        co_return done();
    }

    task<done> upgrade() {
        const smtp::starttls wanted = options().starttls;
        if (connection_->secured() != nullptr || wanted == starttls::off) co_return done();
        if (!connection_->can->starttls) {
            if (wanted == starttls::wanted) co_return done();
            co_return std::unexpected(reply_error(errc::starttls_unavailable, "EHLO", {}, false));
        }
        auto asking = ask("STARTTLS", "STARTTLS");
        auto said = co_await std::move(asking);
        if (!said) co_return std::unexpected(std::move(said).error());
        if (said->code != 220) {
            // RFC 3207 section 4: whoever wants TLS may go on without.
            if (wanted == starttls::wanted && !connection_->broken()) co_return done();
            const bool safe = said->transient();
            co_return std::unexpected(
                reply_error(errc::starttls_unavailable, "STARTTLS", *std::move(said), safe));
        }
        // Somebody in between may have put it there, to be taken for the first replies under TLS.
        auto taking = connection_->takes_input();
        const bool is_early = co_await std::move(taking);
        if (is_early) {
            connection_->break_off();
            co_return std::unexpected(reply_error(errc::bytes_before_tls, "STARTTLS", {}, false));
        }
        auto securing = secure();
        auto secured = co_await std::move(securing);
        if (!secured) {
            co_return std::unexpected(before_mail(secured.error(), "STARTTLS", phase::tls));
        }
        // Extensions offered in clear count no more (RFC 3207 section 4.2).
        connection_->can = no_capabilities();
        auto saying = hello();
        co_return co_await std::move(saying);
    }

    task<done> authenticate() {
        const credentials& who = options().authentication;
        if (who.user.empty() && who.password.empty() && who.token.empty() &&
            who.mechanisms.empty()) {
            co_return done();
        }
        sasl_circumstances where;
        const tls::session_info* const secured = connection_->secured();
        where.secure = secured != nullptr;
        where.has_certificate = where.secure && route_.has_certificate();
        where.host = to().host;
        where.port = to().port;
        std::vector<channel_binding> bindings;
        if (secured != nullptr) bindings = bindings_of(*secured, secured->peer_certificate());
        if (!bindings.empty()) where.binding = bindings.front();
        draw(where);
        const auto& offered = connection_->can->mechanisms;
        const std::string_view name = choose_mechanism(offered, who, where);
        if (name.empty()) {
            std::string what = "AUTH";
            for (const std::string& m : offered) what.append(" ").append(m);
            if (!where.secure && !who.in_clear) what += " (without TLS)";
            co_return std::unexpected(reply_error(errc::no_mechanism, what, {}, false));
        }
        auto exchange = make_exchange(name, who, where, offered);
        auto running = run_exchange(*exchange, name);
        auto finished = co_await std::move(running);
        // There are several kinds of bindings, and a server need not have ours. Where its
        // certificate was not verified it may stand between us and the server, which only a binding
        // shows: there it never gets an exchange without one.
        if (!bindings.empty()) bindings.erase(bindings.begin());
        if (secured != nullptr && secured->verified()) bindings.emplace_back();
        for (channel_binding& next : bindings) {
            const bool refused = !finished && finished.error().code() ==
                                                  make_error_code(errc::authentication_failed);
            if (!refused || !exchange->may_lack_binding() || connection_->broken()) break;
            where.binding = std::move(next);
            draw(where);
            const std::string_view again = choose_mechanism(offered, who, where);
            if (!again.starts_with("SCRAM-")) break;
            exchange = make_exchange(again, who, where, offered);
            auto once_more = run_exchange(*exchange, again);
            finished = co_await std::move(once_more);
        }
        if (!finished) co_return std::move(finished);
        connection_->authenticated = true;
        co_return done();
    }

    /// Each exchange has a nonce of its own (RFC 5802 section 5.1).
    void draw(sasl_circumstances& where) const {
        for (std::uint64_t& r : where.random) r = names_.owner().random();
    }

    task<done> run_exchange(sasl_exchange& exchange, std::string_view name) {
        std::string shown = "AUTH ";
        shown += name;
        std::string line = shown;
        // RFC 4954 section 4: what makes the command too long waits for an empty challenge. Nothing
        // is written as "=".
        std::optional<secret> waiting;
        if (const auto first = exchange.initial()) {
            secret coded(first->empty() ? "=" : mime::base64_encode(first->reveal()));
            if (line.size() + 1 + coded.reveal().size() + 2 > longest_command) {
                waiting = std::move(coded);
            } else {
                line += ' ';
                line += coded.reveal();
                shown += " ***";
            }
        }
        constexpr unsigned most_challenges = 8;
        for (unsigned challenges = 0;; ++challenges) {
            auto asking = ask(line, shown);
            auto said = co_await std::move(asking);
            wipe(line.data(), line.size());
            if (!said) co_return std::unexpected(std::move(said).error());
            if (said->positive()) co_return exchange.succeeded();
            if (said->code != 334 || challenges == most_challenges) {
                const errc why = said->permanent()   ? errc::authentication_failed
                                 : said->transient() ? errc::rejected_for_now
                                                     : errc::unexpected_reply;
                const bool safe = said->transient();
                co_return std::unexpected(reply_error(why, shown, *std::move(said), safe));
            }
            if (waiting) {
                line = waiting->reveal();
                waiting.reset();
                shown = "***";
                continue;
            }
            const auto challenge = mime::base64_decode(said->text());
            auto response =
                challenge ? exchange.respond(*challenge)
                          : std::unexpected(error(make_error_code(errc::authentication_failed)));
            if (!response) {
                connection_->break_off();
                co_return std::unexpected(
                    connection_error(response.error(), shown, phase::receive, false));
            }
            line = mime::base64_encode(response->reveal());
            shown = "***";
        }
    }

    const route& route_;
    const client_options& mail_;
    net::resolver& names_;
    std::unique_ptr<connection> connection_;
    phase reached_ = phase::resolve;
};

}  // namespace

task<std::expected<std::unique_ptr<connection>, error>> open_session(const route* by,
                                                                     const client_options* for_mail,
                                                                     net::resolver* names) {
    opening o(*by, *for_mail, *names);
    auto running = o.run();
    auto opened = co_await std::move(running);
    if (!opened) o.give_up();
    co_return std::move(opened);
}

}  // namespace coracle::smtp::detail
