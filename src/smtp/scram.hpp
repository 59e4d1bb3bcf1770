#pragma once

#include "smtp/sasl.hpp"

namespace coracle::smtp::detail {

/// A statement about the channel (RFC 5802 section 6).
enum class scram_binding : std::uint8_t {
    none,      ///< "n": we cannot bind to it
    possible,  ///< "y": we could, and think that the server cannot
    used,      ///< "p=tls-exporter"
};

/// SCRAM-SHA-256 (RFC 5802, RFC 7677).
std::unique_ptr<sasl_exchange> make_scram(const credentials& who, scram_binding binding,
                                          channel_binding channel,
                                          const std::uint64_t (&random)[2]);

}  // namespace coracle::smtp::detail
