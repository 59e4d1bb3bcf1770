#pragma once

#include <coracle/fs/file.hpp>
#include <coracle/fs/names.hpp>

#include <string>

namespace coracle::fs::detail {

/// A file that is being written beside the path which it will have, so that nobody sees it before
/// it is whole. One that was begun ends by `commit`, or by `abandon`, which leaves nothing behind.
class replacement {
public:
    using result = std::expected<void, error>;

    /// Chooses a name and opens it. `target` is the path to be; `mode` goes less the umask.
    task<result> begin(std::string target, unsigned mode);
    const file& content() const noexcept { return content_; }

    /// Gives it its name. With `durable` both content and name are on the disk then.
    task<result> commit(renaming how, bool durable);
    /// Removes it, also in a task that was cancelled.
    task<void> abandon();

private:
    task<result> give_name(renaming how);

    std::string target_;
    std::string temporary_;
    file content_;
};

/// Where a chain of symbolic links leads in the end, whether there is anything or not.
task<std::expected<std::string, error>> follow_links(std::string path);

/// The same for a path whose file is to be replaced. Fails with `operation_not_supported` where
/// that would put a file in the place of a device, a FIFO, a socket or a directory.
task<std::expected<std::string, error>> replaceable(std::string path);

/// The directory in which a path is a name.
std::string directory_of(const std::string& path);

/// A name beside that of `path`, which nobody guesses.
std::string name_beside(const std::string& path);

}  // namespace coracle::fs::detail
