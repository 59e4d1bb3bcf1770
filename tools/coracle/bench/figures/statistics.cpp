#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace coracle::tool::bench {
namespace {

/// The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method.
double beta_fraction(double a, double b, double x) noexcept {
    constexpr double tiny = 1e-300;
    constexpr double enough = 1e-14;
    double c = 1;
    double d = 1 - (a + b) * x / (a + 1);
    d = 1 / (std::abs(d) < tiny ? tiny : d);
    double h = d;
    const auto step = [&](double coefficient) {
        d = 1 + coefficient * d;
        c = 1 + coefficient / c;
        d = 1 / (std::abs(d) < tiny ? tiny : d);
        if (std::abs(c) < tiny) c = tiny;
        h *= d * c;
    };
    for (int m = 1; m != 500; ++m) {
        const double n = m;
        step(n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n)));
        step(-(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1)));
        if (std::abs(d * c - 1) < enough) break;
    }
    return h;
}

/// The regularized incomplete beta function.
double incomplete_beta(double a, double b, double x) noexcept {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    int sign = 0;
    const double front = std::exp(::lgamma_r(a + b, &sign) - ::lgamma_r(a, &sign) -
                                  ::lgamma_r(b, &sign) + a * std::log(x) + b * std::log(1 - x));
    // The fraction converges quickly on one side.
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/// The logarithm of the binomial coefficient.
double log_choose(double n, double k) noexcept {
    int sign = 0;
    return ::lgamma_r(n + 1, &sign) - ::lgamma_r(k + 1, &sign) - ::lgamma_r(n - k + 1, &sign);
}

std::vector<double> logarithms(std::span<const double> values) {
    std::vector<double> all;
    for (const double v : values) {
        if (v > 0) all.push_back(std::log(v));
    }
    return all;
}

/// Welch's interval for the difference of the means of two logarithms.
ratio_estimate compare_logarithms(const sample_moments& b, const sample_moments& a,
                                  double confidence) {
    ratio_estimate e;
    const double difference = a.mean - b.mean;
    e.ratio = e.low = e.high = std::exp(difference);
    if (b.count < 2 || a.count < 2) return e;
    const double share_b = b.variance / static_cast<double>(b.count);
    const double share_a = a.variance / static_cast<double>(a.count);
    const double both = share_a + share_b;
    e.has_interval = true;
    if (both <= 0) {
        e.p_value = difference == 0 ? 1 : 0;
        return e;
    }
    // Welch and Satterthwaite: the variances need not be the same.
    const double freedom = both * both /
                           (share_a * share_a / static_cast<double>(a.count - 1) +
                            share_b * share_b / static_cast<double>(b.count - 1));
    const double error = std::sqrt(both);
    const double reach = student_quantile(confidence, freedom) * error;
    e.low = std::exp(difference - reach);
    e.high = std::exp(difference + reach);
    e.p_value = 2 * (1 - student_cdf(std::abs(difference) / error, freedom));
    return e;
}

}  // namespace

sample_moments moments_of(std::span<const double> values) noexcept {
    sample_moments m{.count = values.size()};
    if (values.empty()) return m;
    for (const double v : values) m.mean += v;
    m.mean /= static_cast<double>(values.size());
    if (values.size() < 2) return m;
    for (const double v : values) m.variance += (v - m.mean) * (v - m.mean);
    m.variance /= static_cast<double>(values.size() - 1);
    return m;
}

double lag_one_correlation(std::span<const double> values) noexcept {
    if (values.size() < 3) return 0;
    const double mean = moments_of(values).mean;
    double own = 0;
    double neighbours = 0;
    for (std::size_t i = 0; i != values.size(); ++i) {
        own += (values[i] - mean) * (values[i] - mean);
        if (i != 0) neighbours += (values[i] - mean) * (values[i - 1] - mean);
    }
    return own > 0 ? neighbours / own : 0;
}

std::vector<double> batch_means(std::span<const double> values, std::size_t least) {
    constexpr double hardly = 0.3;
    std::vector<double> all(values.begin(), values.end());
    while (all.size() >= 2 * least && lag_one_correlation(all) > hardly) {
        const std::size_t half = all.size() / 2;
        for (std::size_t i = 0; i != half; ++i) all[i] = (all[2 * i] + all[2 * i + 1]) / 2;
        all.resize(half);
    }
    return all;
}

double student_cdf(double t, double freedom) noexcept {
    const double tail = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
    return t > 0 ? 1 - tail : tail;
}

double student_quantile(double confidence, double freedom) noexcept {
    const double wanted = 0.5 + confidence / 2;
    double low = 0;
    double high = 1;
    while (student_cdf(high, freedom) < wanted && high < 1e9) high *= 2;
    for (int i = 0; i != 100; ++i) {
        const double middle = (low + high) / 2;
        (student_cdf(middle, freedom) < wanted ? low : high) = middle;
    }
    return high;
}

ratio_estimate compare_ratio(std::span<const double> before, std::span<const double> after,
                             double confidence) {
    const sample_moments b = moments_of(logarithms(before));
    const sample_moments a = moments_of(logarithms(after));
    if (b.count == 0 || a.count == 0) return {};
    return compare_logarithms(b, a, confidence);
}

ratio_estimate compare_means(std::span<const double> before, std::span<const double> after,
                             double confidence) {
    sample_moments b = moments_of(before);
    sample_moments a = moments_of(after);
    const bool enough = b.count >= 2 && a.count >= 2;
    if (b.mean <= 0 && a.mean <= 0) return {};
    if (b.mean <= 0 || a.mean <= 0) {
        const double ratio = a.mean > 0 ? std::numeric_limits<double>::infinity() : 0;
        return {.ratio = ratio, .low = ratio, .high = ratio, .p_value = 0, .has_interval = enough};
    }
    for (sample_moments* m : {&b, &a}) {
        m->variance /= m->mean * m->mean;
        m->mean = std::log(m->mean);
    }
    return compare_logarithms(b, a, confidence);
}

double fisher_p_value(double failed_a, double all_a, double failed_b, double all_b) noexcept {
    const double failed = failed_a + failed_b;
    const double ways = log_choose(all_a + all_b, failed);
    const auto probability = [&](double of_a) {
        return std::exp(log_choose(all_a, of_a) + log_choose(all_b, failed - of_a) - ways);
    };
    // Sums are not exact: those that are as likely count.
    const double observed = probability(failed_a) * (1 + 1e-6);
    double sum = 0;
    for (double k = std::max(0.0, failed - all_b); k <= std::min(failed, all_a); ++k) {
        if (const double p = probability(k); p <= observed) sum += p;
    }
    return std::min(1.0, sum);
}

}  // namespace coracle::tool::bench
