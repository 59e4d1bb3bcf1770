#include "svg_plot.hpp"

#include "span_text.hpp"

#include <coracle/base/html.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace coracle::tool::bench {
namespace {

// In units of the view box, which a phone shows about one to one.
constexpr double width = 400;
constexpr double height = 230;
constexpr double left = 46;
constexpr double right = 380;
constexpr double top = 14;
constexpr double bottom = 186;

std::string tick_text(double v) {
    std::array<char, 32> text;
    if (v >= 1e6) {
        std::snprintf(text.data(), text.size(), "%.3gM", v / 1e6);
    } else if (v >= 1e4) {
        std::snprintf(text.data(), text.size(), "%.3gk", v / 1e3);
    } else {
        std::snprintf(text.data(), text.size(), "%.4g", v);
    }
    return text.data();
}

std::string coordinate(double v) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%.1f", v);
    return text.data();
}

/// The vertical axis.
struct y_axis {
    bool logarithmic = false;
    double from = 0;
    double to = 1;
    std::vector<plot_tick> ticks;

    double place(double v) const {
        const double part =
            logarithmic ? std::log(v / from) / std::log(to / from) : (v - from) / (to - from);
        return bottom - std::clamp(part, 0.0, 1.0) * (bottom - top);
    }
};

y_axis axis_for(const std::vector<plot_series>& all) {
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    for (const plot_series& s : all) {
        for (const auto& p : s.points) {
            if (!std::isfinite(p.y)) continue;
            least = std::min(least, p.y);
            most = std::max(most, p.y);
        }
    }
    y_axis y;
    if (most <= 0) return y;
    constexpr double wide = 100;
    y.logarithmic = least > 0 && most / least > wide;
    if (y.logarithmic) {
        y.from = std::pow(10, std::floor(std::log10(least)));
        y.to = std::pow(10, std::ceil(std::log10(most)));
        y.ticks = logarithmic_ticks(y.from, y.to);
        return y;
    }
    y.ticks = even_ticks(0, most, 4);
    const double step = y.ticks.size() > 1 ? y.ticks[1].at - y.ticks[0].at : most;
    y.to = std::ceil(most / step - 1e-9) * step;
    y.ticks = even_ticks(0, y.to, 4);
    return y;
}

std::string text_at(double x, double y, const char* kind, const std::string& text) {
    return "<text class=\"" + std::string(kind) + "\" x=\"" + coordinate(x) + "\" y=\"" +
           coordinate(y) + "\">" + html_escape(text) + "</text>";
}

std::string line_at(double x1, double y1, double x2, double y2) {
    return "<line class=\"grid\" x1=\"" + coordinate(x1) + "\" y1=\"" + coordinate(y1) +
           "\" x2=\"" + coordinate(x2) + "\" y2=\"" + coordinate(y2) + "\"/>";
}

/// A legend above the lines, for more than one of them.
std::string legend(const std::vector<plot_series>& all) {
    if (all.size() < 2) return {};
    std::string out;
    double x = left;
    for (std::size_t i = 0; i != all.size(); ++i) {
        if (all[i].name.empty()) continue;
        out += "<rect class=\"key k" + std::to_string(i) + "\" x=\"" + coordinate(x) +
               "\" y=\"2\" width=\"10\" height=\"3\"/>";
        out += text_at(x + 14, 8, "name", all[i].name);
        x += 24 + 7.0 * static_cast<double>(all[i].name.size());
    }
    return out;
}

}  // namespace

std::vector<plot_tick> even_ticks(double from, double to, int count) {
    if (!(to > from) || count < 1) return {{from, tick_text(from)}};
    const double rough = (to - from) / count;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double factor : {5.0, 2.0, 1.0}) {
        if (rough <= factor * power) step = factor * power;
    }
    std::vector<plot_tick> all;
    // The zero that is added makes one of a negative zero.
    for (double n = std::ceil(from / step - 1e-9) + 0.0; n * step <= to + step * 1e-9; ++n) {
        all.push_back({n * step, tick_text(n * step)});
    }
    return all;
}

std::vector<plot_tick> logarithmic_ticks(double from, double to) {
    std::vector<plot_tick> all;
    const bool few = to / from < 150;
    for (double power = from; power <= to * 1.001; power *= 10) {
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double v = power * factor;
            if ((factor == 1 || few) && v <= to * 1.001) all.push_back({v, tick_text(v)});
        }
    }
    return all;
}

std::string plot::svg() const {
    const y_axis y = axis_for(series);
    const auto place = [&](double x) {
        const double part = x_to > x_from ? (x - x_from) / (x_to - x_from) : 0;
        return left + std::clamp(part, 0.0, 1.0) * (right - left);
    };
    std::string out = "<svg viewBox=\"0 0 " + coordinate(width) + ' ' + coordinate(height) +
                      "\" role=\"img\" aria-label=\"" + html_escape(title) + "\">";
    for (const plot_tick& t : y.ticks) {
        out += line_at(left, y.place(t.at), right, y.place(t.at));
        out += text_at(left - 5, y.place(t.at) + 4, "y", t.text);
    }
    for (const plot_tick& t : x_ticks) {
        out += line_at(place(t.at), bottom, place(t.at), bottom + 4);
        // A centred text at the right edge would hang over it.
        const bool hangs_over = place(t.at) + 3.5 * static_cast<double>(t.text.size()) > width;
        out += text_at(hangs_over ? width - 1 : place(t.at), bottom + 17, hangs_over ? "y" : "x",
                       t.text);
    }
    for (std::size_t i = 0; i != series.size(); ++i) {
        std::string path;
        bool pen_is_down = false;
        for (const auto& p : series[i].points) {
            const bool there = std::isfinite(p.y) && (!y.logarithmic || p.y > 0);
            if (there) {
                path += (pen_is_down ? 'L' : 'M') + coordinate(place(p.x)) + ' ' +
                        coordinate(y.place(p.y));
            }
            pen_is_down = there;
        }
        if (!path.empty()) {
            out += "<path class=\"line l" + std::to_string(i) + "\" d=\"" + path + "\"/>";
        }
    }
    out += legend(series);
    out += text_at((left + right) / 2, height - 8, "x", x_title);
    out += text_at(right, 8, "y", y_title);
    return out + "</svg>";
}

std::string plot_style() {
    return R"(svg{display:block;width:100%;height:auto}
svg text{font-size:11px;fill:var(--quiet)}
svg text.x{text-anchor:middle}
svg text.y{text-anchor:end}
svg .grid{stroke:var(--line)}
svg .line{fill:none;stroke-width:1.8;stroke-linejoin:round}
svg .l0{stroke:var(--first)}svg .l1{stroke:var(--second)}svg .l2{stroke:var(--third)}
svg .k0{fill:var(--first)}svg .k1{fill:var(--second)}svg .k2{fill:var(--third)}
)";
}

}  // namespace coracle::tool::bench
