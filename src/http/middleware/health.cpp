#include <coracle/http/middleware/health.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/this_task.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <atomic>
#include <mutex>
#include <vector>

namespace coracle::http {
namespace {

/// The outcome of all checks.
struct outcome {
    bool all_well = true;
    std::string text;
    time_point at;
};

response to_response(bool well, std::string text) {
    response r(well ? status::ok : status::service_unavailable, std::move(text));
    r.set("Cache-Control", "no-store");
    return r;
}

}  // namespace

class health::state {
public:
    struct named_check {
        std::string name;
        check run;
    };

    explicit state(health_options o) noexcept : options(o) {}

    /// Runs all checks, or gives what they last said.
    task<outcome> ask() {
        const time_point now = loop::current()->now();
        {
            const std::lock_guard lock(guard_);
            if (last_ && now - last_->at < options.keep) co_return *last_;
        }
        outcome made{.text = {}, .at = now};
        for (const named_check& c : checks) {
            auto running = run(c);
            const std::string why = co_await std::move(running);
            made.all_well = made.all_well && why.empty();
            made.text += c.name + ": " + (why.empty() ? "ok" : why) + '\n';
        }
        const std::lock_guard lock(guard_);
        last_ = made;
        co_return made;
    }

    const health_options options;
    std::vector<named_check> checks;
    std::atomic<bool> is_ready{true};

private:
    /// Why it failed; empty where it did not.
    task<std::string> run(const named_check& c) {
        try {
            auto limited = with_timeout(options.patience, c.run);
            auto result = co_await as_result(limited);
            if (result) co_return *result ? "" : "failed";
            // A probe that was cancelled says nothing of the check.
            const bool is_over = co_await this_task::stopped();
            if (is_over) throw_exception(std::move(result).error());
            co_return result.error() == std::errc::timed_out ? "timed out" : "failed";
        } catch (const exception&) {
            throw;
        } catch (...) {
            co_return "failed";
        }
    }

    std::mutex guard_;
    std::optional<outcome> last_;
};

health::health(health_options options) : state_(std::make_shared<state>(options)) {}

void health::add(std::string_view name, check run) {
    state_->checks.push_back({std::string(name), std::move(run)});
}

void health::set_ready(bool yes) noexcept {
    state_->is_ready.store(yes, std::memory_order_relaxed);
}

handler health::live() const {
    return [](request&) { return to_response(true, "ok\n"); };
}

handler health::ready() const {
    return [state = state_](request&) -> task<response> {
        if (!state->is_ready.load(std::memory_order_relaxed)) {
            co_return to_response(false, "not ready\n");
        }
        auto asking = state->ask();
        outcome o = co_await std::move(asking);
        co_return to_response(o.all_well, o.text.empty() ? "ok\n" : std::move(o.text));
    };
}

}  // namespace coracle::http
