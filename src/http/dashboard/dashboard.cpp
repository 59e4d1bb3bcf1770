#include "http/dashboard/page.hpp"
#include "http/dashboard/snapshot.hpp"
#include "http/local_client.hpp"
#include "runtime/shortest_period.hpp"

#include <coracle/http/dashboard.hpp>
#include <coracle/http/events.hpp>
#include <coracle/runtime/on.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_dump.hpp>

#include <algorithm>

namespace coracle::http {

using detail::loop_view;

class dashboard::state {
public:
    explicit state(dashboard_options o)
        : options(std::move(o)), messages(options.messages),
          views(std::make_shared<detail::loop_views>()) {
        log.set_sink(&detail::message_list::write, &messages);
    }

    loop_view& here() const {
        loop& l = *loop::current();
        if (resident* const r = l.find_resident(views.get())) return static_cast<loop_view&>(*r);
        auto made = std::make_unique<loop_view>(l, views, options.routes);
        l.settle(*made);
        return *made.release();
    }

    /// Returns true if the page is for this client.
    bool admits(const request& req) const noexcept {
        return !options.loopback_only || detail::comes_from_here(req);
    }

    detail::snapshot now() const {
        detail::snapshot s;
        s.at = loop::current()->now();
        s.read(*views);
        return s;
    }
    std::optional<server_counters> counters() const {
        const std::lock_guard hold(guard);
        return read ? std::optional(read()) : std::nullopt;
    }

    const dashboard_options options;
    detail::message_list messages;
    logger log;
    std::shared_ptr<detail::loop_views> views;
    mutable std::mutex guard;
    std::function<server_counters()> read;
};

namespace {

using shared_state = std::shared_ptr<dashboard::state>;

/// Counts one page that is fed.
class viewer {
public:
    explicit viewer(loop_view& v) noexcept : of_(&v) { ++of_->viewers; }
    viewer(viewer&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    viewer& operator=(viewer&&) = delete;
    ~viewer() {
        if (of_ != nullptr) --of_->viewers;
    }

private:
    loop_view* of_;
};

task<> feed(shared_state s, event_sink* out) {
    detail::snapshot before = s->now();
    for (;;) {
        auto pausing = sleep_for(std::max(s->options.interval, coracle::detail::shortest_period));
        co_await std::move(pausing);
        detail::snapshot now = s->now();
        const std::string text = detail::event_between(before, now, s->counters(), s->messages);
        before = std::move(now);
        auto sending = out->send(std::string_view(text));
        co_await std::move(sending);
    }
}

response refusal() {
    return {status::forbidden, "The dashboard is for this machine alone.\n"};
}

response page_for(const dashboard::state& s) {
    response r = html(detail::dashboard_page(s.options.title));
    r.set("Cache-Control", "no-store");
    r.set("Content-Security-Policy",
          "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
          "img-src data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'");
    return r;
}

response events_for(const shared_state& s, request& req) {
    loop_view& here = s->here();
    if (here.viewers >= s->options.viewers) {
        response full(status::service_unavailable, "Too many pages are open.\n");
        full.set("Retry-After", "10");
        return full;
    }
    auto send = [s, counted = viewer(here)](event_sink& out) { return feed(s, &out); };
    return events(req, std::move(send));
}

/// The tasks of all loops, one loop after the other.
task<response> tasks_of(shared_state s) {
    std::vector<loop*> all;
    s->views->for_each([&all](const loop_view& v) { all.push_back(&v.of()); });
    std::ranges::sort(all, {}, [](const loop* l) { return l->index(); });
    std::string text;
    for (loop* const l : all) {
        const auto dump = [l]() -> task<std::string> { co_return dump_tasks(*l); };
        auto dumping = on(*l, dump);
        auto dumped = co_await as_result(dumping);
        text += "loop " + std::to_string(l->index()) + '\n';
        if (dumped) text += *dumped;
    }
    response r(std::move(text));
    r.set("Cache-Control", "no-store");
    co_return r;
}

}  // namespace

dashboard::dashboard(dashboard_options options)
    : state_(std::make_shared<state>(std::move(options))) {}

dashboard::~dashboard() = default;

void dashboard::observe(const access_record& record) {
    state_->here().add(record);
}

void dashboard::set_counters(std::function<server_counters()> read) {
    const std::lock_guard hold(state_->guard);
    state_->read = std::move(read);
}

logger& dashboard::log() noexcept {
    return state_->log;
}

void dashboard::add_to(router& routes, std::string_view path) const {
    while (path.ends_with('/')) path.remove_suffix(1);
    const std::string at(path);
    routes.get(at.empty() ? "/" : at,
               [s = state_](request& req) { return s->admits(req) ? page_for(*s) : refusal(); });
    routes.get(at + "/events", [s = state_](request& req) {
        return s->admits(req) ? events_for(s, req) : refusal();
    });
    routes.get(at + "/tasks", [s = state_](request& req) -> task<response> {
        if (!s->admits(req)) co_return refusal();
        auto listing = tasks_of(s);
        co_return co_await std::move(listing);
    });
}

}  // namespace coracle::http
