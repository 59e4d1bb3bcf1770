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

/// Why there is no connection through a proxy.
struct refusal {
    std::error_code code;
    std::string detail;  ///< may be empty
};

/// What we and a proxy say to each other until it passes bytes on, without input and output: send
/// `output`, tell so with `sent`, give what comes to `take`, until it is open or refused.
class dialogue {
public:
    /// `again`: on a new connection, with what the proxy has asked for.
    enum class status : std::uint8_t { talks, open, refused, again };

    virtual ~dialogue() = default;
    dialogue(const dialogue&) = delete;
    dialogue& operator=(const dialogue&) = delete;

    /// What has to be sent before anything is taken; may hold a password.
    std::string_view output() const noexcept { return output_; }
    /// It has been, and is overwritten.
    void sent() noexcept;

    /// Takes bytes of the proxy, at least one while it talks: gives how many. The rest is for
    /// later, or, once it is open, the target's. Not while there is output.
    virtual std::size_t take(std::string_view bytes) = 0;

    status state() const noexcept { return status_; }
    /// Once refused.
    const refusal& why() const noexcept { return why_; }

protected:
    dialogue() = default;

    /// Makes room for `size` bytes, so that none is left behind elsewhere, and gives it.
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

/// What to say to this proxy, so that it connects to `host`: a name, or an IP address without
/// brackets. Refuses at once what its protocol cannot say. `answered` is how many of its challenges
/// were.
std::expected<std::unique_ptr<dialogue>, refusal> make_dialogue(const proxy& p,
                                                                std::string_view host,
                                                                std::uint16_t port,
                                                                unsigned answered = 0);

}  // namespace coracle::connect
