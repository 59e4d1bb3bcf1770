#include <coracle/testing/simulation.hpp>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace coracle::testing {
namespace {

simulation_options with_seed(std::uint64_t seed) {
    simulation_options o;
    o.seed = seed;
    return o;
}

}  // namespace

simulation::simulation(const simulation_options& options) : seed_(options.seed) {
    auto b = std::make_unique<simulated_backend>(options);
    backend_ = b.get();
    backend_->on_failure(&simulation::failed, this);
    loop_ = std::make_unique<coracle::loop>(std::move(b), log_);
    start_ = backend_->now();
}

simulation::simulation(std::uint64_t seed) : simulation(with_seed(seed)) {}

simulation::~simulation() = default;

std::string simulation::replay() const {
    const std::string seed = std::to_string(seed_);
    return "seed " + seed + "; replay with CORACLE_SEED=" + seed;
}

void simulation::failed(void* self, const std::string& why) noexcept {
    auto& s = *static_cast<simulation*>(self);
    s.failure_ = why;
    s.loop_->root().cancel();
}

void simulation::throw_if_failed() const {
    if (failure_.empty()) return;
    const std::string seed = std::to_string(seed_);
    throw simulation_failure("seed " + seed + ": " + failure_ +
                             "; replay with CORACLE_SEED=" + seed);
}

std::vector<std::uint64_t> seeds(std::uint64_t count) {
    if (const char* text = std::getenv("CORACLE_SEED"); text != nullptr) {
        const std::string_view digits(text);
        std::uint64_t seed = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), seed);
        return {seed};
    }
    std::vector<std::uint64_t> all;
    for (std::uint64_t seed = 1; seed <= count; ++seed) all.push_back(seed);
    return all;
}

}  // namespace coracle::testing
