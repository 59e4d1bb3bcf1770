#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Counters, gauges and histograms, and their text for Prometheus.
namespace coracle::metrics {

class registry;

namespace detail {
class thread_cells;
class family_state;
struct registry_state;
}  // namespace detail

/// A number that only grows. A copy is a reference to the same one; valid as long as its registry.
/// Thread-safe: each thread adds to a cell of its own, without a locked instruction.
class counter {
public:
    void add(std::uint64_t n = 1) const noexcept;
    /// The sum over all threads. Takes a lock.
    std::uint64_t value() const;

private:
    friend class detail::family_state;
    counter(detail::thread_cells& cells, std::uint32_t cell) noexcept
        : cells_(&cells), cell_(cell) {}

    detail::thread_cells* cells_;
    std::uint32_t cell_;
};

/// A number that goes up and down. Valid as long as its registry. Thread-safe; all threads share
/// one cell.
class gauge {
public:
    void set(double value) const noexcept;
    void add(double n = 1) const noexcept;
    double value() const noexcept;

private:
    friend class detail::family_state;
    explicit gauge(std::atomic<double>& value) noexcept : value_(&value) {}

    std::atomic<double>* value_;
};

/// Observations, counted in buckets. As `counter` in all else.
class histogram {
public:
    void observe(double value) const noexcept;
    /// The number and the sum of what was observed. Take a lock.
    std::uint64_t count() const;
    double sum() const;

private:
    friend class detail::family_state;
    histogram(detail::thread_cells& cells, const std::vector<double>& bounds,
              std::uint32_t first) noexcept
        : cells_(&cells), bounds_(&bounds), first_(first) {}

    detail::thread_cells* cells_;
    const std::vector<double>* bounds_;
    std::uint32_t first_;  ///< a cell for each bound, one for what is beyond them, one for the sum
};

/// Metrics of one name that differ by the values of their labels. Valid as long as its registry.
/// Thread-safe.
template <class Metric>
class family {
public:
    /// The metric with these values, one for each label. Takes a lock and looks it up: keep what is
    /// used often. Beyond `registry_options::series` of a name there is one for all others, whose
    /// values are "other". Throws `exception` (invalid_argument) when the number of values is
    /// wrong.
    Metric with(std::span<const std::string_view> values) const;
    Metric with(std::initializer_list<std::string_view> values) const {
        return with(std::span<const std::string_view>(values.begin(), values.size()));
    }

private:
    friend class registry;
    explicit family(detail::family_state& s) noexcept : state_(&s) {}

    detail::family_state* state_;
};

extern template class family<counter>;
extern template class family<gauge>;
extern template class family<histogram>;

/// Upper bounds of buckets in seconds, from 500 us to 10 s, for how long requests take.
std::vector<double> latency_buckets();
/// Upper bounds of buckets in bytes, from 100 to 100,000,000.
std::vector<double> size_buckets();

enum class exposition : std::uint8_t {
    prometheus,   ///< text format 0.0.4
    openmetrics,  ///< OpenMetrics 1.0
};

/// The media type of a format.
std::string_view media_type(exposition format) noexcept;

struct registry_options {
    /// Series of one name, so that labels which strangers choose do not eat the memory. Default
    /// 1,000.
    std::size_t series = 1000;
};

/// A set of metrics. Thread-safe; those that it gives must not outlive it.
///
///     metrics::registry all;
///     const auto orders = all.make_counter("shop_orders_total", "Orders taken.");
///     orders.add();
///     std::cout << all.text();
///
/// Names are those of Prometheus ([a-zA-Z_:][a-zA-Z0-9_:]*); a counter's ends with "_total". What
/// makes a metric throws `exception`: invalid_argument, naming it, where a name, a label or a bound
/// is malformed, already_exists where the name is taken, errc::limit_exceeded beyond 32,768 cells.
class registry {
public:
    explicit registry(registry_options options = {});
    ~registry();
    registry(const registry&) = delete;
    registry& operator=(const registry&) = delete;

    counter make_counter(std::string_view name, std::string_view help);
    family<counter> make_counter(std::string_view name, std::string_view help,
                                 std::vector<std::string> labels);
    gauge make_gauge(std::string_view name, std::string_view help);
    family<gauge> make_gauge(std::string_view name, std::string_view help,
                             std::vector<std::string> labels);
    /// `bounds`: the upper bounds of the buckets, ascending and finite; at most 64.
    histogram make_histogram(std::string_view name, std::string_view help,
                             std::vector<double> bounds = latency_buckets());
    family<histogram> make_histogram(std::string_view name, std::string_view help,
                                     std::vector<double> bounds, std::vector<std::string> labels);

    /// A number that is asked for when the text is made, on the thread that makes it and under the
    /// lock of the registry, which `read` must not use. A name that ends with "_total" is a
    /// counter, any other a gauge. Where `read` throws, it has no number in that text. `read` and
    /// what it uses live as long as the registry, or until `remove`.
    void make_reader(std::string_view name, std::string_view help, std::function<double()> read);
    /// Adds such numbers with labels: `read` calls its parameter with values and a number for each
    /// series.
    using series_writer = std::function<void(std::span<const std::string_view>, double)>;
    void make_reader(std::string_view name, std::string_view help, std::vector<std::string> labels,
                     std::function<void(const series_writer&)> read);
    /// Removes what reads a number. Returns false if there is none of this name.
    bool remove(std::string_view name);

    /// All metrics, those of one name together, in order of their names.
    std::string text(exposition format = exposition::prometheus) const;

private:
    std::unique_ptr<detail::registry_state> state_;
};

}  // namespace coracle::metrics
