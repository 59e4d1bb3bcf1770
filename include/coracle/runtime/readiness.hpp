#pragma once

#include <coracle/runtime/operation.hpp>

namespace coracle {

/// The awaitable returned by `readable` and `writable`.
class [[nodiscard]] readiness final : public detail::leaf<readiness, void>, foreign_operation {
public:
    static constexpr const char* name = "readiness";
    readiness(opcode direction, int number) noexcept : foreign_operation(direction, &done) {
        fd = number;
    }
    bool start() noexcept;
    void cancel() noexcept override;
    std::expected<void, error> result() const;

private:
    static void done(io_operation& op) noexcept;
};

/// Completes when `fd`, which the caller owns, can be read without blocking, or has an error or an
/// end to report. The descriptor must stay open until then. One wait a direction at a time (EBUSY).
/// Resumes from the loop. Cancelling it leaves the descriptor as it was.
inline readiness readable(int fd) noexcept {
    return {opcode::readable, fd};
}

/// Completes when `fd` can be written without blocking, or has an error to report. Otherwise as
/// `readable`.
inline readiness writable(int fd) noexcept {
    return {opcode::writable, fd};
}

}  // namespace coracle
