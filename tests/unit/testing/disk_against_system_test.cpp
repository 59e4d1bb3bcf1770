// Calls on a simulated disk, compared with those on the file system of the temporary directory.

#include "fs/perform.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_directory.hpp"
#include "testing/random.hpp"
#include "unit/testing/raw_file.hpp"

#include <coracle/testing/simulation.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using coracle::testing::detail::random_source;
using simulated::raw_file;

namespace {

/// A call, with places in the table of what is open instead of numbers.
struct call {
    file_action action = file_action::open;
    std::size_t on = 0;
    std::size_t other = 0;
    std::string path;
    std::string other_path;
    unsigned flags = 0;
    unsigned mode = 0;
    std::string bytes;
    std::uint64_t offset = 0;
    std::uint64_t other_offset = 0;
    std::uint64_t size = 0;
};

std::string described(const call& c) {
    char text[512];
    std::snprintf(text, sizeof text,
                  "action %d on %zu '%.40s' other %zu '%.40s' flags %o mode %o bytes %zu offset "
                  "%llu %llu size %llu",
                  static_cast<int>(c.action), c.on, c.path.c_str(), c.other, c.other_path.c_str(),
                  c.flags, c.mode, c.bytes.size(), static_cast<unsigned long long>(c.offset),
                  static_cast<unsigned long long>(c.other_offset),
                  static_cast<unsigned long long>(c.size));
    return text;
}

/// Calls as chance has them, in a small world of names so that they meet.
class caller {
public:
    explicit caller(std::uint64_t seed) : chance_(seed) {}

    call next(std::size_t open) {
        call c;
        static constexpr file_action often[] = {
            file_action::open,    file_action::open,           file_action::open,
            file_action::write,   file_action::write,          file_action::read,
            file_action::rename,  file_action::make_directory, file_action::remove,
            file_action::symlink, file_action::status};
        const auto any = static_cast<file_action>(chance_.up_to(18));
        c.action = chance_.one_in(3) ? any : often[chance_.up_to(std::size(often) - 1)];
        const auto slot = [&] { return static_cast<std::size_t>(chance_.up_to(open - 1)); };
        const bool names = is_about_names(c.action);
        // The first is the directory in which all happens.
        c.on = names && !chance_.one_in(8) ? 0 : slot();
        c.other = names && !chance_.one_in(8) ? 0 : slot();
        c.path = path();
        c.other_path = path();
        fill(c);
        return c;
    }

    static bool is_about_names(file_action a) {
        switch (a) {
            case file_action::open:
            case file_action::status:
            case file_action::set_mode:
            case file_action::set_times:
            case file_action::make_directory:
            case file_action::remove:
            case file_action::rename:
            case file_action::link:
            case file_action::symlink:
            case file_action::read_link: return true;
            default: return false;
        }
    }

private:
    std::string name() {
        if (chance_.one_in(60)) return std::string(255 + chance_.up_to(1), 'n');
        return std::string(1, static_cast<char>('a' + chance_.up_to(3)));
    }
    std::string path() {
        std::string p = name();
        // Never up from the top: all names stand below it, and one step up goes no further.
        for (std::uint64_t more = chance_.up_to(2); more != 0; --more) {
            if (chance_.one_in(12)) {
                const bool up = chance_.one_in(2) && p.find("..") == std::string::npos;
                p += up ? "/.." : "/.";
            } else {
                p.append(chance_.one_in(20) ? "//" : "/").append(name());
            }
        }
        if (p.size() < 200 && chance_.one_in(12)) p += '/';
        return p;
    }

