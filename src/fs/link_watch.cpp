#include "fs/link_watch.hpp"

#include "fs/join.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace coracle::fs::detail {
namespace {

/// The most links of one path; the system refuses more (path_resolution(7)).
constexpr std::size_t most_links = 40;
/// The most times that links are followed anew because they changed meanwhile: what changes after
/// the last time makes an event.
constexpr unsigned most_attempts = 8;

/// Added to what is asked for already, as the directory may be watched for its own sake.
constexpr std::uint32_t of_marks =
    link_watch::of_names | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD;

enum class kind : std::uint8_t { missing, link, other };

kind kind_of(const std::string& path) noexcept {
    struct stat s{};
    if (::lstat(path.c_str(), &s) != 0) return kind::missing;
    return S_ISLNK(s.st_mode) ? kind::link : kind::other;
}

/// Puts the names of `path` on top of `names`, the first one last.
void push_names(std::vector<std::string>& names, std::string_view path) {
    while (!path.empty()) {
        const std::size_t slash = path.rfind('/');
        const std::size_t begin = slash == std::string_view::npos ? 0 : slash + 1;
        const std::string_view name = path.substr(begin);
        if (!name.empty() && name != ".") names.emplace_back(name);
        path = path.substr(0, begin == 0 ? 0 : begin - 1);
    }
}

}  // namespace

/// Where there were links once, they may come again: then the end alone is a mark too.
link_watch::marks link_watch::marks_of(std::string_view path, bool had_links) {
    marks found;
    std::size_t links = 0;
    std::string at = path.starts_with('/') ? "/" : ".";
    std::vector<std::string> names;
    push_names(names, path);
    while (!names.empty() && links <= most_links) {
        std::string name = std::move(names.back());
        names.pop_back();
        std::string here = join(at, name);
        const kind what = name == ".." ? kind::other : kind_of(here);
        if (what == kind::link) {
            std::error_code failed;
            const std::string to = std::filesystem::read_symlink(here, failed).string();
            found.push_back({at, std::move(name), true});
            ++links;
            if (to.starts_with('/')) at = "/";
            push_names(names, to);
        } else if (what == kind::missing || names.empty()) {
            if (name != "..") found.push_back({at, std::move(name), false});
            break;
        } else {
            at = std::move(here);
        }
    }
    if (links == 0 && !had_links) found.clear();
    return found;
}

bool is_passed_over(int number) noexcept {
    return number == ENOENT || number == ENOTDIR || number == EACCES || number == ELOOP;
}

std::expected<std::vector<int>, int> link_watch::follow(int inotify, const std::string& path,
                                                        std::uint32_t end_events) {
    std::vector<int> used;
    const bool had_links = any();
    const auto same = [](const mark& a, const mark& b) { return a.same_place(b); };
    for (unsigned i = 0; i != most_attempts; ++i) {
        for (const mark& m : marks_) used.push_back(m.number);
        marks_ = marks_of(path, had_links);
        for (mark& m : marks_) {
            const std::uint32_t events = of_marks | (m.is_link ? 0u : end_events);
            m.number = ::inotify_add_watch(inotify, m.directory.c_str(), events);
            if (m.number < 0 && !is_passed_over(errno)) return std::unexpected(errno);
        }
        if (std::ranges::equal(marks_of(path, had_links), marks_, same)) break;
    }
    std::erase_if(used, [this](int number) { return number < 0 || uses(number); });
    return used;
}

bool link_watch::uses(int number) const noexcept {
    return std::ranges::any_of(marks_, [&](const mark& m) { return m.number == number; });
}

link_watch::hit link_watch::find(int number, std::string_view name) const noexcept {
    for (const mark& m : marks_) {
        if (m.number == number && m.name == name) return m.is_link ? hit::link : hit::end;
    }
    return hit::none;
}

}  // namespace coracle::fs::detail
