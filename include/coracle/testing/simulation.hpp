#pragma once

#include <coracle/runtime/runtime.hpp>
#include <coracle/testing/simulated_backend.hpp>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace coracle::testing {

/// A run that could not go on: a deadlock, a bound, a broken contract. The text names the seed.
class simulation_failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A loop on a simulated backend, in virtual time: an hour's timeout takes no time. Everything that
/// uses the loop's clocks, its randomness and its network runs on it unchanged. One thread.
class simulation {
public:
    explicit simulation(const simulation_options& options = {});
    /// The usual world with this seed.
    explicit simulation(std::uint64_t seed);
    ~simulation();
    simulation(const simulation&) = delete;
    simulation& operator=(const simulation&) = delete;

    /// Runs `f()`, which gives a task or an operation, to its end, and gives what it gives, or
    /// throws what it throws. Tasks that it spawned are stopped then. Throws `simulation_failure`
    /// when the run cannot go on, after everything has been cancelled; what does not even end then
    /// ends the process, with the same report. Once.
    template <class F>
    auto run(F f) {
        using T = coracle::detail::await_result<std::invoke_result_t<F&>>;
        bool done = false;
        coracle::detail::blocking_child<T> main(done);
        coracle::loop& l = *loop_;
        l.post([&] {
            main.begin(coracle::detail::to_task(f()), l, &l.root(), "simulation").resume();
        });
        l.run_until(done);
        throw_if_failed();
        return coracle::detail::value_of<T>(main, "simulation");
    }

    coracle::loop& loop() noexcept { return *loop_; }
    simulated_backend& backend() noexcept { return *backend_; }
    /// Set a sink to hear what the library logs.
    logger& log() noexcept { return log_; }

    time_point now() noexcept { return backend_->now(); }
    /// Virtual time since the beginning.
    duration elapsed() noexcept { return backend_->now() - start_; }
    std::uint64_t seed() const noexcept { return seed_; }
    /// A hash of all that happened: the same for the same seed and program.
    std::uint64_t trace() const noexcept { return backend_->trace(); }
    /// "seed 42; replay with CORACLE_SEED=42".
    std::string replay() const;

private:
    static void failed(void* self, const std::string& why) noexcept;
    void throw_if_failed() const;

    logger log_;
    std::uint64_t seed_;
    simulated_backend* backend_;
    std::unique_ptr<coracle::loop> loop_;
    time_point start_;
    std::string failure_;
};

/// The seeds 1 to `count`, or just the one that the environment variable CORACLE_SEED names.
std::vector<std::uint64_t> seeds(std::uint64_t count);

}  // namespace coracle::testing
