#pragma once

#include <coracle/runtime/clock.hpp>

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace coracle::fs::detail {

/// A file or directory that was moved away from its name, and may still arrive at another one.
struct departure {
    std::uint32_t cookie;  ///< the system's number that joins the two halves of a move
    bool is_directory;
    /// Something had arrived at the name just before.
    bool may_be_exchange;
    std::string path;
    time_point due;  ///< when it is gone
};

/// All departures of a watch, one for each path, in the order in which they are due.
class departures {
public:
    using taken = std::optional<departure>;

    std::size_t size() const noexcept { return all_.size(); }
    /// Returns the due time of the first one; `time_point::max()` without one.
    time_point next_due() const noexcept {
        return all_.empty() ? time_point::max() : all_.front().due;
    }

    /// Returns true if `path`, or a directory that it is in, has left its name.
    bool cover(std::string_view path) const noexcept;
    /// Adds `d`, which is due last; there must be none with its path.
    void add(departure d);
    taken take_first();
    taken take(const std::string& path);
    taken take(std::uint32_t cookie);
    /// Removes any departure from a directory or below it.
    taken take_below(const std::string& directory);
    /// To be called when their directory was moved to `to`, which had none.
    void rename_below(const std::string& from, const std::string& to);
    void clear() noexcept;

private:
    using place = std::list<departure>::iterator;

    departure remove(place at);
    std::map<std::string_view, place>::iterator first_below(const std::string& directory);

    std::list<departure> all_;
    std::map<std::string_view, place> by_path_;  // a list keeps its strings where they are
    std::unordered_map<std::uint32_t, place> by_cookie_;
};

}  // namespace coracle::fs::detail
