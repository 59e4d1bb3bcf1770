#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace coracle::tool::bench {

/// Mean and variance (of a sample: divided by n - 1).
struct sample_moments {
    std::size_t count = 0;
    double mean = 0;
    double variance = 0;
};
sample_moments moments_of(std::span<const double> values) noexcept;

/// The correlation of neighbours in a series; 0 for fewer than three, and for a constant one.
double lag_one_correlation(std::span<const double> values) noexcept;

/// Joins neighbours, two at a time, to their means until they are hardly correlated (below 0.3), or
/// there are `least` of them left: the method of batch means, for series whose neighbours are not
/// independent.
std::vector<double> batch_means(std::span<const double> values, std::size_t least = 8);

/// P(T <= t) for Student's distribution with `freedom` degrees of freedom.
double student_cdf(double t, double freedom) noexcept;
/// The t with P(|T| <= t) = `confidence`.
double student_quantile(double confidence, double freedom) noexcept;

/// How much larger one quantity is than another.
struct ratio_estimate {
    double ratio = 1;
    double low = 1;  ///< the ends of the interval
    double high = 1;
    /// The probability of a difference as large as this one where there is none.
    double p_value = 1;
    /// False where there are too few values for an interval.
    bool has_interval = false;

    bool differs() const noexcept { return has_interval && (low > 1 || high < 1); }
};

/// Estimates after / before from independent values of each, all above 0: Welch's t interval of the
/// difference of the means of their logarithms. Needs two of each.
ratio_estimate compare_ratio(std::span<const double> before, std::span<const double> after,
                             double confidence);

/// Estimates after / before for quantities of which some values may be 0, such as the responses of
/// an interval: the ratio of the means, with Welch's t interval of the difference of their
/// logarithms. The means have the relative errors of their values (delta method).
ratio_estimate compare_means(std::span<const double> before, std::span<const double> after,
                             double confidence);

/// The probability of two shares that differ as much as `failed_a` of `all_a` and `failed_b` of
/// `all_b` or more, where there is no difference: Fisher's exact test, two-sided. Takes time in
/// proportion to the number of failures: for a few.
double fisher_p_value(double failed_a, double all_a, double failed_b, double all_b) noexcept;

}  // namespace coracle::tool::bench
