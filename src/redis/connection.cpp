#include "redis/connection.hpp"

#include "runtime/backoff.hpp"

#include <coracle/connect/connect.hpp>
#include <coracle/redis/error.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/tls/stream.hpp>

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace coracle::redis::detail {
namespace {

using done = std::expected<void, error>;
using opened = std::expected<std::unique_ptr<connection>, error>;

task<std::expected<std::unique_ptr<net::byte_stream>, error>> connect_to(const endpoint* to,
                                                                         net::resolver* names) {
    const server_address& at = *to->address();
    connect::options how;
    how.timeout(duration::max()).unix_socket(at.path);
    auto connecting = connect::to(*names, at.path.empty() ? at.host : "unix", at.port, how);
    auto stream = co_await as_result(connecting);
    if (!stream || !at.secure) co_return std::move(stream);
    auto context = to->tls();
    if (!context) co_return std::unexpected(std::move(context).error());
    auto securing = tls::connect(**context, *std::move(stream), at.host);
    auto secured = co_await as_result(securing);
    if (!secured) co_return std::unexpected(std::move(secured).error());
    co_return std::unique_ptr<net::byte_stream>(*std::move(secured));
}

/// Sends one command and gives its reply; an error reply is an error.
task<std::expected<reply, error>> ask(connection* c, std::string bytes, const char* operation) {
    auto sending = c->send(bytes);
    auto sent = co_await std::move(sending);
    wipe(bytes.data(), bytes.size());
    if (!sent) co_return std::unexpected(std::move(sent).error());
    auto receiving = c->receive();
    auto said = co_await std::move(receiving);
    if (said && said->kind() == reply_kind::error) {
        co_return std::unexpected(error_of(*said, operation));
    }
    co_return std::move(said);
}

std::string command_of(std::initializer_list<std::string_view> parts) {
    std::string bytes;
    append_command(bytes, {parts.begin(), parts.size()});
    return bytes;
}

task<done> log_in(const endpoint* to, connection* c) {
    const std::string_view password = to->password().reveal();
    // A user may have none (ACL "nopass").
    if (!password.empty() || !to->user().empty()) {
        std::string auth;
        if (to->user().empty())
            auth = command_of({"AUTH", password});
        else
            auth = command_of({"AUTH", to->user(), password});
        auto asking = ask(c, std::move(auth), "redis AUTH");
        auto known = co_await std::move(asking);
        if (!known) co_return std::unexpected(std::move(known).error());
    }
    if (const unsigned database = to->address()->database; database != 0) {
        auto asking = ask(c, command_of({"SELECT", std::to_string(database)}), "redis SELECT");
        auto chosen = co_await std::move(asking);
        if (!chosen) co_return std::unexpected(std::move(chosen).error());
    }
    auto asking = ask(c, command_of({"PING"}), "redis PING");
    auto alive = co_await std::move(asking);
    // A user who may not ping is known all the same.
    if (!alive && alive.error() != make_error_code(errc::no_permission)) {
        co_return std::unexpected(std::move(alive).error());
    }
    co_return done();
}

task<opened> open_without_limit(const endpoint* to, net::resolver* names) {
    auto connecting = connect_to(to, names);
    auto stream = co_await std::move(connecting);
    if (!stream) co_return std::unexpected(std::move(stream).error());
    auto made = std::make_unique<connection>(*std::move(stream), to->options().reply);
    auto entering = log_in(to, made.get());
    auto entered = co_await std::move(entering);
    if (!entered) co_return std::unexpected(std::move(entered).error());
    co_return std::move(made);
}

}  // namespace

endpoint::endpoint(std::string_view url, connection_options o)
    : address_(server_address::parse(url)), options_(std::move(o)) {
    if (options_.connect_timeout <= duration::zero()) options_.connect_timeout = duration::max();
}

const std::string& endpoint::user() const noexcept {
    return options_.user.empty() ? address_->user : options_.user;
}

const secret& endpoint::password() const noexcept {
    return options_.password.empty() ? address_->password : options_.password;
}

std::expected<tls::client_context*, error> endpoint::tls() const {
    const std::lock_guard lock(guard_);
    try {
        if (tls_ == nullptr) tls_ = std::make_unique<tls::client_context>(options_.tls);
    } catch (const exception& e) {
        return std::unexpected(e.error());
    }
    return tls_.get();
}

task<std::expected<void, error>> connection::send(std::string_view bytes) {
    auto sent = co_await as_result(stream_->send(bytes));
    if (!sent) co_return std::unexpected(std::move(sent).error());
    co_return done();
}

task<std::expected<reply, error>> connection::receive() {
    for (;;) {
        auto next = reader_.next();
        if (!next) co_return std::unexpected(std::move(next).error());
        if (*next) co_return **std::move(next);
        auto came = co_await as_result(stream_->receive());
        if (!came) co_return std::unexpected(std::move(came).error());
        received_ += came->view().size();
        auto fed = reader_.feed(came->view());
        if (!fed) co_return std::unexpected(std::move(fed).error());
    }
}

task<std::expected<std::unique_ptr<connection>, error>> open(const endpoint& to,
                                                             net::resolver& names) {
    if (!to.address()) co_return std::unexpected(to.address().error());
    auto opening = open_without_limit(&to, &names);
    auto limited = with_timeout(to.options().connect_timeout, std::move(opening));
    auto ended = co_await as_result(limited);
    if (ended && *ended) co_return *std::move(ended);
    error why;
    if (ended)
        why = ended->error();
    else
        why = ended.error();
    if (!ended && why == std::errc::timed_out) {
        why = error(std::errc::timed_out, "redis connect", phase::connect);
        why.on("connection_options::connect_timeout");
    }
    why.retry_is_safe(true);
    co_return std::unexpected(std::move(why));
}

error error_of(const reply& r, const char* operation) {
    error e(make_error_code(code_of_reply(r.text())), operation, phase::receive);
    constexpr std::size_t shown = 200;
    e.on(r.text().substr(0, shown));
    return e;
}

duration backoff::next() noexcept {
    last_ = coracle::detail::next_delay(last_, first_, longest_);
    return coracle::detail::shortened_by_chance(last_);
}

}  // namespace coracle::redis::detail
