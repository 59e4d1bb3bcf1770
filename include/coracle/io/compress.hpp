#pragma once

#include <coracle/coding/content_coding.hpp>
#include <coracle/io/sink.hpp>
#include <coracle/io/source.hpp>

#include <memory>
#include <optional>

namespace coracle::io {

/// Compresses what is written to it, and writes that to another sink, which must outlive it. What
/// it holds back `flush` makes decodable; only `finish` makes it complete. It lets other tasks run
/// after every 32 KiB.
class compressing_sink final : public sink {
public:
    /// `level` is in the scale of the coding's library: 0 to 9 for gzip and deflate, 0 to 11 for
    /// brotli, 1 to 22 for zstd; beyond an end it is that end. Without one it is 6, 5 and 3, with
    /// small windows. `identity` writes everything as it is.
    explicit compressing_sink(sink& to, coding::content_coding coding,
                              std::optional<int> level = {});
    ~compressing_sink() override;

    task<std::expected<void, error>> write(std::span<slice> pieces) override;
    task<std::expected<void, error>> flush() override;
    task<std::expected<void, error>> finish() override;

private:
    struct state;
    sink* to_;
    std::unique_ptr<state> state_;  ///< null for identity
};

/// Compresses another source, which must outlive it, for use as a source: a body to send, a file to
/// copy. Returns no bytes for a while where the coding waits for more. `level` is as above. It lets
/// other tasks run after every 32 KiB.
class compressing_source final : public source {
public:
    explicit compressing_source(source& from, coding::content_coding coding,
                                std::optional<int> level = {});
    ~compressing_source() override;

    task<std::expected<std::size_t, error>> read_some(std::span<char> into) override;

private:
    struct state;
    source* from_;
    std::unique_ptr<state> state_;  ///< null for identity
};

/// Decompresses another source, which must outlive it. Fails with a `coding::coding_error` when the
/// source is no content of the coding, is cut short, or exceeds a limit, which the error names. No
/// bytes may follow the content. It lets other tasks run after every 32 KiB.
class decompressing_source final : public source {
public:
    explicit decompressing_source(source& from, coding::content_coding coding,
                                  const coding::decoding_limits& limits = {});
    ~decompressing_source() override;

    task<std::expected<std::size_t, error>> read_some(std::span<char> into) override;

private:
    struct state;
    source* from_;
    std::unique_ptr<state> state_;  ///< null for identity
};

}  // namespace coracle::io