    void fill(call& c) {
        c.mode = mode();
        c.offset = chance_.up_to(3) * 3000 + chance_.up_to(300);
        c.other_offset = chance_.up_to(3) * 3000;
        c.size = chance_.one_in(10) ? 0 : chance_.up_to(9000);
        switch (c.action) {
            case file_action::open: return fill_open(c);
            case file_action::read:
            case file_action::write:
                c.bytes.assign(1 + static_cast<std::size_t>(chance_.up_to(6000)),
                               static_cast<char>('A' + chance_.up_to(25)));
                if (chance_.one_in(3)) c.offset = file_operation::no_offset;
                if (c.action == file_action::write && chance_.one_in(30)) c.offset = 1ULL << 63;
                return;
            case file_action::sync: c.flags = static_cast<unsigned>(chance_.up_to(1)); return;
            case file_action::allocate: {
                static constexpr int how[] = {0, FALLOC_FL_KEEP_SIZE,
                                              FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE};
                c.flags = static_cast<unsigned>(how[chance_.up_to(2)]);
                return;
            }
            case file_action::status:
            case file_action::set_times:
                if (chance_.one_in(2)) c.flags = AT_SYMLINK_NOFOLLOW;
                if (c.action == file_action::status && chance_.one_in(8)) {
                    c.flags = AT_EMPTY_PATH;
                    c.path.clear();
                }
                return;
            case file_action::remove:
                if (chance_.one_in(2)) c.flags = AT_REMOVEDIR;
                return;
            case file_action::rename:
                if (chance_.one_in(5)) c.flags = RENAME_NOREPLACE;
                if (chance_.one_in(5)) c.flags |= RENAME_EXCHANGE;
                return;
            case file_action::symlink:
                // One that led up would lead out of the top by and by.
                if (const auto up = c.path.find(".."); up != std::string::npos) c.path.resize(1);
                return;
            case file_action::link:
                if (chance_.one_in(3)) c.flags = AT_SYMLINK_FOLLOW;
                return;
            case file_action::lock: {
                static constexpr int kinds[] = {F_RDLCK, F_WRLCK, F_UNLCK};
                c.flags = static_cast<unsigned>(kinds[chance_.up_to(2)]);
                return;
            }
            default: return;
        }
    }

    unsigned mode() {
        return chance_.one_in(8) ? static_cast<unsigned>(chance_.up_to(0777)) : 0777;
    }

    void fill_open(call& c) {
        static constexpr int access[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR};
        int flags = access[chance_.up_to(3)];
        if (chance_.one_in(2)) flags |= O_CREAT;
        if (chance_.one_in(5)) flags |= O_EXCL;
        if (chance_.one_in(5)) flags |= O_TRUNC;
        if (chance_.one_in(5)) flags |= O_APPEND;
        if (chance_.one_in(6)) flags |= O_NOFOLLOW;
        // Kernels differ in what O_CREAT makes of it.
        if ((flags & O_CREAT) == 0 && chance_.one_in(5)) flags = O_DIRECTORY;
        if ((flags & O_CREAT) == 0 && chance_.one_in(10)) flags = O_TMPFILE | (flags & O_ACCMODE);
        if (chance_.one_in(12)) flags = O_PATH | (flags & (O_NOFOLLOW | O_DIRECTORY));
        c.flags = static_cast<unsigned>(flags | O_CLOEXEC);
    }

    random_source chance_;
};

/// The outcome of a call, as far as the two can agree.
struct outcome {
    std::int64_t result = 0;
    std::string seen;

    bool operator==(const outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const outcome& o) {
    return out << o.result << " '" << o.seen.substr(0, 80) << "' (" << o.seen.size() << ')';
}

std::string names_in(std::string_view records) {
    std::vector<std::string> names;
    while (!records.empty()) {
        std::uint16_t length = 0;
        std::memcpy(&length, records.data() + offsetof(dirent64, d_reclen), sizeof length);
        const unsigned char type = static_cast<unsigned char>(records[offsetof(dirent64, d_type)]);
        const std::string name(records.data() + offsetof(dirent64, d_name));
        names.push_back(name + ':' + std::to_string(type));
        records.remove_prefix(length);
    }
    std::sort(names.begin(), names.end());
    std::string all;
    for (const std::string& n : names) all += n + ' ';
    return all;
}

std::string seen(const file_status& s) {
    std::string text = std::to_string(static_cast<int>(s.kind)) + ' ' + std::to_string(s.mode);
    if (s.kind == file_kind::directory) return text;
    return text + ' ' + std::to_string(s.size) + ' ' + std::to_string(s.links);
}

/// A file system and what is open on it.
class subject {
public:
    virtual ~subject() = default;

    task<outcome> does(const call& c) {
        raw_file op(c.action);
        std::string room(c.action == file_action::list ? 8192 : 4096, '\0');
        if (c.action == file_action::read) room.resize(c.bytes.size());
        std::vector<slice> pieces{slice(room)};
        if (c.action == file_action::write) {
            const std::size_t half = c.bytes.size() / 2;
            pieces = {slice(c.bytes.data(), half),
                      slice(c.bytes.data() + half, c.bytes.size() - half)};
        }
        file_status found;
        op.fd = open_[c.on];
        op.other_fd = open_[c.other];
        op.path = c.path.c_str();
        op.other_path = c.other_path.c_str();
        op.flags = c.flags;
        op.mode = c.mode;
        op.pieces = pieces;
        op.offset = c.offset;
        op.other_offset = c.other_offset;
        op.size = c.size;
        op.status = &found;
        outcome o;
        o.result = co_await perform(op);
        if (c.action == file_action::open && o.result >= 0) {
            open_.push_back(static_cast<int>(o.result));
            o.result = 0;
        } else if (c.action == file_action::status && o.result == 0) {
            o.seen = seen(found);
        } else if (c.action == file_action::list && o.result > 0) {
            o.seen = names_in({room.data(), static_cast<std::size_t>(o.result)});
            o.result = 0;
        } else if (o.result > 0 &&
                   (c.action == file_action::read || c.action == file_action::read_link)) {
            o.seen = room.substr(0, static_cast<std::size_t>(o.result));
        }
        co_return o;
    }

