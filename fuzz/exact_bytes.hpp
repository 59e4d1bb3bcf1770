#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>

/// A copy of bytes at an address of its own, with nothing readable behind it: reading beyond it is
/// found.
class exact_bytes {
public:
    explicit exact_bytes(std::string_view bytes)
        : size_(bytes.size()), bytes_(new char[bytes.size()]) {
        std::ranges::copy(bytes, bytes_.get());
    }
    std::string_view view() const noexcept { return {bytes_.get(), size_}; }

private:
    std::size_t size_;
    std::unique_ptr<char[]> bytes_;
};
