#include "redis/client_core.hpp"

#include <utility>
#include <vector>

namespace coracle::redis {

namespace detail {
namespace {

void add_to(client_counters& to, const pipeline_counters& from) noexcept {
    to.commands += from.commands;
    to.failed += from.failed;
    to.refused += from.refused;
    to.connections += from.connections;
    to.lost += from.lost;
}

error gone() {
    error e(coracle::errc::shutting_down, "redis command");
    e.on("the client").retry_is_safe(true);
    return e;
}

operation<reply> refused(error why) {
    return std::expected<reply, error>(std::unexpected(std::move(why)));
}

operation<reply> send(client_core& core, std::span<const std::string_view> parts) {
    if (parts.empty()) {
        error e(std::errc::invalid_argument, "redis command");
        return refused(e.on("a command without a name"));
    }
    if (changes_connection(parts)) {
        error e(make_error_code(errc::shared_connection), "redis command");
        return refused(e.on(parts.front()));
    }
    std::shared_ptr<pipeline> commands = core.here();
    if (commands == nullptr) return refused(gone());
    std::string bytes;
    append_command(bytes, parts);
    return pipeline::perform(std::move(commands), std::move(bytes));
}

}  // namespace

client_part::client_part(client_core& core, loop& owner)
    : resident(&core), core_(core.shared_from_this()),
      commands_(std::make_shared<pipeline>(owner, core.server(), core.options())) {}

void client_part::leave() noexcept {
    core_->forget(*this);
    commands_->close();
}

void client_part::retire() noexcept {
    leave();
    disown();
    delete this;
}

void client_part::loop_ended() noexcept {
    leave();
    delete this;
}

client_core::client_core(std::string_view url, client_options o)
    : options_(std::move(o)), endpoint_(std::make_shared<const endpoint>(url, options_)) {}

std::shared_ptr<pipeline> client_core::here() {
    client_part* const part = parts_.here(*this);
    return part == nullptr ? nullptr : part->commands();
}

void client_core::forget(client_part& p) noexcept {
    // Under one lock: `counters` must count it once.
    const std::lock_guard lock(guard_);
    add_to(ended_, p.commands()->counters);
    parts_.forget(p);
}

client_counters client_core::counters() noexcept {
    const std::lock_guard lock(guard_);
    client_counters all = ended_;
    parts_.for_each([&all](const client_part& p) { add_to(all, p.commands()->counters); });
    return all;
}

}  // namespace detail

client::client(std::string_view url, client_options o)
    : core_(std::make_shared<detail::client_core>(url, std::move(o))) {}

client::~client() {
    core_->close();
}

operation<reply> client::send(std::span<const std::string_view> parts) {
    return detail::send(*core_, parts);
}

operation<reply> client::command(std::span<const std::string> parts) {
    const std::vector<std::string_view> views(parts.begin(), parts.end());
    return detail::send(*core_, views);
}

operation<void> client::drain(duration limit) {
    std::shared_ptr<detail::pipeline> commands = core_->here();
    if (commands == nullptr) return std::expected<void, error>();
    return detail::pipeline::drain(std::move(commands), limit);
}

client_counters client::counters() const noexcept {
    return core_->counters();
}

}  // namespace coracle::redis
