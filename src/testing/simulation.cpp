#include "base/whole_number.hpp"
#include "testing/loop_view.hpp"

#include <coracle/testing/simulation.hpp>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace coracle::testing {
namespace {

simulation_options with_seed(std::uint64_t seed) {
    simulation_options o;
    o.seed = seed;
    return o;
}

std::optional<std::uint64_t> number_in(const char* variable) {
    const char* text = std::getenv(variable);
    if (text == nullptr || *text == '\0') return std::nullopt;
    const auto number = coracle::detail::whole_number<std::uint64_t>(text);
    if (!number) throw_exception(error(std::errc::invalid_argument, variable).on(text));
    return number;
}

}  // namespace

simulation::simulation(const simulation_options& options) : seed_(options.seed) {
    const unsigned count = std::max(options.loops, 1u);
    for (unsigned i = 0; i != count; ++i) {
        auto b = i == 0 ? std::make_unique<simulated_backend>(options) : backend().sibling();
        b->view().is_driven = count > 1;
        backends_.push_back(b.get());
        loops_.push_back(std::make_unique<coracle::loop>(std::move(b), log_, i));
    }
    backend().on_failure(&simulation::failed, this);
    start_ = now();
}

simulation::simulation(std::uint64_t seed) : simulation(with_seed(seed)) {}

simulation::~simulation() = default;

std::string simulation::replay() const {
    const std::string seed = std::to_string(seed_);
    return "seed " + seed + "; replay with CORACLE_SEED=" + seed;
}

std::uint64_t simulation::detached() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& l : loops_) sum += l->detached();
    return sum;
}

std::uint64_t simulation::services() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& l : loops_) sum += l->services();
    return sum;
}

void simulation::failed(void* self, const std::string& why) noexcept {
    auto& s = *static_cast<simulation*>(self);
    s.failure_ = why;
    for (auto& l : s.loops_) l->stop();
}

void simulation::throw_if_failed() const {
    if (failure_.empty()) return;
    const std::string seed = std::to_string(seed_);
    throw simulation_failure("seed " + seed + ": " + failure_ +
                             "; replay with CORACLE_SEED=" + seed);
}

void simulation::run_party(unique_function<task<>(coracle::loop&)> f) {
    std::size_t left = loops_.size();
    bool done = false;
    std::exception_ptr first;
    std::vector<std::unique_ptr<detail::party_member>> members;
    for (auto& owner : loops_) {
        members.push_back(std::make_unique<detail::party_member>(left, done, first));
        owner->post([&f, &l = *owner, m = members.back().get()] {
            m->begin(f(l), l, &l.root(), "simulation").resume();
        });
    }
    drive(done, left);
    throw_if_failed();
    if (first != nullptr) std::rethrow_exception(first);
}

/// Runs until `done`; then stops what is detached, and the `left` that are not.
void simulation::drive(const bool& done, const std::size_t& left) {
    if (loop().has_ended()) {
        throw_exception(error(std::errc::operation_not_supported, "simulation").on("a second run"));
    }
    if (loops_.size() == 1) return loop().run_until(done);
    while (!done) take_turns(done);
    for (auto& l : loops_) l->stop();
    // No loop is over before all are: its tasks may wait for others, or for time to pass.
    const bool over = false;
    while (left != 0 || detached() != 0) take_turns(over);
    for (auto& l : loops_) l->post([&l] { l->stop_services(); });
    while (services() != 0 || detached() != 0) take_turns(over);
    for (auto& l : loops_) l->end_turns();
}

/// Lets one loop take a turn that has something to do; lets time pass when none has.
void simulation::take_turns(const bool& done) {
    detail::world& w = backend().view().shared();
    const auto may_run = [this](std::size_t i) { return backend(i).view().has_work(); };
    std::size_t ready = 0;
    time_point next = time_point::max();
    for (std::size_t i = 0; i != loops_.size(); ++i) {
        if (may_run(i)) ++ready;
        next = std::min(next, backend(i).view().due);
    }
    if (ready == 0) {
        w.count_turn();
        if (!w.pass(next)) {
            w.stuck("deadlock: nothing is left that could happen, and the run has not ended");
        }
        w.check_time();
        return;
    }
    std::size_t chosen = ready == 1 ? 0 : static_cast<std::size_t>(w.draw(ready - 1));
    for (std::size_t i = 0;; ++i) {
        if (!may_run(i) || chosen-- != 0) continue;
        w.note_turn(static_cast<unsigned>(i));
        backend(i).view().due = loops_[i]->run_turn(done);
        return;
    }
}

std::vector<std::uint64_t> seeds(std::uint64_t count) {
    if (const auto one = number_in("CORACLE_SEED")) return {*one};
    if (const auto given = number_in("CORACLE_SEEDS")) {
        // A test that runs for no seed would pass.
        if (*given == 0) {
            throw_exception(error(std::errc::invalid_argument, "CORACLE_SEEDS").on("0"));
        }
        count = *given;
    }
    std::vector<std::uint64_t> all;
    for (std::uint64_t seed = 1; seed <= count; ++seed) all.push_back(seed);
    return all;
}

}  // namespace coracle::testing
