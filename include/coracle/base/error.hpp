#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace coracle {

/// Failures that POSIX has no number for. Everything else is a `std::errc`.
enum class errc {
    end_of_stream = 1,  ///< the peer closed its side in good order
    limit_exceeded,     ///< a named limit of ours was reached
    protocol_error,     ///< the peer broke the rules of the protocol
    shutting_down,      ///< the runtime or the server no longer takes work
    too_slow,           ///< the peer moved fewer bytes than the minimum rate
    unknown_option,     ///< a key that no option has
    unexpected_end,     ///< it ended before all of the requested bytes were there
    no_loop,            ///< it belongs into a task, and no loop runs on this thread
    already_exists,     ///< one of this name, or for the same requests, exists already
    no_value,           ///< a coroutine of `task<T>` ended without co_return
};

const std::error_category& coracle_category() noexcept;
std::error_code make_error_code(errc e) noexcept;

/// The part of a composite operation in which it failed.
enum class phase : std::uint8_t {
    none,
    resolve,
    connect,
    proxy,
    tls,
    send,
    first_byte,
    receive,
    close,
};

std::string_view to_string(phase p) noexcept;

/// Advice on what to do about a failure, where the code alone makes that clear: "free space on its
/// file system, or write elsewhere" for ENOSPC. Empty for others. `error::message` ends with it.
std::string_view advice(const std::error_code& code) noexcept;

/// Details of a failure that only one layer knows, besides what every error has. Immutable.
class error_details {
public:
    error_details() = default;
    error_details(const error_details&) = delete;
    error_details& operator=(const error_details&) = delete;
    virtual ~error_details() = default;
    /// Appends its part to the line of `error::message`: ", sent 93, received 5".
    virtual void describe(std::string& line) const = 0;
};

/// A failure as one small value: the code, the operation, the phase, the subject (a peer or a path)
/// and, where they apply, the attempt, the bytes moved and whether a retry is safe. Copying it
/// never throws. Safe to read from several threads.
class error {
public:
    error() noexcept = default;
    /// `operation` must outlive the error: a string literal.
    error(std::error_code code, const char* operation = "",
          coracle::phase where = coracle::phase::none) noexcept
        : code_(code), operation_(operation), phase_(where) {}
    error(errc code, const char* operation = "",
          coracle::phase where = coracle::phase::none) noexcept
        : error(make_error_code(code), operation, where) {}
    error(std::errc code, const char* operation = "",
          coracle::phase where = coracle::phase::none) noexcept
        : error(std::make_error_code(code), operation, where) {}

    const std::error_code& code() const noexcept { return code_; }
    std::string_view operation() const noexcept { return operation_; }
    coracle::phase phase() const noexcept { return phase_; }
    std::string_view subject() const noexcept {
        return extras_ ? std::string_view(extras_->subject) : std::string_view();
    }
    /// Returns null if there are none.
    const error_details* details() const noexcept {
        return extras_ ? extras_->more.get() : nullptr;
    }
    unsigned attempt() const noexcept { return attempt_; }
    std::uint64_t bytes() const noexcept { return bytes_; }
    bool safe_to_retry() const noexcept { return safe_to_retry_; }

    error& in(coracle::phase p) noexcept {
        phase_ = p;
        return *this;
    }
    /// The peer's address, a path, a name of a limit: what the operation was applied to.
    error& on(std::string_view subject);
    error& with(std::shared_ptr<const error_details> more);
    error& on_attempt(unsigned n) noexcept {
        attempt_ = static_cast<std::uint16_t>(n);
        return *this;
    }
    error& after_bytes(std::uint64_t n) noexcept {
        bytes_ = n;
        return *this;
    }
    error& retry_is_safe(bool yes) noexcept {
        safe_to_retry_ = yes;
        return *this;
    }

    /// Returns all of it in one line; bytes of the subject that cannot be printed are written as
    /// \xhh.
    std::string message() const;

    friend bool operator==(const error& a, const std::error_code& b) noexcept {
        return a.code_ == b;
    }
    friend bool operator==(const error& a, std::errc b) noexcept { return a.code_ == b; }
    friend bool operator==(const error& a, errc b) noexcept {
        return a.code_ == make_error_code(b);
    }

private:
    /// The parts that need memory, in one allocation, so that the common error stays small.
    struct extras {
        std::string subject;
        std::shared_ptr<const error_details> more;
    };

    std::error_code code_;
    const char* operation_ = "";
    std::shared_ptr<const extras> extras_;
    std::uint64_t bytes_ = 0;
    std::uint16_t attempt_ = 0;
    coracle::phase phase_ = coracle::phase::none;
    bool safe_to_retry_ = false;
};

template <class Char, class Traits>
std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out,
                                             const error& e) {
    return out << e.message();
}

/// The exception that an awaited operation throws. Holds the `error`; `what()` is its `message()`.
class exception : public std::system_error {
public:
    explicit exception(coracle::error e);
    const coracle::error& error() const noexcept { return error_; }
    const char* what() const noexcept override { return text_->c_str(); }

private:
    coracle::error error_;
    std::shared_ptr<const std::string> text_;
};

[[noreturn]] void throw_exception(error e);

}  // namespace coracle

template <>
struct std::is_error_code_enum<coracle::errc> : std::true_type {};
