#include "metrics/family_state.hpp"
#include "metrics/number_text.hpp"

#include <coracle/base/error.hpp>
#include <coracle/metrics/registry.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>
#include <optional>
#include <set>
#include <utility>

namespace coracle::metrics {
namespace {

using detail::family_state;
using detail::metric_kind;

constexpr std::size_t most_bounds = 64;

[[noreturn]] void refuse(std::string_view what) {
    error e(std::errc::invalid_argument, "metrics::registry");
    throw_exception(std::move(e.on(what)));
}

bool is_name(std::string_view text, bool is_label) noexcept {
    const auto is_start = [is_label](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
               (c == ':' && !is_label);
    };
    if (text.empty() || !is_start(text.front())) return false;
    return std::ranges::all_of(
        text, [&is_start](char c) { return is_start(c) || (c >= '0' && c <= '9'); });
}

void check(metric_kind kind, std::string_view name, const std::vector<std::string>& labels) {
    if (!is_name(name, false)) refuse(name);
    const bool is_total = name.ends_with(detail::total_suffix) && name != detail::total_suffix;
    if (is_total != (kind == metric_kind::counter)) refuse(name);
    for (auto at = labels.begin(); at != labels.end(); ++at) {
        // Names with two underscores are the scraper's, "le" is that of buckets.
        if (!is_name(*at, true) || at->starts_with("__") || *at == "le" ||
            std::find(labels.begin(), at, *at) != at) {
            refuse(*at);
        }
    }
}

void check_bounds(std::string_view name, const std::vector<double>& bounds) {
    const bool are_finite = std::ranges::all_of(bounds, [](double b) { return std::isfinite(b); });
    // None equals the one before.
    const bool ascend = std::ranges::adjacent_find(bounds, std::greater_equal<>()) == bounds.end();
    if (bounds.empty() || bounds.size() > most_bounds || !are_finite || !ascend) refuse(name);
}

/// Adds a family that `prepare` has made complete: nothing of one that cannot be made stays.
template <class Prepare, class... Args>
family_state& add(detail::registry_state& to, metric_kind kind, std::string_view name,
                  std::string_view help, std::vector<std::string> labels, Prepare prepare,
                  Args&&... args) {
    check(kind, name, labels);
    const std::lock_guard lock(to.guard);
    const std::vector<std::string> wanted = detail::names_of(kind, name);
    std::set<std::string> names(wanted.begin(), wanted.end());
    for (const std::string& one : names) {
        if (!to.names.contains(one)) continue;
        error e(errc::already_exists, "metrics::registry");
        throw_exception(std::move(e.on(one)));
    }
    auto made = std::make_unique<family_state>(to.source, kind, name, help, std::move(labels),
                                               std::forward<Args>(args)...);
    prepare(*made);
    family_state& added = *to.families.emplace(std::string(name), std::move(made)).first->second;
    // Needs no memory, so that a name whose family could not be made stays free.
    to.names.merge(names);
    return added;
}

constexpr auto as_it_is = [](family_state&) {};

family_state& add_stored(detail::registry_state& to, metric_kind kind, std::string_view name,
                         std::string_view help, std::vector<std::string> labels,
                         std::vector<double> bounds = {}) {
    return add(to, kind, name, help, std::move(labels), as_it_is, std::move(bounds),
               to.options.series);
}

/// Adds a metric without labels, which has one series.
template <class Metric>
Metric add_one(detail::registry_state& to, metric_kind kind, std::string_view name,
               std::string_view help, std::vector<double> bounds = {}) {
    std::optional<Metric> only;
    const auto make = [&only](family_state& of) { only.emplace(of.get<Metric>({})); };
    add(to, kind, name, help, {}, make, std::move(bounds), to.options.series);
    return *std::move(only);
}

metric_kind kind_of_reader(std::string_view name) noexcept {
    return name.ends_with(detail::total_suffix) ? metric_kind::counter : metric_kind::gauge;
}

}  // namespace

// ---- counting

void counter::add(std::uint64_t n) const noexcept {
    cells_->add(cell_, n);
}

std::uint64_t counter::value() const {
    return cells_->sum(cell_);
}

void gauge::set(double value) const noexcept {
    value_->store(value, std::memory_order_relaxed);
}

void gauge::add(double n) const noexcept {
    value_->fetch_add(n, std::memory_order_relaxed);
}

double gauge::value() const noexcept {
    return value_->load(std::memory_order_relaxed);
}

void histogram::observe(double value) const noexcept {
    // Few bounds, of which small values reach the first: no bisection.
    std::uint32_t bucket = 0;
    const auto count = static_cast<std::uint32_t>(bounds_->size());
    // NaN counts as beyond all bounds.
    while (bucket != count && !(value <= (*bounds_)[bucket])) ++bucket;
    cells_->add(first_ + bucket, 1);
    cells_->add_double(first_ + count + 1, value);
}

std::uint64_t histogram::count() const {
    std::uint64_t all = 0;
    for (std::uint32_t i = 0; i <= bounds_->size(); ++i) all += cells_->sum(first_ + i);
    return all;
}

double histogram::sum() const {
    return cells_->sum_of_doubles(first_ + static_cast<std::uint32_t>(bounds_->size()) + 1);
}

template <class Metric>
Metric family<Metric>::with(std::span<const std::string_view> values) const {
    return state_->get<Metric>(values);
}

template class family<counter>;
template class family<gauge>;
template class family<histogram>;

std::vector<double> latency_buckets() {
    return {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
}

std::vector<double> size_buckets() {
    return {100, 1000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};
}

std::string_view media_type(exposition format) noexcept {
    return format == exposition::openmetrics
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

// ---- making

registry::registry(registry_options options)
    : state_(std::make_unique<detail::registry_state>(options)) {}

registry::~registry() = default;

counter registry::make_counter(std::string_view name, std::string_view help) {
    return add_one<counter>(*state_, metric_kind::counter, name, help);
}

family<counter> registry::make_counter(std::string_view name, std::string_view help,
                                       std::vector<std::string> labels) {
    return family<counter>(
        add_stored(*state_, metric_kind::counter, name, help, std::move(labels)));
}

gauge registry::make_gauge(std::string_view name, std::string_view help) {
    return add_one<gauge>(*state_, metric_kind::gauge, name, help);
}

family<gauge> registry::make_gauge(std::string_view name, std::string_view help,
                                   std::vector<std::string> labels) {
    return family<gauge>(add_stored(*state_, metric_kind::gauge, name, help, std::move(labels)));
}

histogram registry::make_histogram(std::string_view name, std::string_view help,
                                   std::vector<double> bounds) {
    check_bounds(name, bounds);
    return add_one<histogram>(*state_, metric_kind::histogram, name, help, std::move(bounds));
}

family<histogram> registry::make_histogram(std::string_view name, std::string_view help,
                                           std::vector<double> bounds,
                                           std::vector<std::string> labels) {
    check_bounds(name, bounds);
    return family<histogram>(add_stored(*state_, metric_kind::histogram, name, help,
                                        std::move(labels), std::move(bounds)));
}

void registry::make_reader(std::string_view name, std::string_view help,
                           std::function<double()> read) {
    add(*state_, kind_of_reader(name), name, help, {}, as_it_is,
        family_state::reader(
            [read = std::move(read)](const series_writer& write) { write({}, read()); }));
}

void registry::make_reader(std::string_view name, std::string_view help,
                           std::vector<std::string> labels,
                           std::function<void(const series_writer&)> read) {
    add(*state_, kind_of_reader(name), name, help, std::move(labels), as_it_is,
        family_state::reader(std::move(read)));
}

bool registry::remove(std::string_view name) {
    const std::lock_guard lock(state_->guard);
    const auto at = state_->families.find(name);
    if (at == state_->families.end() || !at->second->is_read()) return false;
    for (const std::string& one : detail::names_of(kind_of_reader(at->first), at->first)) {
        state_->names.erase(one);
    }
    state_->families.erase(at);
    return true;
}

std::string registry::text(exposition format) const {
    std::string all;
    const std::lock_guard lock(state_->guard);
    for (const auto& [name, f] : state_->families) {
        const std::size_t before = all.size();
        try {
            f->append(all, format);
        } catch (const std::bad_alloc&) {
            throw;
        } catch (...) {
            // A reader threw: the others are shown all the same.
            all.resize(before);
        }
    }
    if (format == exposition::openmetrics) all += "# EOF\n";
    return all;
}

}  // namespace coracle::metrics
