#pragma once

#include <coracle/fs/line_file.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace coracle::fs::detail {

/// The implementation of a `line_file`; its functions are those of that class.
class line_writer {
public:
    line_writer() = default;
    line_writer(const line_writer&) = delete;
    line_writer& operator=(const line_writer&) = delete;
    virtual ~line_writer() = default;
    virtual bool add(std::string_view line) noexcept = 0;
    virtual void reopen() noexcept = 0;
    virtual bool flush(duration most) = 0;
    virtual line_file_counters counters() const noexcept = 0;
};

/// Writes by a thread of its own. Throws when the file cannot be opened.
std::unique_ptr<line_writer> make_threaded_line_writer(std::string path, line_file_options options);

/// Writes to the files of the current loop's backend, which has its own. Throws as well.
std::unique_ptr<line_writer> make_simulated_line_writer(std::string path,
                                                        line_file_options options);

}  // namespace coracle::fs::detail
