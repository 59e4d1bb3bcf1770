#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace coracle::tool {

/// Where an answer goes: standard output, or a file that is FILE.part until all of it is there.
/// Failures throw `std::system_error`, with the path. Destroyed before `complete`, it leaves
/// FILE.part for `resume`, unless nothing is in it.
class output_file {
public:
    /// "-" is standard output.
    explicit output_file(std::string path);
    ~output_file();
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;

    bool is_standard_output() const noexcept { return path_ == "-"; }
    const std::string& path() const noexcept { return path_; }
    /// Where the bytes are until `complete`.
    const std::string& part() const noexcept { return part_; }

    /// Opens it to go on: FILE.part, or else FILE itself when that is there.
    void open_to_resume();
    /// Opens it, if it is not, and forgets what is in it.
    void start_anew();
    void write(std::string_view bytes);
    std::uint64_t size() const noexcept { return size_; }

    /// What If-Range compares: kept with FILE.part, where the file system has extended attributes.
    void keep_validator(const std::string& text) noexcept;
    std::string validator() const;

    /// Tells all that is in it.
    void read(const std::function<void(std::string_view)>& each) const;

    /// Gives it its name.
    void complete();
    /// Removes what was written.
    void discard() noexcept;

private:
    void open(const std::string& name, int flags);
    void close() noexcept;
    [[noreturn]] void fail() const;

    std::string path_;
    std::string part_;
    int fd_ = -1;
    std::uint64_t size_ = 0;
};

}  // namespace coracle::tool
