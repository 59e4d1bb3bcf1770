#include "http/server/endpoints.hpp"

#include <coracle/http/service.hpp>
#include <coracle/runtime/task_group.hpp>

namespace coracle::http {
namespace {

net::address address_of(const std::string& path) {
    const bool is_path = path.starts_with("unix:");
    auto at = net::address::parse(is_path ? path : "unix:" + path);
    if (!at) throw_exception(std::move(at).error());
    return *at;
}

template <class T>
T value_or_throw(std::expected<T, error> e) {
    if (!e) throw_exception(std::move(e).error());
    return *std::move(e);
}

}  // namespace

service::service(const service_options& o)
    : options_(o), manager_(value_or_throw(net::service_manager::from_environment())) {
    sockets_ = value_or_throw(net::take_inherited_sockets());
    is_activated_ = !sockets_.empty();
    if (options_.handover.empty()) return;
    at_ = address_of(options_.handover);
    before_ = value_or_throw(net::take_over(at_));
    // Where there are both, those of the service manager are the same ones.
    for (net::inherited_socket& s : sockets_) before_.sockets.push_back(std::move(s));
    sockets_ = std::move(before_.sockets);
}

server_options service::listening(server_options o) const {
    if (is_activated_ && !detail::has_item_of(o.listen, sockets_)) o.listen = "inherited";
    return o;
}

std::optional<std::uint16_t> service::secure_port(const server_options& o) const {
    return detail::secure_port_of(o.listen, o.tls != nullptr, sockets_);
}

void service::equip(server& s) {
    s.inherit(std::move(sockets_));
    sockets_.clear();
}

task<> service::run(server& s, runtime& all) {
    const auto both = [this, &s, &all](task_group& group) -> task<> {
        co_await take_place(all.log());
        group.spawn([this, &all] { return watch(all); }, "watchdog");
        co_await wait_for_the_next(s, all.log());
    };
    co_await with_task_group(both);
}

task<> service::watch(runtime& all) {
    static_cast<void>(co_await as_result(manager_.keep_alive(all)));
}

task<> service::take_place(const logger& log) {
    if (const auto told = manager_.ready(); !told) {
        log.write(log_layer::http, log_level::warning, told.error().message());
    }
    const auto gone = co_await as_result(before_.ready());
    if (!gone) log.write(log_layer::http, log_level::warning, gone.error().message());
}

task<> service::wait_for_the_next(server& s, const logger& log) {
    if (options_.handover.empty()) co_return;
    const auto sockets = [&s] { return s.share_listeners(); };
    const net::handover_options how{options_.handover_patience};
    const auto next = co_await as_result(net::hand_over(at_, sockets, how));
    if (!next) {
        if (!coracle::detail::is_cancellation(next.error())) {
            log.write(log_layer::http, log_level::error, next.error().message());
        }
        co_return;
    }
    log.write(log_layer::http, log_level::info, "handed over to process " + std::to_string(*next));
    // Its own READY=1 counts from then on, and not our end.
    static_cast<void>(manager_.main_process(*next));
    s.stop_handed_over();
}

}  // namespace coracle::http
