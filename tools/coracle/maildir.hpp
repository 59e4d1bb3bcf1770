#pragma once

#include <coracle/runtime/owned_fd.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::tool {

/// A directory of mails, one file each, as Maildir has it: written in tmp/ and renamed into new/,
/// so that a reader sees whole mails only. Names are unique among all programs that write to it.
class maildir {
public:
    /// Makes the directory with its three parts where they are missing. Throws `failure`.
    explicit maildir(std::string path);

    /// Writes a mail, and completes when it is on the disk. Blocks; from any thread. Throws
    /// `std::system_error`; no part of a mail is left then.
    void add(std::string_view mail, std::size_t number, std::int64_t unix_time,
             std::uint64_t random) const;

    const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
    std::string host_;
    owned_fd new_;  ///< open, so that nothing is missing behind the rename
};

}  // namespace coracle::tool
