#pragma once

#include <coracle/io/sink.hpp>
#include <coracle/io/source.hpp>

#include <concepts>
#include <cstdint>
#include <vector>

// Sources over sources and sinks over sinks. What one stands on must outlive it.
namespace coracle::io {

class reader;
class writer;

/// Returns at most so many bytes of another source; the rest stays in it.
class limited_source final : public source {
public:
    limited_source(source& from, std::uint64_t limit) noexcept : from_(&from), left_(limit) {}
    task<std::expected<std::size_t, error>> read_some(std::span<char> into) override;
    /// The number of bytes that may still come.
    std::uint64_t left() const noexcept { return left_; }

private:
    source* from_;
    std::uint64_t left_;
};

/// Counts what is read through it.
class counted_source final : public source {
public:
    explicit counted_source(source& from) noexcept : from_(&from) {}
    task<std::expected<std::size_t, error>> read_some(std::span<char> into) override;
    task<std::expected<std::size_t, error>> fill(buffer& into, std::size_t capacity) override;
    std::uint64_t bytes() const noexcept { return bytes_; }

private:
    source* from_;
    std::uint64_t bytes_ = 0;
};

/// Counts what has been written through it, of failed writes nothing.
class counted_sink final : public sink {
public:
    explicit counted_sink(sink& to) noexcept : to_(&to) {}
    task<std::expected<void, error>> write(std::span<slice> pieces) override;
    task<std::expected<void, error>> flush() override { return to_->flush(); }
    std::uint64_t bytes() const noexcept { return bytes_; }

private:
    sink* to_;
    std::uint64_t bytes_ = 0;
};

/// Writes what is read through it to a sink as well, before it gives it. When that fails the read
/// fails, and what was read is lost.
class tee_source final : public source {
public:
    tee_source(source& from, sink& copy) noexcept : from_(&from), copy_(&copy) {}
    task<std::expected<std::size_t, error>> read_some(std::span<char> into) override;

private:
    source* from_;
    sink* copy_;
};

/// Writes everything to two sinks, first to the one and then to the other.
class tee_sink final : public sink {
public:
    tee_sink(sink& first, sink& second) noexcept : first_(&first), second_(&second) {}
    task<std::expected<void, error>> write(std::span<slice> pieces) override;
    task<std::expected<void, error>> flush() override;

private:
    sink* first_;
    sink* second_;
};

/// Several sources, one after the other.
class concatenated_source final : public source {
public:
    explicit concatenated_source(std::vector<source*> all) noexcept : all_(std::move(all)) {}
    template <std::derived_from<source>... Sources>
        requires(sizeof...(Sources) >= 2)
    explicit concatenated_source(Sources&... all) : all_{&all...} {}
    task<std::expected<std::size_t, error>> read_some(std::span<char> into) override;
    task<std::expected<std::size_t, error>> fill(buffer& into, std::size_t capacity) override;

private:
    std::vector<source*> all_;
    std::size_t current_ = 0;
};

/// The bytes that a reader has not consumed, and those that follow.
class reader_source final : public source {
public:
    explicit reader_source(reader& from) noexcept : from_(&from) {}
    task<std::expected<std::size_t, error>> read_some(std::span<char> into) override;

private:
    reader* from_;
};

/// Writes after the bytes that a writer holds. `flush` flushes the writer, `finish` does not end
/// its sink.
class writer_sink final : public sink {
public:
    explicit writer_sink(writer& to) noexcept : to_(&to) {}
    task<std::expected<void, error>> write(std::span<slice> pieces) override;
    task<std::expected<void, error>> flush() override;

private:
    writer* to_;
};

}  // namespace coracle::io
