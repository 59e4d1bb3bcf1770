#pragma once

#include <coracle/fs/file.hpp>
#include <coracle/runtime/task.hpp>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace coracle::fs::detail {

/// PATH.part: the received part of a file, with the validator of the whole in an extended attribute
/// where the file system has them. If destroyed before `complete`, the file stays if the download
/// can be resumed, or if that is not known yet; otherwise it is removed.
class part_file {
public:
    explicit part_file(std::string path);
    part_file(const part_file&) = delete;
    part_file& operator=(const part_file&) = delete;
    ~part_file();

    /// Opens and locks the file. Keeps its content only with `keep` and a validator.
    task<std::expected<void, error>> open(bool keep);
    /// Forgets what is in it.
    task<std::expected<void, error>> start_anew(std::string validator);
    task<std::expected<void, error>> write(std::string_view bytes);
    /// Renames the file to its final name.
    task<std::expected<void, error>> complete(bool durable);

    std::uint64_t size() const noexcept { return size_; }
    const std::string& validator() const noexcept { return validator_; }

private:
    task<std::expected<void, error>> lock();
    task<std::expected<bool, error>> has_its_name() const;
    task<std::expected<void, error>> read_validator();
    task<std::expected<void, error>> keep_validator();
    task<std::expected<int, error>> settle();
    task<std::expected<void, error>> take_permissions();
    task<> give_up();
    static task<> forget_validator(int fd);

    std::string path_;
    std::string part_;
    file file_;
    std::uint64_t size_ = 0;
    std::string validator_;
    bool kept_ = false;     ///< the validator is with the file
    bool is_ours_ = false;  ///< it is known if the part can be resumed
};

}  // namespace coracle::fs::detail
