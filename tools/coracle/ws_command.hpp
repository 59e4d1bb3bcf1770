#pragma once

#include <coracle/http/client_options.hpp>
#include <coracle/runtime/clock.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::tool {

/// Exit codes that are the command's own; others are those of `get`.
enum ws_exit : int {
    ws_ok = 0,
    ws_cannot_listen = 1,
    ws_bad_scheme = 1,
    ws_usage = 2,
    ws_malformed = 8,     ///< the response to the handshake is none
    ws_ended_early = 18,  ///< before the messages of --close-after
    ws_refused = 22,      ///< a status that does not switch to WebSocket
    ws_write_error = 23,  ///< standard output cannot be written
    ws_read_error = 26,   ///< standard input or a file cannot be read, or has no text
    ws_out_of_time = 28,  ///< --max-time
    ws_abnormal = 101,    ///< lost, or ended without a closing handshake
    ws_other_code = 102,  ///< closed by the server with a code that says something went wrong
    ws_interrupted = 130,
};

/// The settings of `coracle ws`.
struct ws_settings {
    std::string url;
    std::optional<std::string> listen;  ///< an address: echoes in place of connecting
    http::client_options client;
    http::pool_options pool;
    std::vector<std::pair<std::string, std::string>> fields;
    std::vector<std::string> subprotocols;
    bool compress = true;
    bool json = false;
    bool raw_binary = false;
    bool reads_input = true;
    std::uint64_t close_after = 0;  ///< messages received; 0: unlimited
    /// Silence after the end of the input, behind which it closes. Nothing: none on a terminal,
    /// else one second.
    std::optional<duration> linger;
    duration ping{};      ///< zero: no pings but the usual ones
    duration max_time{};  ///< zero: unlimited
};

/// Connects, sends and receives until the connection ends; or echoes until a signal. Returns the
/// exit code. Throws `failure` for settings that no connection can have.
int ws(const ws_settings& settings);

}  // namespace coracle::tool
