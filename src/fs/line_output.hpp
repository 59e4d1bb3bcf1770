#pragma once

#include <coracle/base/error.hpp>
#include <coracle/fs/line_file.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::fs::detail {

/// The output file of a `line_file`, with counters of written and lost lines; reports an error
/// once. Used by one thread; the counters by any thread.
class line_output {
public:
    line_output(std::string path, logger* log) : path_(std::move(path)), log_(log) {}
    line_output(const line_output&) = delete;
    line_output& operator=(const line_output&) = delete;
    virtual ~line_output() = default;

    /// Opens the path for appending, and calls `begins_other_file` if it leads to another file now.
    /// Returns an errno, or 0. The previous file stays open until then.
    virtual int open() noexcept = 0;

    /// Reopens it, and reports a failure.
    void open_again() noexcept;
    /// Writes `text`, in which the lines begin at `begin`.
    void write(std::string_view text, std::size_t begin) noexcept;
    /// Returns true if the file ends in the midst of a line, which the next one must not run into.
    bool torn() const noexcept { return torn_; }
    /// The failure of the first opening.
    [[noreturn]] void throw_open_failed(int number) const;
    const std::string& path() const noexcept { return path_; }

    /// Adds its counters.
    void add_to(line_file_counters& c) const noexcept;

protected:
    /// Writes some of `text`. Returns the number of bytes; 0 when the output takes none now; or a
    /// negated errno.
    virtual std::int64_t write_some(std::string_view text) noexcept = 0;
    void begins_other_file() noexcept { torn_ = false; }

private:
    error failure_of(int number, const char* what) const;
    void complain(const char* what, int number) noexcept;

    const std::string path_;
    logger* const log_;
    const logger own_log_;  ///< if the options name none
    bool torn_ = false;
    bool healthy_ = true;  ///< a failure is news
    std::atomic<std::uint64_t> lost_{0};
    std::atomic<std::uint64_t> bytes_{0};
    std::atomic<std::uint64_t> errors_{0};
    std::atomic<std::uint64_t> reopened_{0};
};

bool is_standard_output(const std::string& path) noexcept;

}  // namespace coracle::fs::detail
