#pragma once

#include <coracle/base/secret.hpp>
#include <coracle/connect/proxy.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace coracle::connect {

/// The reason why there is no connection through a proxy.
struct refusal {
    std::error_code code;
    std::string detail;  ///< may be empty
};

/// The handshake with a proxy, without input and output: send `output`, call `sent`, pass received
/// bytes to `take`, until it is open or refused.
class dialogue {
public:
    /// `again`: to be repeated on a new connection, with the credentials that the proxy demands.
    enum class status : std::uint8_t { talks, open, refused, again };

    virtual ~dialogue() = default;
    dialogue(const dialogue&) = delete;
    dialogue& operator=(const dialogue&) = delete;

    /// The bytes to send before receiving; may contain a password.
    std::string_view output() const noexcept { return output_; }
    /// To be called when the output has been sent: overwrites it.
    void sent() noexcept;

    /// Takes received bytes, at least one unless the handshake has ended, and returns how many. The
    /// rest is for a later call or, once open, from the target. Not while there is output.
    virtual std::size_t take(std::string_view bytes) = 0;

    status state() const noexcept { return status_; }
    /// The reason, once refused.
    const refusal& why() const noexcept { return why_; }

protected:
    dialogue() = default;

    /// Reserves `size` bytes, so that no copy remains in a freed block, and returns the output.
    std::string& begin_output(std::size_t size);
    void open() noexcept { status_ = status::open; }
    void ask_again() noexcept { status_ = status::again; }
    void refuse(std::error_code code, std::string detail = {});
    void malformed(std::string_view what);

private:
    std::string output_;
    refusal why_;
    status status_ = status::talks;
};

/// Makes the dialogue with this proxy, so that it connects to `host`: a name, or an IP address
/// without brackets. Refuses at once parameters that its protocol cannot carry. `repeats` is the
/// number of its challenges so far.
std::expected<std::unique_ptr<dialogue>, refusal> make_dialogue(const proxy& p,
                                                                std::string_view host,
                                                                std::uint16_t port,
                                                                unsigned repeats = 0);

}  // namespace coracle::connect
