#pragma once

// The mail that both clients send.

#include <string>

namespace bench {

inline constexpr const char* mail_sender = "ada@x.example";
inline constexpr const char* mail_recipient = "bob@y.example";

// A mail of 4 KiB, as it goes over the wire.
inline std::string small_mail() {
    std::string mail =
        "Date: Wed, 25 Nov 2026 01:00:00 +0000\r\nFrom: Ada <ada@x.example>\r\n"
        "To: Bob <bob@y.example>\r\nSubject: 4 KiB\r\nMessage-ID: <1@x.example>\r\n"
        "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=us-ascii\r\n\r\n";
    while (mail.size() < 4096 - 72) mail += std::string(70, 'x') + "\r\n";
    return mail;
}

}  // namespace bench
