#include "fs/kept_permissions.hpp"

#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/offload.hpp>

#include <sys/xattr.h>
#include <unistd.h>

namespace coracle::fs::detail {
namespace {

constexpr unsigned of_group = 070;
constexpr unsigned of_others = 07;

/// Facts about the bits of the group of the old file, besides its status.
struct old_group {
    bool kept = false;      ///< the new file has it
    bool has_list = false;  ///< they are the mask of an access list
};

task<std::expected<old_group, error>> take_group(const file* made, const std::string* path,
                                                 unsigned group, bool is_same) {
    // Simulated files have neither.
    if (!loop::current()->backend().is_of_the_system()) co_return old_group{true, false};
    const auto take = [fd = made->fd(), path, group, is_same] {
        old_group g;
        g.kept = is_same || ::fchown(fd, static_cast<uid_t>(-1), group) == 0;
        g.has_list = ::lgetxattr(path->c_str(), "system.posix_acl_access", nullptr, 0) > 0;
        return g;
    };
    auto taking = coracle::detail::offload_file_work(take);
    co_return co_await as_result(taking);
}

}  // namespace

task<std::expected<void, error>> keep_permissions(const file& made, const std::string& path,
                                                  const file_status& old, unsigned bits) {
    auto now = co_await as_result(made.status());
    if (!now) co_return std::unexpected(std::move(now).error());
    auto taking = take_group(&made, &path, old.group, now->group == old.group);
    const auto group = co_await std::move(taking);
    if (!group) co_return std::unexpected(group.error());
    const bool is_same = group->kept && now->user == old.user;
    unsigned mode = old.mode & bits & (is_same ? all_permissions : access_bits);
    // The bits of the group would let others in.
    if (!group->kept || group->has_list) mode &= ~of_group | (mode & of_others) << 3U;
    co_return co_await as_result(made.set_mode(mode));
}

}  // namespace coracle::fs::detail
