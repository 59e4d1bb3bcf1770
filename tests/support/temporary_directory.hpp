#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace coracle::testing {

/// A directory of its own for a test, beneath TMPDIR; removed with all that is in it.
class temporary_directory {
public:
    temporary_directory() {
        std::string pattern = std::filesystem::temp_directory_path() / "coracle-test-XXXXXX";
        if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
        path_ = pattern;
    }
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;
    ~temporary_directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    const std::filesystem::path& path() const noexcept { return path_; }

    /// Writes a file, with the directories above it, and gives its path.
    std::filesystem::path write(const std::filesystem::path& name, std::string_view text) const {
        const auto full = path_ / name;
        std::filesystem::create_directories(full.parent_path());
        std::ofstream out(full, std::ios::binary);
        out.write(text.data(), static_cast<std::streamsize>(text.size()));
        out.close();
        if (!out) throw std::runtime_error("cannot write " + full.string());
        return full;
    }

private:
    std::filesystem::path path_;
};

}  // namespace coracle::testing
