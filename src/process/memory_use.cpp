#include "base/small_file.hpp"

#include <coracle/process/memory_use.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace coracle::process {
namespace {

/// The limit of a group of version 1 that has none is larger.
constexpr std::uint64_t no_limit = std::uint64_t{1} << 62;

using coracle::detail::small_file;

/// Nothing for "max" too.
std::optional<std::uint64_t> number(std::string_view text) noexcept {
    std::uint64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || value >= no_limit) return {};
    return value;
}

std::uint64_t number_in(const std::string& path) noexcept {
    return number(small_file(path.c_str()).text()).value_or(0);
}

/// The number on the line that begins with `name` and a blank; 0 where there is none.
std::uint64_t number_of(std::string_view text, std::string_view name) noexcept {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        if (line.starts_with(name) && line.substr(name.size()).starts_with(' ')) {
            return number(line.substr(name.size() + 1)).value_or(0);
        }
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
    return 0;
}

/// Pages of files on the two lists from which the kernel takes what it needs. Of version 1 those of
/// the groups inside, too, as in its usage.
std::uint64_t droppable(const std::string& path) noexcept {
    const small_file details(path.c_str());
    const std::string_view text = details.text();
    const bool is_v1 = text.starts_with("total_") || text.find("\ntotal_") != text.npos;
    if (is_v1) {
        return number_of(text, "total_inactive_file") + number_of(text, "total_active_file");
    }
    return number_of(text, "inactive_file") + number_of(text, "active_file");
}

bool has_controller(std::string_view list, std::string_view wanted) noexcept {
    while (!list.empty()) {
        const std::string_view one = list.substr(0, list.find(','));
        if (one == wanted) return true;
        list.remove_prefix(std::min(list.size(), one.size() + 1));
    }
    return false;
}

}  // namespace

cgroup_memory::cgroup_memory(const std::string& root, const std::string& membership) {
    const small_file file(membership.c_str());
    // "0::/path" of version 2, "4:memory:/path" of version 1.
    for (std::string_view rest = file.text(); !rest.empty();) {
        const std::string line(rest.substr(0, rest.find('\n')));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first == line.npos ? first : first + 1);
        if (second == line.npos) continue;
        const std::string_view controllers =
            std::string_view(line).substr(first + 1, second - first - 1);
        if (controllers.empty()) add_from(root, line.substr(second + 1), true);
        if (has_controller(controllers, "memory")) {
            add_from(root + "/memory", line.substr(second + 1), false);
        }
    }
}

/// Adds a group and those around it. In a container the names may be those of the host, of which
/// only the root is there.
void cgroup_memory::add_from(const std::string& mount, std::string path, bool is_v2) {
    for (;;) {
        while (path.ends_with('/')) path.pop_back();
        const std::string in = mount + path;
        group g;
        g.limit = in + (is_v2 ? "/memory.max" : "/memory.limit_in_bytes");
        g.used = in + (is_v2 ? "/memory.current" : "/memory.usage_in_bytes");
        g.details = in + "/memory.stat";
        if (::access(g.limit.c_str(), R_OK) == 0) groups_.push_back(std::move(g));
        if (path.empty()) return;
        path.resize(path.rfind('/') == path.npos ? 0 : path.rfind('/'));
    }
}

memory_use cgroup_memory::read() const noexcept {
    memory_use tightest;
    for (const group& g : groups_) {
        memory_use here;
        here.limit = number_in(g.limit);
        if (here.limit == 0) continue;
        here.used = number_in(g.used);
        here.used -= std::min(here.used, droppable(g.details));
        if (tightest.limit == 0 || here.share() > tightest.share()) tightest = here;
    }
    return tightest;
}

}  // namespace coracle::process
