#pragma once

#include <coracle/base/unique_function.hpp>
#include <coracle/http/client.hpp>
#include <coracle/http/status.hpp>
#include <coracle/runtime/operation.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace coracle::http {

struct download_options {
    /// Goes on with what an earlier download left in PATH.part, when the server still has the same
    /// and gives parts of it. Default true.
    bool resume = true;
    /// The most requests for the rest after the response broke off, counted anew once a MiB has
    /// come. Default 3.
    unsigned retries = 3;
    /// The wait before the first of them; twice as long before each further one, up to 30 s.
    /// Default 500 ms.
    duration delay = std::chrono::milliseconds(500);
    /// Completes when the file is on the disk, and survives a crash. Default: when others see it.
    bool durable = false;
    /// Called with every request before it is sent: credentials, fields, timeouts.
    unique_function<void(call&)> prepare{};
    /// Called as the file grows: its bytes, and how many it will have, when the server said so.
    unique_function<void(std::uint64_t, std::optional<std::uint64_t>)> progress{};
};

/// The outcome of a download.
struct downloaded {
    /// The status of the response. Nothing was saved unless `ok()`.
    http::status status = http::status::ok;
    std::uint64_t size = 0;      ///< bytes of the file
    std::uint64_t received = 0;  ///< of them that came now
    unsigned requests = 0;

    bool ok() const noexcept {
        return static_cast<unsigned>(status) >= 200 && static_cast<unsigned>(status) < 300;
    }
};

/// Gets `url` and makes it the file `path`, which appears when all of it is there. Until then the
/// bytes are in PATH.part; when the response breaks off, the rest is requested (Range and If-Range,
/// RFC 9110 sections 13.1.5 and 14.2), so that bytes of two versions never get mixed. It accepts no
/// content coding; what comes coded all the same is saved as it came, and not resumed. A symbolic
/// link stays, and its target is replaced; a device, a FIFO or a socket is refused with
/// `operation_not_supported`. The client must live until it has completed.
///
/// Resumes from the loop. A response of another status than success is no error: it is in the
/// result, and the old file stays. Fails as a call and `response::read` do once the retries are
/// used up, as files do, and with `std::errc::device_or_resource_busy` while another download
/// writes PATH.part. Failed or cancelled, PATH.part stays for a later download where that can go
/// on: the server named a strong validator, and the file system has extended attributes to keep it
/// in (that of a simulation has none); elsewhere it is removed.
operation<downloaded> download(client& from, std::string url, std::string path,
                               download_options options = {});

}  // namespace coracle::http
