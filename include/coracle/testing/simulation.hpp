#pragma once

#include <coracle/runtime/runtime.hpp>
#include <coracle/testing/simulated_backend.hpp>
#include <coracle/testing/simulated_disk.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace coracle::testing {

/// A run that could not go on: a deadlock, a bound, a broken contract. The text names the seed.
class simulation_failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

namespace detail {

/// One of several tasks that end together.
class party_member final : public coracle::detail::child<void> {
public:
    party_member(std::size_t& left, bool& done, std::exception_ptr& first) noexcept
        : left_(&left), done_(&done), first_(&first) {}

private:
    std::coroutine_handle<> ended() noexcept override {
        if (exception() != nullptr && *first_ == nullptr) *first_ = exception();
        if (--*left_ == 0 || *first_ != nullptr) *done_ = true;
        return std::noop_coroutine();
    }
    std::size_t* left_;
    bool* done_;
    std::exception_ptr* first_;
};

}  // namespace detail

/// Loops on simulated backends, in virtual time: an hour's timeout takes no time. Everything that
/// uses the loop's clocks, its randomness and its network runs on it unchanged. One thread, however
/// many loops.
class simulation {
public:
    explicit simulation(const simulation_options& options = {});
    /// The usual world with this seed.
    explicit simulation(std::uint64_t seed);
    ~simulation();
    simulation(const simulation&) = delete;
    simulation& operator=(const simulation&) = delete;

    /// Runs `f()`, which gives a task or an operation, on the first loop to its end, and gives what
    /// it gives, or throws what it throws. Tasks that it spawned, and those of the other loops, are
    /// stopped then. Throws `simulation_failure` when the run cannot go on, after everything has
    /// been cancelled; what does not even end then ends the process, with the same report. Once.
    template <class F>
    auto run(F f) {
        using T = coracle::detail::await_result<std::invoke_result_t<F&>>;
        bool done = false;
        coracle::detail::blocking_child<T> main(done);
        coracle::loop& l = loop();
        l.post([&] {
            main.begin(coracle::detail::call_in_task(f), l, &l.root(), "simulation").resume();
        });
        constexpr std::size_t none = 0;
        drive(done, none);
        throw_if_failed();
        return coracle::detail::value_of<T>(main, "simulation");
    }

    /// Runs `f(loop)`, which gives a task, once on every loop, until all have ended or one has
    /// thrown: the others are cancelled then, and run to their ends. Otherwise as `run`. Throws the
    /// exception that ended it. Once.
    template <class F>
    void run_on_all(F f) {
        run_party([&f](coracle::loop& l) -> task<> { co_await f(l); });
    }

    std::size_t loops() const noexcept { return loops_.size(); }
    coracle::loop& loop(std::size_t index = 0) noexcept { return *loops_[index]; }
    simulated_backend& backend(std::size_t index = 0) noexcept { return *backends_[index]; }
    /// The files that there are: those of `simulation_options::disk`, or its own.
    simulated_disk& disk() noexcept { return backend().disk(); }
    /// Crashes the disk by the seed of the simulation. The tasks go on, and find that what they
    /// have open gives EIO; what is a machine that starts again is another simulation over the same
    /// disk.
    void crash_disk() { disk().crash(seed_); }
    /// Returns the logger of the library. By default it writes as any `logger`; set a sink to check
    /// its lines.
    logger& log() noexcept { return log_; }

    time_point now() noexcept { return backend().now(); }
    /// Virtual time since the beginning.
    duration elapsed() noexcept { return now() - start_; }
    std::uint64_t seed() const noexcept { return seed_; }
    /// A hash of all that happened: the same for the same seed and program.
    std::uint64_t trace() const noexcept { return backends_.front()->trace(); }
    /// Detached tasks that have not ended, on all loops; without those that carry the calls of
    /// others (`loop::services`).
    std::uint64_t detached() const noexcept;
    /// "seed 42; replay with CORACLE_SEED=42".
    std::string replay() const;

private:
    static void failed(void* self, const std::string& why) noexcept;
    void throw_if_failed() const;
    std::uint64_t services() const noexcept;
    void run_party(unique_function<task<>(coracle::loop&)> f);
    void drive(const bool& done, const std::size_t& left);
    void take_turns(const bool& done);

    logger log_;
    std::uint64_t seed_;
    std::vector<simulated_backend*> backends_;
    std::vector<std::unique_ptr<coracle::loop>> loops_;
    time_point start_;
    std::string failure_;
};

/// The seeds 1 to `count`, or to the number in the environment variable CORACLE_SEEDS, or just the
/// one that CORACLE_SEED names.
std::vector<std::uint64_t> seeds(std::uint64_t count);

}  // namespace coracle::testing
