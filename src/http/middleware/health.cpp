#include <coracle/http/middleware/health.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/mutex.hpp>
#include <coracle/runtime/this_task.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

namespace coracle::http {
namespace {

/// The outcome of all checks.
struct outcome {
    bool all_well = true;
    std::string text;
    time_point at{};
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

    /// Runs all checks, or gives what they said last, or in a run for another probe of this loop.
    task<outcome> ask() {
        const time_point came = loop::current()->now();
        if (auto known = known_since(came)) co_return *std::move(known);
        auto locking = turn_of_this_loop().lock();
        const auto mine = co_await locking;
        if (auto known = known_since(came)) co_return *std::move(known);
        outcome made;
        for (const named_check& c : checks) {
            auto running = run(c);
            const std::string why = co_await std::move(running);
            made.all_well = made.all_well && why.empty();
            made.text += c.name + ": " + (why.empty() ? "ok" : why) + '\n';
        }
        made.at = loop::current()->now();
        const std::lock_guard lock(guard_);
        last_ = made;
        co_return made;
    }

    const health_options options;
    std::vector<named_check> checks;
    std::atomic<bool> is_ready{true};

private:
    using turn = mutex<std::monostate>;

    /// The last outcome, if it still holds or has come since.
    std::optional<outcome> known_since(time_point came) {
        const std::lock_guard lock(guard_);
        if (!last_) return std::nullopt;
        const bool holds = loop::current()->now() - last_->at < options.keep;
        return holds || last_->at > came ? last_ : std::nullopt;
    }

    turn& turn_of_this_loop() {
        const std::lock_guard lock(guard_);
        return turns_[loop::current()];
    }

    /// Why it failed; empty where it did not.
    task<std::string> run(const named_check& c) {
        std::exception_ptr thrown;
        try {
            auto limited = with_timeout(options.patience, c.run);
            auto result = co_await as_result(limited);
            if (result) co_return *result ? "" : "failed";
            if (result.error() == std::errc::timed_out) co_return "timed out";
            thrown = std::make_exception_ptr(exception(std::move(result).error()));
        } catch (...) {
            thrown = std::current_exception();
        }
        // A probe that was cancelled says nothing of the check.
        const bool is_over = co_await this_task::stopped();
        if (is_over) std::rethrow_exception(thrown);
        co_return "failed";
    }

    std::mutex guard_;
    std::optional<outcome> last_;
    std::map<const loop*, turn> turns_;
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
