#pragma once

#include <coracle/fs/file.hpp>

#include <string>
#include <string_view>

namespace coracle::fs {

/// Returns the default directory of temporary files: the value of TMPDIR, else "/tmp".
std::string temporary_path();

/// A file without a name, gone when it is closed, unless `link_as` gives it a name. Where the file
/// system has no files without a name (O_TMPFILE) it has a hidden one until then. Move-only; not
/// while an operation is awaited.
class temporary_file {
public:
    temporary_file() noexcept = default;
    temporary_file(temporary_file&& other) noexcept;
    temporary_file& operator=(temporary_file&& other) noexcept;
    /// Removes the hidden name, if there is one: detached, in a task of the loop.
    ~temporary_file();

    bool is_open() const noexcept { return file_.is_open(); }
    /// Open for reading and writing.
    const file& content() const noexcept { return file_; }
    file& content() noexcept { return file_; }

    /// Gives it a name in the same file system, when all that was written is to be seen there:
    /// `mode` permits, whatever the umask is. Fails with `file_exists` when there is anything by
    /// that name; then it may be called again. It stays open. Not durable before `content().sync()`
    /// and `sync_directory`.
    operation<void> link_as(std::string path, unsigned mode = 0644);

private:
    friend operation<temporary_file> make_temporary_file(std::string);
    struct maker;

    file file_;
    std::string name_;  ///< the hidden one
};

/// Opens a new file in `directory`, readable and writable by this user alone. Cancelling leaves no
/// file.
operation<temporary_file> make_temporary_file(std::string directory = temporary_path());

/// A directory of one's own, removed with all that is in it. Move-only.
class temporary_directory {
public:
    temporary_directory() noexcept = default;
    temporary_directory(temporary_directory&& other) noexcept;
    temporary_directory& operator=(temporary_directory&& other) noexcept;
    /// Removes it when `remove` has not: in a detached task of the loop, which the loop waits for
    /// for up to 10 s; without a loop it blocks. What fails then is logged.
    ~temporary_directory() { drop(); }

    const std::string& path() const noexcept { return path_; }
    /// A path in it.
    std::string operator/(std::string_view name) const;
    /// Leaves it where it is; the path is the caller's.
    std::string keep() noexcept;

    /// Removes it with all its content, without following links. Does nothing if it was removed
    /// already.
    operation<void> remove();

private:
    friend operation<temporary_directory> make_temporary_directory(std::string, std::string);
    struct maker;
    void drop() noexcept;

    std::string path_;
};

/// Makes a new directory in `directory`, for this user alone (0700), whose name begins with
/// `prefix`.
operation<temporary_directory> make_temporary_directory(std::string directory = temporary_path(),
                                                        std::string prefix = "coracle-");

}  // namespace coracle::fs