    /// Begins in this directory.
    void start_in(int fd) { open_.assign(1, fd); }
    task<> close(std::size_t place) {
        raw_file op(file_action::close);
        op.fd = open_[place];
        co_await perform(op);
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(place));
    }
    std::size_t open() const { return open_.size(); }

    task<std::int64_t> open_directory(const char* path) {
        raw_file op(file_action::open);
        op.fd = AT_FDCWD;
        op.path = path;
        op.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
        co_return co_await perform(op);
    }

private:
    virtual task<std::int64_t> perform(raw_file& op) = 0;

    std::vector<int> open_;
};

class simulated_subject final : public subject {
    task<std::int64_t> perform(raw_file& op) override {
        const auto r = co_await as_result(op);
        co_return *r;
    }
};

class system_subject final : public subject {
    task<std::int64_t> perform(raw_file& op) override { co_return fs::detail::perform(op); }
};

/// A walk over all that is there, in the order of the names.
task<std::string> tree_of(subject& s, std::size_t directory, std::string prefix) {
    call list;
    list.action = file_action::list;
    list.on = directory;
    outcome names = co_await s.does(list);
    std::string all;
    for (std::size_t at = 0; at < names.seen.size();) {
        const std::size_t end = names.seen.find(' ', at);
        const std::string entry = names.seen.substr(at, end - at);
        const std::string name = entry.substr(0, entry.rfind(':'));
        at = end + 1;
        if (name == "." || name == "..") continue;
        call look;
        look.action = file_action::status;
        look.on = directory;
        look.path = name;
        look.flags = AT_SYMLINK_NOFOLLOW;
        const outcome status = co_await s.does(look);
        all.append(prefix).append(name).append(" ").append(status.seen);
        call open;
        open.on = directory;
        open.path = name;
        open.flags = O_RDONLY | O_NOFOLLOW;
        const outcome opened = co_await s.does(open);
        const std::size_t place = s.open() - 1;
        if (opened.result != 0) {
            call link;
            link.action = file_action::read_link;
            link.on = directory;
            link.path = name;
            const outcome target = co_await s.does(link);
            all.append(" -> ").append(target.seen).append("\n");
            continue;
        }
        if (entry.ends_with(":4")) {
            all += '\n';
            all += co_await tree_of(s, place, prefix + name + "/");
        } else {
            call read;
            read.action = file_action::read;
            read.on = place;
            read.bytes.resize(40'000);
            const outcome content = co_await s.does(read);
            all.append(" ").append(content.seen).append("\n");
        }
        co_await s.close(place);
    }
    co_return all;
}

/// Returns true if the system under test has features that not all file systems have.
bool is_supported(const call& c, const std::string& directory) {
    static const bool nameless = [&] {
        const int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd >= 0) ::close(fd);
        return fd >= 0;
    }();
    static const bool holes = [&] {
        const std::string path = directory + "/probe";
        const int fd = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        const bool can = ::fallocate(fd, 0, 0, 8192) == 0 &&
                         ::fallocate(fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0, 4096) == 0;
        ::close(fd);
        ::unlink(path.c_str());
        return can;
    }();
    if (c.action == file_action::allocate) return holes;
    return c.action != file_action::open || (c.flags & O_TMPFILE) != O_TMPFILE || nameless;
}

task<> compare(std::string directory, std::uint64_t seed, unsigned calls) {
    simulated_subject simulated;
    system_subject system;
    simulated.start_in(static_cast<int>(co_await simulated.open_directory("/t")));
    system.start_in(static_cast<int>(co_await system.open_directory(directory.c_str())));
    caller chance(seed);
    for (unsigned i = 0; i != calls; ++i) {
        const call c = chance.next(simulated.open());
        if (!is_supported(c, directory)) continue;
        const std::size_t was_open = simulated.open();
        if (c.action == file_action::close) {
            if (c.on == 0) continue;
            co_await simulated.close(c.on);
            co_await system.close(c.on);
            continue;
        }
        outcome expected = co_await system.does(c);
        // For a directory some kernels return from readv the error that others return from read.
        if (c.action == file_action::read && expected.result == -EINVAL) expected.result = -EISDIR;
        const outcome got = co_await simulated.does(c);
        EXPECT_EQ(got, expected) << "call " << i << ": " << described(c);
        if (::testing::Test::HasFailure()) co_return;
        if (was_open > 12) {
            co_await simulated.close(was_open / 2);
            co_await system.close(was_open / 2);
        }
    }
    const std::string expected = co_await tree_of(system, 0, "");
    const std::string got = co_await tree_of(simulated, 0, "");
    EXPECT_EQ(got, expected);
    while (system.open() != 0) co_await system.close(system.open() - 1);
}

void compare_with_system(std::uint64_t first_seed, unsigned seeds, bool privileged) {
    const mode_t umask_before = ::umask(022);
    for (std::uint64_t seed = first_seed; seed != first_seed + seeds; ++seed) {
        const temporary_directory there;
        ::chmod(there.path().c_str(), 0755);
        const unsigned user = privileged ? 0 : 65534;
        if (::geteuid() == 0) {
            ASSERT_EQ(::chown(there.path().c_str(), user, user), 0);
        }
        disk_options how;
        how.privileged = privileged;
        simulated_disk disk(how);
        disk.make_directory("/t");
        simulation_options o;
        o.seed = seed;
        o.disk = &disk;
        if (::geteuid() == 0) ::setfsuid(user);
        simulation sim(o);
        sim.run([&] { return compare(there.path().string(), seed, 400); });
        if (::geteuid() == 0) ::setfsuid(0);
        if (::testing::Test::HasFailure()) {
            ADD_FAILURE() << "seed " << seed;
            break;
        }
    }
    ::umask(umask_before);
}

// ---- without the system
// --------------------------------------------------------------------------

/// Counts the names of each inode below a directory, and what a disk must agree to.
struct inventory {
    std::map<std::uint64_t, std::uint64_t> names;
    std::map<std::uint64_t, file_status> found;

