#pragma once

#include <coracle/io/sink.hpp>
#include <coracle/io/source.hpp>

#include <string>
#include <string_view>

namespace coracle::io {

/// Bytes in memory, which must outlive it.
class memory_source final : public source {
public:
    explicit memory_source(std::string_view bytes) noexcept : all_(bytes), left_(bytes) {}
    task<std::expected<std::size_t, error>> read_some(std::span<char> into) override;
    /// The bytes that have not been read yet.
    std::string_view left() const noexcept { return left_; }
    bool seek(std::uint64_t position) noexcept override {
        if (position > all_.size()) return false;
        left_ = all_.substr(static_cast<std::size_t>(position));
        return true;
    }

private:
    std::string_view all_;
    std::string_view left_;
};

/// Adds what is written to the end of a string, which must outlive it. Fails with
/// `errc::limit_exceeded` when the string would become larger than `limit` bytes, and then adds
/// nothing.
class memory_sink final : public sink {
public:
    explicit memory_sink(std::string& to, std::size_t limit = SIZE_MAX) noexcept
        : to_(&to), limit_(limit) {}
    task<std::expected<void, error>> write(std::span<slice> pieces) override;

private:
    std::string* to_;
    std::size_t limit_;
};

/// Takes everything and keeps nothing.
class null_sink final : public sink {
public:
    task<std::expected<void, error>> write(std::span<slice> pieces) override;
};

}  // namespace coracle::io
