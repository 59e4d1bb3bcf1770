#pragma once

#include "metrics/thread_cells.hpp"

#include <coracle/metrics/registry.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace coracle::metrics::detail {

enum class metric_kind : std::uint8_t { counter, gauge, histogram };

std::string_view to_string(metric_kind k) noexcept;

/// The names of a family and of its samples, in either format.
std::vector<std::string> names_of(metric_kind kind, std::string_view name);

/// The cells of a registry, of which each series takes some. Thread-safe.
class cell_source {
public:
    /// Returns the first of `n`; nothing where fewer are left.
    std::optional<std::uint32_t> take(std::size_t n);
    /// Takes back cells that nobody has used, if they are the last that were taken.
    void give_back(std::uint32_t first, std::size_t n) noexcept;
    thread_cells& cells() noexcept { return cells_; }
    const thread_cells& cells() const noexcept { return cells_; }

private:
    std::mutex guard_;
    std::size_t taken_ = 0;
    thread_cells cells_;
};

/// The metrics of one name. Thread-safe.
class family_state {
public:
    struct series {
        std::vector<std::string> values;  ///< of the labels
        std::uint32_t first = 0;
        std::unique_ptr<std::atomic<double>> value = nullptr;  ///< of a gauge
    };
    using reader = std::function<void(const registry::series_writer&)>;

    /// Throws `exception` (errc::limit_exceeded) where too few cells are left for one series.
    family_state(cell_source& source, metric_kind kind, std::string_view name,
                 std::string_view help, std::vector<std::string> labels, std::vector<double> bounds,
                 std::size_t most);
    /// One whose numbers are asked for.
    family_state(cell_source& source, metric_kind kind, std::string_view name,
                 std::string_view help, std::vector<std::string> labels, reader read);
    family_state(const family_state&) = delete;
    family_state& operator=(const family_state&) = delete;
    /// The family of a registry that ends, or one that could not be added to it.
    ~family_state();

    /// The metric with these values, made when there is none. `Metric` is of the family's kind.
    template <class Metric>
    Metric get(std::span<const std::string_view> values) {
        const series& s = find(values);
        if constexpr (std::is_same_v<Metric, gauge>) {
            return gauge(*s.value);
        } else if constexpr (std::is_same_v<Metric, histogram>) {
            return histogram(source_.cells(), bounds_, s.first);
        } else {
            return counter(source_.cells(), s.first);
        }
    }
    bool is_read() const noexcept { return static_cast<bool>(read_); }
    void append(std::string& to, exposition format) const;

private:
    std::size_t cells_of_series() const noexcept;
    const series& find(std::span<const std::string_view> values);
    series new_series(const std::vector<std::string>& values) const;
    void append_sample(std::string& to, std::string_view suffix,
                       std::span<const std::string_view> values, std::string_view bound,
                       std::string_view number) const;
    void append_series(std::string& to, const series& s, exposition format) const;
    void append_histogram(std::string& to, const series& s,
                          std::span<const std::string_view> values, exposition format) const;

    cell_source& source_;
    const metric_kind kind_;
    const std::string name_;
    const std::string help_;
    const std::vector<std::string> labels_;
    const std::vector<double> bounds_;
    const std::size_t most_ = 0;
    /// The values of the series for those beyond the limit, whose cells are taken from the first:
    /// without labels it is the only one.
    const std::vector<std::string> others_;
    std::uint32_t cells_of_others_ = 0;
    const reader read_;
    mutable std::mutex guard_;
    std::map<std::vector<std::string>, series> series_;
};

struct registry_state {
    explicit registry_state(registry_options o) noexcept : options(o) {}

    const registry_options options;
    cell_source source;
    mutable std::mutex guard;
    std::map<std::string, std::unique_ptr<family_state>, std::less<>> families;
    std::set<std::string> names;  ///< of all families and their samples
};

}  // namespace coracle::metrics::detail
