#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coracle::process {

/// Bytes of memory that are used, of those that may be used.
struct memory_use {
    std::uint64_t used = 0;
    std::uint64_t limit = 0;  ///< 0: none is known

    /// Returns 0 without a limit.
    double share() const noexcept {
        return limit == 0 ? 0 : static_cast<double>(used) / static_cast<double>(limit);
    }
};

/// Reads the memory that the control groups of this process use (cgroups(7), version 2 and 1),
/// beyond which the kernel ends one of their processes. Pages of files that the kernel can drop do
/// not count as used. Any thread, one at a time.
///
/// Limits of resources (RLIMIT_AS, RLIMIT_DATA) are not looked at: they count address space, which
/// is not given back, and at them an allocation fails in order, with std::bad_alloc.
class cgroup_memory {
public:
    /// Finds the groups. `root` is where they are mounted, `membership` the file with their names.
    explicit cgroup_memory(const std::string& root = "/sys/fs/cgroup",
                           const std::string& membership = "/proc/self/cgroup");

    /// Returns false where there are no groups with memory: `read` gives nothing then.
    bool is_there() const noexcept { return !groups_.empty(); }
    /// Returns the numbers of the group that has the least memory left, as a share of its limit: of
    /// the process's own or one around it. Does not allocate; some 20 us for each group with a
    /// limit.
    memory_use read() const noexcept;

private:
    struct group {
        std::string limit;  ///< the paths of its files
        std::string used;
        std::string details;
    };

    void add_from(const std::string& mount, std::string path, bool is_v2);

    std::vector<group> groups_;
};

}  // namespace coracle::process