    void look(const simulated_disk& disk, const std::string& directory) {
        for (const std::string& name : disk.list(directory.empty() ? "/" : directory)) {
            const std::string path = directory + '/' + name;
            const auto s = disk.status(path);
            // A symlink that leads nowhere, or back.
            if (!s || is_link(disk, path)) continue;
            const bool is_new = found.emplace(s->inode, *s).second;
            ++names[s->inode];
            ASSERT_TRUE(is_new || s->kind != file_kind::directory) << path << " twice";
            if (s->kind != file_kind::directory) continue;
            look(disk, path);
        }
    }
    static bool is_link(const simulated_disk& disk, const std::string& path) {
        return disk.link_status(path)->kind == file_kind::symlink;
    }
};

task<> call_at_random(std::uint64_t seed, unsigned calls) {
    simulated_subject simulated;
    simulated.start_in(static_cast<int>(co_await simulated.open_directory("/t")));
    caller chance(seed);
    for (unsigned i = 0; i != calls; ++i) {
        const call c = chance.next(simulated.open());
        if (c.action != file_action::close) co_await simulated.does(c);
        if (simulated.open() > 12) co_await simulated.close(simulated.open() / 2);
    }
}

void expect_order(const simulated_disk& disk) {
    inventory all;
    all.look(disk, "");
    std::uint64_t used = 0;
    for (const auto& [inode, s] : all.found) {
        used += s.allocated;
        if (s.kind == file_kind::regular) {
            EXPECT_EQ(s.links, all.names[inode]);
        }
    }
    EXPECT_EQ(disk.used(), used);
}

TEST(simulated_disk_in_disorder, is_in_order_after_each_crash) {
    for (const std::uint64_t seed : seeds(fewer_if_sanitized(1000))) {
        simulated_disk disk;
        disk.make_directory("/t");
        for (std::uint64_t life = 0; life != 4; ++life) {
            simulation_options o;
            o.seed = seed;
            o.disk = &disk;
            simulation(o).run([&] { return call_at_random(seed * 4 + life, 60); });
            expect_order(disk);
            disk.crash(seed + life);
            expect_order(disk);
        }
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
}

// ---- with the system
// -----------------------------------------------------------------------------

TEST(simulated_disk_against_system, gives_the_same_results_and_the_same_tree) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs the superuser";
    compare_with_system(1, 60, true);
}

TEST(simulated_disk_against_system, holds_back_who_lacks_permission_as_the_system_does) {
    compare_with_system(1000, 60, false);
}

}  // namespace
