// The memory that control groups allow, read from files as the kernel shows them.

#include "support/temporary_directory.hpp"

#include <coracle/process/memory_use.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace coracle::process {
namespace {

/// A place where groups are mounted.
class mounted {
public:
    void write(const std::string& path, const std::string& text) const {
        const std::filesystem::path file = root() + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    void group(const std::string& path, const std::string& most, const std::string& used,
               const std::string& details = {}) const {
        write(path + "/memory.max", most + "\n");
        write(path + "/memory.current", used + "\n");
        write(path + "/memory.stat", details);
    }
    cgroup_memory of(const std::string& membership) const {
        write("/membership", membership);
        return cgroup_memory(root(), root() + "/membership");
    }
    std::string root() const { return directory_.path(); }

private:
    testing::temporary_directory directory_;
};

TEST(cgroup_memory, is_what_is_used_without_pages_of_files) {
    const mounted m;
    m.group("/app", "1000", "900",
            "anon 500\nfile 300\nkernel 100\nshmem 50\ninactive_anon 1\n"
            "inactive_file 200\nactive_file 50\n");
    const cgroup_memory c = m.of("0::/app\n");
    ASSERT_TRUE(c.is_there());
    EXPECT_EQ(c.read().limit, 1000U);
    EXPECT_EQ(c.read().used, 650U);
    EXPECT_DOUBLE_EQ(c.read().share(), 0.65);
    // It is read anew.
    m.group("/app", "2000", "400");
    EXPECT_EQ(c.read().limit, 2000U);
    EXPECT_EQ(c.read().used, 400U);
}

TEST(cgroup_memory, is_that_of_the_tightest_group_around) {
    const mounted m;
    m.group("/a/b/c", "max", "10");
    m.group("/a/b", "1000", "500");
    m.group("/a", "10000", "9000");
    EXPECT_EQ(m.of("0::/a/b/c\n").read().limit, 10'000U);
    m.group("/a/b", "1000", "950");
    EXPECT_EQ(m.of("0::/a/b/c\n").read().limit, 1000U);
}

TEST(cgroup_memory, is_that_of_the_root_in_a_container_that_does_not_show_the_path) {
    const mounted m;
    m.group("", "1000", "100");
    EXPECT_EQ(m.of("0::/\n").read().limit, 1000U);
    EXPECT_EQ(m.of("0::/docker/0123\n").read().limit, 1000U);
}

TEST(cgroup_memory, is_that_of_version_1_too) {
    const mounted m;
    m.write("/memory/app/memory.limit_in_bytes", "1000\n");
    m.write("/memory/app/memory.usage_in_bytes", "900\n");
    m.write("/memory/app/memory.stat",
            "inactive_file 1\nactive_file 2\ntotal_inactive_file 100\ntotal_active_file 200\n");
    m.write("/memory/memory.limit_in_bytes", "9223372036854771712\n");
    m.write("/memory/memory.usage_in_bytes", "900000\n");
    const cgroup_memory c = m.of("12:cpu,cpuacct:/app\n5:hugetlb,memory:/app\n0::/\n");
    EXPECT_EQ(c.read().limit, 1000U);
    EXPECT_EQ(c.read().used, 600U);
}

TEST(cgroup_memory, is_nothing_where_there_are_no_groups_or_no_limits) {
    const mounted m;
    EXPECT_FALSE(m.of("0::/app\n").is_there());
    EXPECT_FALSE(m.of("nonsense\n::\n").is_there());
    EXPECT_FALSE(cgroup_memory(m.root(), m.root() + "/none").is_there());
    m.group("/app", "max", "900");
    const cgroup_memory c = m.of("0::/app\n");
    EXPECT_TRUE(c.is_there());
    EXPECT_EQ(c.read().limit, 0U);
    EXPECT_EQ(c.read().share(), 0);
    // Files that go away, or cannot be read, are no reason to refuse anything.
    m.group("/app", "12x", "");
    EXPECT_LE(c.read().share(), 0);
    std::filesystem::remove_all(m.root() + "/app");
    EXPECT_EQ(c.read().limit, 0U);
}

TEST(cgroup_memory, of_this_process_can_be_read) {
    const memory_use here = cgroup_memory().read();
    EXPECT_LE(here.share(), 1.1);
}

}  // namespace
}  // namespace coracle::process
