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

/// Something that has left its name, and may yet arrive at another one.
struct departure {
    std::uint32_t cookie;  ///< by which the system knows the two halves of a move
    bool is_directory;
    std::string path;
    time_point due;  ///< when it is gone
};

/// All of a watch, one for each path, in the order in which they are due.
class departures {
public:
    using taken = std::optional<departure>;

    std::size_t size() const noexcept { return all_.size(); }
    /// Of the first; none: `time_point::max()`.
    time_point next_due() const noexcept {
        return all_.empty() ? time_point::max() : all_.front().due;
    }

    /// `d` is due last, and there is none of its path.
    void add(departure d);
    taken take_first();
    taken take(const std::string& path);
    taken take(std::uint32_t cookie);
    /// Any one of what was in a directory, or further below.
    taken take_below(const std::string& directory);
    /// The directory that they were in has become `to`, in which none was.
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
