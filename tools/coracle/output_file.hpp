#pragma once

#include <coracle/io/descriptor_stream.hpp>
#include <coracle/runtime/task.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::tool {

/// Where an answer goes: a stream (standard output, a FIFO, a device), or a file that is FILE.part
/// until all of it is there. Failures throw `std::system_error`, with the path. Destroyed before
/// `complete`, it leaves FILE.part to be gone on with, unless nothing is in it.
class output_file {
public:
    /// "-" is standard output.
    explicit output_file(std::string path);
    ~output_file();
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;

    bool is_standard_output() const noexcept { return path_ == "-"; }
    /// What is written is gone: it cannot be gone on with, nor taken back.
    bool is_stream() const noexcept { return is_stream_; }
    const std::string& path() const noexcept { return path_; }
    /// Where the bytes are until `complete`.
    const std::string& part() const noexcept { return in_place_ ? target_ : part_; }

    /// Opens it to go on: FILE.part, or else FILE itself when that is there.
    void open_to_resume();
    /// Begins with nothing, in FILE.part. What FILE has stays until `complete`.
    void start_anew();
    /// Also when it is cancelled, part of `bytes` may have been written.
    task<> write(std::string_view bytes);
    /// Of a file: its bytes.
    std::uint64_t size() const noexcept { return size_; }

    /// What If-Range compares: kept with FILE.part, where the file system has extended attributes.
    void keep_validator(std::string_view text) noexcept;
    std::string validator() const;

    /// Tells all that is in it.
    void read(const std::function<void(std::string_view)>& each) const;

    /// Gives it its name.
    void complete();
    /// Removes what was written.
    void discard() noexcept;

private:
    void open(const std::string& name, int flags);
    void lock(const std::string& name);
    void close() noexcept;
    task<> open_stream();
    task<> write_to_stream(std::string_view bytes);
    void write_to_file(std::string_view bytes);
    [[noreturn]] void fail(int number) const;

    std::string path_;    ///< as it was given
    std::string target_;  ///< behind symbolic links
    std::string part_;
    std::unique_ptr<io::descriptor_stream> stream_;
    int fd_ = -1;
    std::uint64_t size_ = 0;
    bool is_stream_ = false;
    bool in_place_ = false;  ///< FILE itself is open
};

}  // namespace coracle::tool
