#pragma once

#include <coracle/io/descriptor_stream.hpp>
#include <coracle/runtime/task.hpp>

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::tool {

/// The output of a response: a stream (standard output, a FIFO, a device), or a file that is
/// FILE.part until all of it is there. Failures throw `std::system_error`, with the path, or
/// `unwritable`. Destroyed before `complete`, it leaves FILE.part to be resumed, unless that is
/// empty.
class output_file {
public:
    /// "-" is standard output.
    explicit output_file(std::string path);
    ~output_file();
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;

    bool is_standard_output() const noexcept { return path_ == "-"; }
    /// Returns true for a stream: written bytes are gone, and can be neither resumed nor taken
    /// back.
    bool is_stream() const noexcept { return is_stream_; }
    const std::string& path() const noexcept { return path_; }
    /// The path of the bytes until `complete`.
    const std::string& part() const noexcept { return in_place_ ? target_ : part_; }

    /// Opens it to go on: FILE.part, or else FILE itself when that is there.
    void open_to_resume();
    /// Begins with nothing, in FILE.part. What FILE has stays until `complete`.
    void start_anew();
    /// Cuts a file after its first `size` bytes.
    void cut(std::uint64_t size);
    /// For a FIFO to which nothing was written: its reader waits for a writer all the same.
    task<> open_fifo_if_never_written();
    /// Also when it is cancelled, part of `bytes` may have been written.
    task<> write(std::string_view bytes);
    /// Returns the bytes of a file.
    std::uint64_t size() const noexcept { return size_; }

    /// Keeps the validator for If-Range with FILE.part, where the file system has extended
    /// attributes.
    void keep_validator(std::string_view text);
    std::string validator() const;

    /// Tells all that is in it.
    void read(const std::function<void(std::string_view)>& each) const;

    /// Renames the file to its final name.
    void complete();
    /// Removes what was written.
    void discard() noexcept;

private:
    void open(const std::string& name, int flags);
    void lock(const std::string& name);
    void close() noexcept;
    void take_after(const struct stat& old, bool has_acl) const noexcept;
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
    std::string validator_;  ///< also where the file system keeps none
};

}  // namespace coracle::tool
