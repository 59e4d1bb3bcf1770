#pragma once

#include "support/content.hpp"
#include "support/open_descriptors.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/runtime/runtime.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

/// Tests of files on each way in which they are worked on.
namespace coracle::testing {

/// A kind of backend, and how many threads do what it has not.
struct file_world {
    backend_kind kind;
    unsigned threads;
};

inline std::vector<file_world> file_worlds() {
    static const bool has_uring = make_backend(backend_kind::uring).has_value();
    std::vector<file_world> all = {
        {backend_kind::epoll, 4}, {backend_kind::poll, 4}, {backend_kind::epoll, 0}};
    if (has_uring) all.push_back({backend_kind::uring, 4});
    return all;
}

inline std::string to_string(const file_world& w) {
    const char* const kinds[] = {"automatic", "uring", "epoll", "poll"};
    std::string name = kinds[static_cast<int>(w.kind)];
    if (w.threads == 0) name.append("_without_a_pool");
    return name;
}
inline std::ostream& operator<<(std::ostream& out, const file_world& w) {
    return out << to_string(w);
}
inline std::string name_of_world(const ::testing::TestParamInfo<file_world>& info) {
    return to_string(info.param);
}

inline std::string content_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// A fixture with a directory of its own; `run` runs a task in the world of the test, and sees that
/// it leaves no descriptor open.
class file_world_test : public ::testing::TestWithParam<file_world> {
protected:
    template <class F>
    void run(F f) {
        runtime_options o;
        o.loops = 1;
        o.backend = GetParam().kind;
        o.offload_threads = GetParam().threads;
        runtime rt(o);
        const std::size_t before = open_descriptors();
        rt.run([&](loop&) -> task<> { return f(); });
        EXPECT_EQ(open_descriptors(), before);
    }
    std::string path(std::string_view name) const { return (directory_.path() / name).string(); }
    std::string root() const { return directory_.path().string(); }

    std::size_t names_in(std::string_view folder) const {
        const std::filesystem::directory_iterator all(directory_.path() / folder);
        return static_cast<std::size_t>(std::distance(begin(all), end(all)));
    }

    const temporary_directory directory_;
};

}  // namespace coracle::testing
