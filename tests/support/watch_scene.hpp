#pragma once

#include "support/backends.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/fs/watch.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace coracle::testing {

using fs::change;
using fs::change_kind;
using fs::watch_options;

/// A directory to change, and what is told of it.
class scene {
public:
    std::string path(std::string_view name = {}) const {
        std::string p = directory_.path().string();
        if (!name.empty()) p.append("/").append(name);
        return p;
    }
    void write(std::string_view name, std::string_view text = "x") const {
        const std::string p = path(name);
        const int fd = ::open(p.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        EXPECT_GE(fd, 0) << p;
        EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
        ::close(fd);
    }
    void make_directory(std::string_view name) const {
        EXPECT_EQ(::mkdir(path(name).c_str(), 0755), 0);
    }
    /// The name of a file that was not there before.
    std::string new_name() const { return "end " + std::to_string(++names_); }
    void remove(std::string_view name) const { std::filesystem::remove_all(path(name)); }
    void rename(std::string_view from, std::string_view to) const {
        EXPECT_EQ(::rename(path(from).c_str(), path(to).c_str()), 0);
    }

    /// "kind path" or "moved from>path", the paths without the directory.
    std::string tell(const change& c) const {
        std::string text(fs::to_string(c.kind));
        text += ' ';
        if (c.kind == change_kind::moved) text.append(shorten(c.from)).append(">");
        text.append(shorten(c.path));
        if (c.is_directory) text += '/';
        return text;
    }
    std::string shorten(const std::string& p) const {
        if (p == path()) return ".";
        return p.starts_with(path() + '/') ? p.substr(path().size() + 1) : p;
    }

private:
    temporary_directory directory_;
    mutable int names_ = 0;
};

using changes = async_generator<change>;

/// The next `n`, in the order in which they are told.
inline task<std::vector<std::string>> next(const scene& s, changes& from, std::size_t n) {
    std::vector<std::string> all;
    while (all.size() != n) {
        auto c = co_await from.next();
        if (!c) break;
        all.push_back(s.tell(*c));
    }
    co_return all;
}

/// The next `n` that are no modifications, in the order of the alphabet, each once.
inline task<std::vector<std::string>> next_sorted(const scene& s, changes& from, std::size_t n) {
    std::vector<std::string> all;
    while (all.size() != n) {
        auto c = co_await from.next();
        if (!c) break;
        if (c->kind == change_kind::modified) continue;
        std::string text = s.tell(*c);
        if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(std::move(text));
    }
    std::sort(all.begin(), all.end());
    co_return all;
}

/// All up to what is told of a file that it makes, in the order of the alphabet, each once.
inline task<std::vector<std::string>> until_end(const scene& s, changes& from) {
    const std::string end = s.new_name();
    s.write(end);
    std::vector<std::string> all;
    for (;;) {
        auto c = co_await from.next();
        if (!c) break;
        std::string text = s.tell(*c);
        if (text.ends_with(' ' + end)) break;
        all.push_back(std::move(text));
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    co_return all;
}

using texts = std::vector<std::string>;

/// All up to the last of those that are waited for.
inline task<texts> until_heard(const scene& s, changes& from, texts wanted) {
    texts all;
    while (!wanted.empty()) {
        auto c = co_await from.next();
        if (!c) break;
        all.push_back(s.tell(*c));
        std::erase(wanted, all.back());
    }
    co_return all;
}

/// g++ 12 cannot have these in a coroutine.
template <class... T>
texts list(T... each) {
    texts all;
    (all.emplace_back(each), ...);
    return all;
}

/// Watches in a directory of its own, on each backend of this machine.
class watching : public ::testing::TestWithParam<backend_case> {
protected:
    loop_on on{GetParam()};
    scene s;
};

}  // namespace coracle::testing
