#include <coracle/http/loop_metrics.hpp>
#include <coracle/runtime/detail/resident.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/spawn.hpp>

#include <algorithm>
#include <mutex>
#include <string>

namespace coracle::http {
namespace {

struct row {
    const char* name;
    const char* help;
    double (*read)(const loop_statistics& s);
};

template <auto Member>
double member(const loop_statistics& s) {
    return static_cast<double>(s.*Member);
}

constexpr row rows[] = {
    {"coracle_loop_turns_total", "Turns of a loop.", member<&loop_statistics::turns>},
    {"coracle_loop_tasks_total", "Times that a task of a loop got to run.",
     member<&loop_statistics::tasks>},
    {"coracle_loop_ready_tasks", "Tasks that were ready in the last turn of a loop.",
     member<&loop_statistics::ready>},
    {"coracle_loop_waits_total", "Times that a loop asked the system for events.",
     member<&loop_statistics::waits>},
    {"coracle_loop_events_total", "Events that the system reported.",
     member<&loop_statistics::events>},
    {"coracle_loop_system_calls_total", "System calls of a loop, beside its waits.",
     member<&loop_statistics::system_calls>},
    {"coracle_loop_busy_seconds_total", "Processor time of the thread of a loop.",
     [](const loop_statistics& s) {
         return std::chrono::duration<double>(s.processor_time).count();
     }},
};

/// From 100 us to 1 s.
std::vector<double> lateness_buckets() {
    return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1};
}

/// Throws before anything is registered.
loop_metrics_options checked(loop_metrics_options o) {
    if (o.interval.count() > 0 && o.stall.count() > 0) return o;
    error e(std::errc::invalid_argument, "loop_metrics_options");
    throw_exception(std::move(e.on(o.stall.count() > 0 ? "interval" : "stall")));
}

}  // namespace

/// The loops that are measured.
class loop_metrics::state {
public:
    state(metrics::registry& to, loop_metrics_options o)
        : options(checked(o)),
          lateness(to.make_histogram("coracle_loop_lateness_seconds",
                                     "How late a timer of a loop fires.", lateness_buckets())),
          stalls(to.make_counter("coracle_loop_stalls_total",
                                 "Times that a loop was held for long.")) {}

    void write(const row& r, const metrics::registry::series_writer& out) const {
        const std::lock_guard hold(guard_);
        for (const loop* const l : all_) {
            const std::string index = std::to_string(l->index());
            const std::string_view labels[] = {index};
            out(labels, r.read(l->statistics()));
        }
    }
    void add(loop& l) {
        const std::lock_guard hold(guard_);
        all_.push_back(&l);
    }
    void remove(loop& l) noexcept {
        const std::lock_guard hold(guard_);
        std::erase(all_, &l);
    }

    const loop_metrics_options options;
    const metrics::histogram lateness;
    const metrics::counter stalls;

private:
    mutable std::mutex guard_;
    std::vector<const loop*> all_;
};

namespace {

/// Notes that a loop is measured, and measures how late it is.
class measured_loop final : public resident {
public:
    measured_loop(loop& l, std::shared_ptr<loop_metrics::state> of)
        : resident(of.get()), loop_(l), state_(std::move(of)) {
        state_->add(loop_);
    }
    void loop_ended() noexcept override {
        state_->remove(loop_);
        delete this;
    }

    void begin() {
        if (has_begun_) return;
        spawn([s = state_] { return measure(s); }, "loop metrics");
        has_begun_ = true;
    }

private:
    static task<> measure(std::shared_ptr<loop_metrics::state> s) {
        loop& here = *loop::current();
        for (;;) {
            const time_point due =
                coracle::detail::later(here.backend().now(), s->options.interval);
            auto sleeping = sleep_for(s->options.interval);
            co_await std::move(sleeping);
            const duration late = here.backend().now() - due;
            s->lateness.observe(std::max(0.0, std::chrono::duration<double>(late).count()));
            if (late > s->options.stall) s->stalls.add();
        }
    }

    loop& loop_;
    std::shared_ptr<loop_metrics::state> state_;
    bool has_begun_ = false;
};

}  // namespace

loop_metrics::loop_metrics(metrics::registry& to, loop_metrics_options options)
    : state_(std::make_shared<state>(to, options)) {
    for (const row& r : rows) {
        to.make_reader(
            r.name, r.help, {"loop"},
            [s = state_, &r](const metrics::registry::series_writer& out) { s->write(r, out); });
    }
}

loop_metrics::~loop_metrics() = default;

void loop_metrics::observe(const access_record&) {
    loop& here = *loop::current();
    auto* on_this = static_cast<measured_loop*>(here.find_resident(state_.get()));
    if (on_this == nullptr) {
        on_this = std::make_unique<measured_loop>(here, state_).release();
        here.settle(*on_this);
    }
    on_this->begin();
}

}  // namespace coracle::http
