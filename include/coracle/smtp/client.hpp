#pragma once

#include <coracle/runtime/background.hpp>
#include <coracle/smtp/client_options.hpp>
#include <coracle/smtp/interceptor.hpp>
#include <coracle/smtp/sending.hpp>
#include <coracle/smtp/sts_policy.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace coracle::smtp {

namespace detail {
class client_core;
}

/// Counters of a client, over the loops that it is used on.
struct client_statistics {
    std::uint64_t mails = 0;   ///< begun
    std::uint64_t failed = 0;  ///< of these, ended in an error
    std::size_t active = 0;    ///< under way on its own loop
    std::size_t peak = 0;      ///< most at a time
    std::uint64_t retries = 0;
    std::uint64_t opened = 0;     ///< connections
    std::uint64_t reused = 0;     ///< times that a connection carried another mail
    std::size_t connections = 0;  ///< open now
    std::size_t idle = 0;         ///< of these, without a mail
    std::size_t waiting = 0;      ///< mails that wait for a connection
    std::uint64_t failed_callbacks = 0;
};

/// Sends mail to one server, by SMTP (RFC 5321) or LMTP (RFC 2033), or to the servers of each
/// domain. Its connections and its resolver belong to each loop that uses it; a client may be used
/// by any number of loops and threads at once. Without coroutines it has a loop of its own.
///
///     smtp::client mail{"smtp://user:password@mail.example.com:587"};
///     smtp::message m;
///     m.from("a@x.org").to("b@y.org").subject("Hi").text("...");
///     co_await mail.send(m);
///
/// The URL is smtp:// (port 25), smtps:// (TLS from the first byte, port 465) or lmtp:// (port 24),
/// with user and password where wanted; those in the options go before them. Or it is "mx:": each
/// mail goes to the hosts that take the mail of its recipients' domains, in clear or with STARTTLS
/// as the options say, without credentials; "mx:2525" where they listen there. Destroying the
/// client closes what is idle; mails under way on loops end of themselves, those on the client's
/// own loop as `stop` says.
class client {
public:
    /// A fault of the URL or of the options fails each `send`.
    explicit client(std::string_view server, client_options o = {}, pool_options p = {},
                    background_options b = {});
    ~client();
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    /// Sends a mail. `m` is copied, which costs little.
    sending send(const message& m);

    /// Returns, or sets, the options of mails that begin from now on. From any thread at any time.
    client_options defaults() const;
    void set_defaults(client_options o);
    /// Changes them as text, as `read_options` reads it. Throws `exception`.
    void set_defaults(std::string_view text);

    /// Puts an interceptor around each mail: `task<receipt> f(message&, const mail_handler& next)`.
    /// The first one is the outermost. Before the first mail.
    template <intercepts_mails F>
    client& use(F interceptor) {
        intercept(std::move(interceptor));
        return *this;
    }

    /// Sets the policy that a domain has for those who send it mail (MTA-STS, RFC 8461), which the
    /// program has fetched; nothing: it has none any more. For clients of "mx:". From any thread at
    /// any time; counts for attempts that begin from now on.
    void set_policy(std::string_view domain, std::optional<sts_policy> p);

    /// From any thread.
    client_statistics statistics() const;

    /// Takes no more mails for its own loop, waits for those under way there for `limit` at most,
    /// and cancels the rest: true when it had to. Not in a callback. The destructor does the same
    /// with `background_options::drain`.
    bool stop(duration limit = std::chrono::seconds(30));

private:
    void intercept(std::function<task<receipt>(message&, const mail_handler&)> around);

    std::shared_ptr<detail::client_core> core_;
};

}  // namespace coracle::smtp
