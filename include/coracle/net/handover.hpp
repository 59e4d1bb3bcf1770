#pragma once

#include <coracle/base/unique_function.hpp>
#include <coracle/net/inherited.hpp>
#include <coracle/runtime/operation.hpp>

#include <chrono>
#include <expected>
#include <memory>
#include <vector>

// A process gives its listening sockets to the one that takes its place, over a Unix socket
// (SCM_RIGHTS, unix(7)). No connection is lost: both have the sockets for a while, and whatever
// waits there is accepted by one of them.
//
//   old                                    new
//   hand_over(path, sockets) waits
//                                          take_over(path): connects, has the sockets
//   serves on                              opens its server with them
//                                          ready(): "I serve"
//   completes: drain, and end              completes: the path is free for its own hand_over

namespace coracle::net {

/// The sockets of the process before this one. Move-only.
class takeover {
public:
    /// The longest time in which the other process responds. Default of `take_over`: 5 s.
    static constexpr duration default_patience = std::chrono::seconds(5);

    std::vector<inherited_socket> sockets;  ///< to be taken from here
    int process = 0;                        ///< the other one

    /// Lets the other process know, once this one serves, that it may end; completes when it has
    /// given up the path. Destroying this without that leaves it serving as if nothing had
    /// happened. Fails with `timed_out` when it does not respond within 5 s, and as
    /// `unix_socket::receive` where it is gone: this process serves all the same. Cancelling it
    /// leaves open which of the two serves.
    operation<void> ready();

private:
    friend std::expected<takeover, error> take_over(const address& at, duration patience);
    owned_fd connection_;
};

/// Asks the process that waits in `hand_over` at `at` for its sockets. Blocks the thread: for the
/// start of a program, before its loops run. Empty `sockets` where no process waits there. Fails
/// with `timed_out` after `patience`, with `errc::protocol_error` when something else responds,
/// with `permission_denied` when that is the process of another user.
std::expected<takeover, error> take_over(const address& at,
                                         duration patience = takeover::default_patience);

/// Options of `hand_over`.
struct handover_options {
    /// The time that the new process has for its start, from connecting to `ready`; after it the
    /// next one is waited for. Default 60 s.
    duration patience = std::chrono::seconds(60);
};

/// Gives the sockets of this process: called for each process that asks. They stay open here until
/// the function that gave them closes its own; what it returns is closed after it was sent.
using sockets_to_hand_over = unique_function<std::expected<std::vector<inherited_socket>, error>()>;

/// Waits at `at`, a Unix path, for the process that takes the place of this one, gives it the
/// sockets, and completes when it serves, with its process id: then drain. Processes of other users
/// than this one's and root are refused. One that ends before it is ready costs nothing. `sockets`
/// is called on the loop that awaits this. Fails when `at` cannot be listened at. Cancelling it
/// frees the path.
operation<int> hand_over(const address& at, sockets_to_hand_over sockets,
                         const handover_options& options = {});

}  // namespace coracle::net
