#include "metrics/family_state.hpp"

#include "base/utf8.hpp"
#include "metrics/number_text.hpp"

#include <coracle/base/error.hpp>

#include <utility>

namespace coracle::metrics::detail {
namespace {

/// Escapes as both formats want it; in the help text of Prometheus quotes stay.
void append_escaped(std::string& to, std::string_view text, bool quotes) {
    for (const char c : text) {
        if (c == '\n') {
            to += "\\n";
        } else {
            if (c == '\\' || (quotes && c == '"')) to += '\\';
            to += c;
        }
    }
}

/// The values of labels as UTF-8: one that is none would make the whole exposition unreadable.
std::vector<std::string> as_text(std::span<const std::string_view> values) {
    std::vector<std::string> all(values.size());
    for (std::size_t i = 0; i != values.size(); ++i) {
        coracle::detail::append_utf8(all[i], values[i]);
    }
    return all;
}

std::vector<std::string_view> views_of(const std::vector<std::string>& texts) {
    return {texts.begin(), texts.end()};
}

}  // namespace

std::string_view to_string(metric_kind k) noexcept {
    switch (k) {
        case metric_kind::counter: return "counter";
        case metric_kind::gauge: return "gauge";
        case metric_kind::histogram: return "histogram";
    }
    return "";
}

std::vector<std::string> names_of(metric_kind kind, std::string_view name) {
    const std::string text(name);
    switch (kind) {
        case metric_kind::gauge: break;
        case metric_kind::counter: return {text, text.substr(0, text.size() - total_suffix.size())};
        case metric_kind::histogram:
            return {text, text + "_bucket", text + "_count", text + "_sum"};
    }
    return {text};
}

std::optional<std::uint32_t> cell_source::take(std::size_t n) {
    const std::lock_guard lock(guard_);
    if (cell_block::most_cells - taken_ < n) return std::nullopt;
    taken_ += n;
    return static_cast<std::uint32_t>(taken_ - n);
}

void cell_source::give_back(std::uint32_t first, std::size_t n) noexcept {
    const std::lock_guard lock(guard_);
    if (first + n == taken_) taken_ = first;
}

family_state::family_state(cell_source& source, metric_kind kind, std::string_view name,
                           std::string_view help, std::vector<std::string> labels,
                           std::vector<double> bounds, std::size_t most)
    : source_(source), kind_(kind), name_(name), help_(help), labels_(std::move(labels)),
      bounds_(std::move(bounds)), most_(most), others_(labels_.size(), "other") {
    const auto taken = source_.take(cells_of_series());
    if (!taken) throw_exception(error(errc::limit_exceeded, "metrics::registry"));
    cells_of_others_ = *taken;
}

family_state::family_state(cell_source& source, metric_kind kind, std::string_view name,
                           std::string_view help, std::vector<std::string> labels, reader read)
    : source_(source), kind_(kind), name_(name), help_(help), labels_(std::move(labels)),
      read_(std::move(read)) {}

family_state::~family_state() {
    if (!read_) source_.give_back(cells_of_others_, cells_of_series());
}

std::size_t family_state::cells_of_series() const noexcept {
    switch (kind_) {
        case metric_kind::counter: return 1;
        case metric_kind::gauge: return 0;
        // One bucket for what is beyond the bounds, and the sum.
        case metric_kind::histogram: return bounds_.size() + 2;
    }
    return 0;
}

const family_state::series& family_state::find(std::span<const std::string_view> values) {
    if (values.size() != labels_.size()) {
        error e(std::errc::invalid_argument, "metrics::family");
        throw_exception(std::move(e.on(name_)));
    }
    std::vector<std::string> key = as_text(values);
    const std::lock_guard lock(guard_);
    if (const auto known = series_.find(key); known != series_.end()) return known->second;
    if (series_.size() < most_ && key != others_) {
        series made = new_series(key);
        const auto at = series_.emplace(std::move(key), std::move(made)).first;
        // Cells are not given back: they are taken where nothing can fail any more.
        if (const auto own = source_.take(cells_of_series())) {
            at->second.first = *own;
            return at->second;
        }
        series_.erase(at);
    }
    if (const auto known = series_.find(others_); known != series_.end()) return known->second;
    series made = new_series(others_);
    made.first = cells_of_others_;
    return series_.emplace(others_, std::move(made)).first->second;
}

family_state::series family_state::new_series(const std::vector<std::string>& values) const {
    const bool is_gauge = kind_ == metric_kind::gauge;
    return {values, 0, is_gauge ? std::make_unique<std::atomic<double>>(0.0) : nullptr};
}

// ---- the text

void family_state::append_sample(std::string& to, std::string_view suffix,
                                 std::span<const std::string_view> values, std::string_view bound,
                                 std::string_view number) const {
    to.append(name_).append(suffix);
    char mark = '{';
    for (std::size_t i = 0; i != labels_.size(); ++i) {
        to += std::exchange(mark, ',');
        to.append(labels_[i]).append("=\"");
        append_escaped(to, values[i], true);
        to += '"';
    }
    if (!bound.empty()) {
        to += std::exchange(mark, ',');
        to.append("le=\"").append(bound).append("\"");
    }
    if (mark == ',') to += '}';
    to.append(" ").append(number).append("\n");
}

void family_state::append_histogram(std::string& to, const series& s,
                                    std::span<const std::string_view> values,
                                    exposition format) const {
    const thread_cells& cells = source_.cells();
    const bool is_openmetrics = format == exposition::openmetrics;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i != bounds_.size(); ++i) {
        count += cells.sum(s.first + static_cast<std::uint32_t>(i));
        append_sample(to, "_bucket", values, bound_text(bounds_[i], is_openmetrics),
                      std::to_string(count));
    }
    const auto beyond = s.first + static_cast<std::uint32_t>(bounds_.size());
    count += cells.sum(beyond);
    append_sample(to, "_bucket", values, "+Inf", std::to_string(count));
    // OpenMetrics takes the sum for a counter, which is never below zero, and has a count only
    // beside a sum.
    const double sum = cells.sum_of_doubles(beyond + 1);
    const bool is_counter = (bounds_.empty() || bounds_.front() >= 0) && sum >= 0;
    if (is_openmetrics && !is_counter) return;
    append_sample(to, "_sum", values, {}, number_text(sum));
    append_sample(to, "_count", values, {}, std::to_string(count));
}

