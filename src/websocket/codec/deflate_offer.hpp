#pragma once

#include <coracle/websocket/compression.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace coracle::websocket::detail {

/// The parameters that both sides agreed on (RFC 7692 section 7.1).
struct deflate_agreement {
    bool server_no_context = false;
    bool client_no_context = false;
    int server_window_bits = 15;
    int client_window_bits = 15;

    friend bool operator==(const deflate_agreement&, const deflate_agreement&) = default;
};

/// The reply of a server to a client's Sec-WebSocket-Extensions.
struct deflate_choice {
    bool malformed = false;                      ///< the field is malformed (RFC 6455 section 9.1)
    std::optional<deflate_agreement> agreement;  ///< nothing: no acceptable offer
    std::string response;                        ///< the field of the response; may be empty
};

/// Chooses the first offer of permessage-deflate that the server can take. `offers`: the values of
/// all fields, joined by commas.
deflate_choice choose_deflate(std::string_view offers, const compression_options& o);

/// Returns the offer of a client; empty with `compression_mode::off`.
std::string offer_deflate(const compression_options& o);

/// Reads the server's choice. Returns nothing if the response does not match the offer; `chosen` is
/// empty if the server chose no compression.
bool read_deflate_choice(std::string_view response, const compression_options& offered,
                         std::optional<deflate_agreement>& chosen);

}  // namespace coracle::websocket::detail
