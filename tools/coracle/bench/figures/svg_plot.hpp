#pragma once

#include <string>
#include <vector>

namespace coracle::tool::bench {

/// A line of a plot: points from left to right. One that is not finite leaves a gap.
struct plot_series {
    std::string name;
    struct point {
        double x = 0;
        double y = 0;
    };
    std::vector<point> points;
};

/// A mark of an axis.
struct plot_tick {
    double at = 0;
    std::string text;
};

/// A plot of lines. The y axis begins at 0, or is logarithmic where the values are of more than two
/// orders of magnitude and all above 0.
struct plot {
    std::string title;
    std::string x_title;
    std::string y_title;  ///< with the unit
    std::vector<plot_series> series;
    std::vector<plot_tick> x_ticks;
    double x_from = 0;
    double x_to = 1;

    /// An SVG element for a page whose style has the classes of `plot_style`. Texts are escaped.
    std::string svg() const;
};

/// Ticks at 1, 2 or 5 times a power of ten, about `count` of them, from `from` to `to`.
std::vector<plot_tick> even_ticks(double from, double to, int count);
/// Ticks at powers of ten; for less than two of them at 2 and 5 times such, too.
std::vector<plot_tick> logarithmic_ticks(double from, double to);

/// The style sheet of plots: the n-th line has the class "line n".
std::string plot_style();

}  // namespace coracle::tool::bench
