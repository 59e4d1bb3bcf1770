#include "smtp/client/sending_state.hpp"

#include <coracle/smtp/client.hpp>
#include <coracle/smtp/client_settings.hpp>

#include <algorithm>

namespace coracle::smtp {

client::client(std::string_view server, client_options o, pool_options p, background_options b)
    : core_(std::make_shared<detail::client_core>(server, std::move(o), std::move(p), b)) {}

client::~client() {
    // Mails on the client's own loop use what the client has there until they have ended.
    core_->own_loop().end();
    core_->close();
}

sending client::send(const message& m) {
    auto state = std::make_unique<detail::sending_state>(core_, m);
    return sending(std::move(state));
}

client_options client::defaults() const {
    return *core_->defaults();
}
void client::set_defaults(client_options o) {
    core_->set_defaults(std::move(o));
}
void client::set_defaults(std::string_view text) {
    auto changed = core_->change_defaults(text);
    if (!changed) throw_exception(std::move(changed).error());
}
void client::intercept(std::function<task<receipt>(message&, const mail_handler&)> around) {
    core_->intercept(std::move(around));
}
void client::set_policy(std::string_view domain, std::optional<sts_policy> p) {
    core_->set_policy(domain, std::move(p));
}
client_statistics client::statistics() const {
    return core_->statistics();
}
bool client::stop(duration limit) {
    return core_->own_loop().stop(limit);
}

bool receipt::all_accepted() const noexcept {
    return std::ranges::all_of(recipients, &recipient_result::accepted);
}

sending::sending(std::unique_ptr<detail::sending_state> state) noexcept
    : state_(std::move(state)) {}
sending::sending(sending&&) noexcept = default;
sending& sending::operator=(sending&& other) noexcept {
    running_.reset();
    if (other.running_) running_.emplace(*std::move(other.running_));
    state_ = std::move(other.state_);
    gives_errors_ = other.gives_errors_;
    return *this;
}
sending::~sending() = default;

operation<receipt>& sending::begin() {
    running_.emplace(detail::send_mail(state_.get()));
    if (gives_errors_) running_->give_errors();
    return *running_;
}

client_options& sending::own_options() {
    auto& own = state_->own;
    if (own == nullptr) own = std::make_unique<client_options>(*state_->core->defaults());
    return *own;
}

sending& sending::timeout(duration limit) & {
    state_->total_timeout = limit;
    return *this;
}
sending& sending::retry(unsigned retries, duration delay) & {
    own_options().retry.retries = retries;
    own_options().retry.delay = delay;
    return *this;
}
sending& sending::allow_refused_recipients(bool yes) & {
    own_options().rcpt_allow_fails = yes;
    return *this;
}
sending& sending::options(std::string_view text) & {
    auto read = read_options(own_options(), text);
    if (!read) state_->refuse(std::move(read).error());
    return *this;
}
sending& sending::set_options(client_options all) & {
    own_options() = std::move(all);
    return *this;
}

std::shared_ptr<background> sending::own_loop() const {
    return state_->core->own_loop().get();
}

receipt sending::wait() && {
    const auto own = own_loop();
    return own->wait([this] { return operation<receipt>(detail::send_mail(state_.get())); });
}

background_call sending::start(unique_function<void(std::expected<receipt, error>)> callback,
                               callback_on where) && {
    auto tell = [callback = std::move(callback)](
                    std::expected<std::expected<receipt, error>, error> r) mutable {
        callback(r ? *std::move(r)
                   : std::expected<receipt, error>(std::unexpected(std::move(r).error())));
    };
    try {
        const auto own = own_loop();
        auto work = [state = std::move(state_)]() mutable {
            return detail::send_owned_mail(std::move(state));
        };
        return own->start(std::move(work), std::move(tell), where);
    } catch (const exception& e) {
        tell(std::unexpected(e.error()));
    }
    auto over = std::make_shared<coracle::detail::call_state>();
    over->over.set();
    return background_call(std::move(over));
}

background_call sending::start() && {
    return std::move(*this).start([](const std::expected<receipt, error>&) {}, callback_on::loop);
}

}  // namespace coracle::smtp
