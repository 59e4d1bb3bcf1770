#include "http/server/shard.hpp"

#include "base/ascii.hpp"
#include "http/h1/head_writer.hpp"
#include "http/server/connection.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <cerrno>
#include <cstring>

namespace coracle::http::detail {
namespace {

constexpr std::size_t output_capacity = 64 * 1024;
constexpr std::size_t exchanges_kept = 64;

std::vector<net::network> parse_networks(std::string_view list) {
    std::vector<net::network> all;
    while (!list.empty()) {
        auto n = net::network::parse(coracle::detail::take_item(list));
        if (!n) throw_exception(std::move(n).error());
        all.push_back(*n);
    }
    return all;
}

bool out_of_resources(const error& e) noexcept {
    return e == std::errc::too_many_files_open || e == std::errc::too_many_files_open_in_system ||
           e == std::errc::no_buffer_space || e == std::errc::not_enough_memory;
}

}  // namespace

shard::shard(loop& owner, const handler& h, const server_options& o)
    : owner_(&owner), handler_(h), options_(&o),
      head_limits_{o.limits.head, o.limits.fields, o.limits.request_line, o.limits.field},
      proxies_(parse_networks(o.proxy_protocol_from)) {}

shard::~shard() {
    while (free_ != nullptr) delete std::exchange(free_, free_->next_free);
}

void shard::open(const net::address& at, bool shared, bool secure) {
    socket_options o;
    o.reuse_port = shared;
    const duration longest = std::chrono::hours(24 * 20);
    const duration write = options_->timeouts.write < longest ? options_->timeouts.write : longest;
    o.user_timeout_ms =
        static_cast<unsigned>(std::chrono::duration_cast<std::chrono::milliseconds>(write).count());
    auto l = net::listener::open(*owner_, at, o);
    if (!l) throw_exception(std::move(l).error());
    entrances_.push_back({std::move(*l), secure});
}

void shard::share(const net::listener& with, bool secure) {
    auto l = net::listener::share(*owner_, with);
    if (!l) throw_exception(std::move(l).error());
    entrances_.push_back({std::move(*l), secure});
}

exchange* shard::take_exchange() {
    if (free_ == nullptr) return new exchange;
    --free_count_;
    return std::exchange(free_, free_->next_free);
}

void shard::give_back(exchange* e) noexcept {
    if (free_count_ == exchanges_kept) {
        delete e;
        return;
    }
    e->next_free = free_;
    free_ = e;
    ++free_count_;
}

void shard::take_output(buffer& into) {
    if (output_)
        into = std::move(output_);
    else
        into = buffer(output_capacity);
}

void shard::give_back(buffer& output) noexcept {
    if (!output_ && output.capacity() == output_capacity) {
        output.clear();
        output_ = std::move(output);
    } else {
        output.release();
    }
}

const shard::head_start& shard::start_of_head() noexcept {
    const std::int64_t now = owner_->unix_time();
    if (now != date_second_) {
        date_second_ = now;
        char date[http_date_size];
        format_http_date(date, now);
        std::memcpy(head_start_.text, head_start::ok.data(), head_start::ok.size());
        h1::write_date(head_start_.text + head_start::ok.size(), date);
    }
    return head_start_;
}

void shard::opened(shard_link& c) noexcept {
    connections_.push_back(c);
    ++open_;
    counters_.add(&server_counters::connections);
    counters_.add(&server_counters::open);
}

void shard::closed() noexcept {
    counters_.subtract(&server_counters::open);
    --open_;
    room_.set();
    if (open_ == 0) empty_.set();
}

task<> shard::accept_from(task_group* handshakes, entrance* from) {
    duration pause = std::chrono::milliseconds(5);
    for (;;) {
        if (open_ + greeting_ >= options_->limits.connections) {
            count(&server_counters::accept_paused);
            room_.reset();
            co_await room_.wait();
            continue;
        }
        auto accepted = co_await as_result(from->listener.accept());
        if (accepted) {
            pause = std::chrono::milliseconds(5);
            const bool by_proxy = net::is_in_any(proxies_, (*accepted)->peer());
            if (!from->secure && !by_proxy) {
                (new connection(*this, std::move(*accepted)))->start();
                continue;
            }
            ++greeting_;
            handshakes->spawn(
                [this, from, by_proxy, s = std::move(*accepted)]() mutable {
                    return greet(std::move(s), from->secure, by_proxy);
                },
                "handshake");
            continue;
        }
        if (coracle::detail::is_cancellation(accepted.error())) co_return;
        count(&server_counters::accept_errors);
        owner_->log().write(log_layer::http, log_level::warning, accepted.error().message());
        if (!out_of_resources(accepted.error())) continue;
        // The peers that wait are told, and the loop does not spin while nothing gets better.
        from->listener.refuse_one();
        co_await sleep_for(pause);
        pause = pause * 2 < std::chrono::seconds(1) ? pause * 2 : std::chrono::seconds(1);
    }
}

/// What comes before the first request, and then the connection.
task<> shard::greet(std::unique_ptr<net::socket> s, bool secure, bool by_proxy) {
    tls::server_context* const context = secure ? options_->tls.get() : nullptr;
    const duration limit = secure ? context->options().handshake_limit : options_->timeouts.head;
    greeting g(std::move(s), context, by_proxy);
    const auto shake = [&g] { return g.run(); };
    auto client = co_await as_result(with_timeout(limit, shake));
    --greeting_;
    if (client && *client) {
        begin(**std::move(client));
        co_return;
    }
    room_.set();
    if (draining_) co_return;
    const error& why = client ? client->error() : client.error();
    if (why == std::errc::timed_out)
        count(&server_counters::tls_timeouts);
    else
        count(why.phase() == phase::proxy ? &server_counters::proxy_failures
                                          : &server_counters::tls_failures);
    const logger& log = owner_->log();
    if (log.enabled(log_layer::tls, log_level::debug)) {
        log.write(log_layer::tls, log_level::debug, why.message());
    }
}

void shard::begin(greeted client) {
    if (client.secured != nullptr) {
        count(&server_counters::tls_handshakes);
        if (client.secured->resumed()) count(&server_counters::tls_resumptions);
    }
    auto* const c = new connection(*this, std::move(client.stream), client.secured);
    c->start(std::move(client.received), client.source ? &*client.source : nullptr);
}

void shard::drain() noexcept {
    draining_ = true;
    stop_.set();
    for (shard_link* c = connections_.front(); c != nullptr; c = connections_.next(*c)) {
        static_cast<connection*>(c)->drain();
    }
}

void shard::cut_all() noexcept {
    for (shard_link* c = connections_.front(); c != nullptr; c = connections_.next(*c)) {
        static_cast<connection*>(c)->cut();
    }
}

task<std::expected<void, error>> shard::run() {
    context_ = &co_await coracle::detail::current_context();
    auto accept_until_stopped = [this](task_group& group) -> task<> {
        for (entrance& e : entrances_) {
            group.spawn([this, &group, &e] { return accept_from(&group, &e); }, "accept");
        }
        co_await stop_.wait();
        group.cancel();
    };
    co_await as_result(with_task_group(accept_until_stopped));
    for (entrance& e : entrances_) e.listener.close();

    // Cancelled, not stopped: nothing is waited for.
    const bool stopped = draining_;
    drain();
    empty_.reset();
    if (open_ == 0) co_return std::expected<void, error>();
    auto wait_until_empty = [this]() -> task<> { co_await empty_.wait(); };
    if (stopped) {
        co_await as_result(with_timeout(options_->timeouts.drain, wait_until_empty));
    }
    cut_all();
    while (open_ != 0) {
        co_await as_result(shielded(std::chrono::seconds(10), wait_until_empty));
    }
    co_return std::expected<void, error>();
}

}  // namespace coracle::http::detail