void family_state::append_series(std::string& to, const series& s, exposition format) const {
    const std::vector<std::string_view> values = views_of(s.values);
    switch (kind_) {
        case metric_kind::counter:
            append_sample(to, {}, values, {}, std::to_string(source_.cells().sum(s.first)));
            break;
        case metric_kind::gauge: append_sample(to, {}, values, {}, number_text(*s.value)); break;
        case metric_kind::histogram: append_histogram(to, s, values, format); break;
    }
}

void family_state::append(std::string& to, exposition format) const {
    // OpenMetrics names the family of a counter without the suffix of its samples.
    std::string_view shown = name_;
    const bool is_open = format == exposition::openmetrics;
    if (is_open && kind_ == metric_kind::counter) shown.remove_suffix(total_suffix.size());
    to.append("# HELP ").append(shown).append(" ");
    append_escaped(to, help_, is_open);
    to.append("\n# TYPE ").append(shown).append(" ").append(to_string(kind_)).append("\n");
    if (read_) {
        read_([&](std::span<const std::string_view> values, double number) {
            if (values.size() != labels_.size()) return;
            append_sample(to, {}, views_of(as_text(values)), {}, number_text(number));
        });
        return;
    }
    const std::lock_guard lock(guard_);
    for (const auto& [values, s] : series_) append_series(to, s, format);
}

}  // namespace coracle::metrics::detail
