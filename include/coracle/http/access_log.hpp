#pragma once

#include <coracle/fs/line_file.hpp>
#include <coracle/http/server.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http {

enum class access_log_format : std::uint8_t {
    common,    ///< the Common Log Format: client, time, request line, status, bytes of the body
    combined,  ///< the same, with Referer and User-Agent
    json,      ///< one object a line: these, the Host, how long it took, and what was broken off;
               ///< "peer" is that of the connection, "client" as trusted proxies give it
};

std::string_view to_string(access_log_format f) noexcept;
/// Returns the format named "common", "combined" or "json".
std::optional<access_log_format> parse_access_log_format(std::string_view text) noexcept;

/// Bytes of each text of a client (target, Host, Referer, User-Agent) that go into a line; the
/// rest is cut.
inline constexpr std::size_t access_log_text = 8 * 1024;

/// Appends the line of one response, with its line feed, to `out`. All text that a client chose is
/// escaped, so that it can neither end its line nor its quotes, nor reach a terminal: bytes that
/// are not printable ASCII as "\xhh"; in JSON, which is valid UTF-8, as JSON has it. Of the target
/// and the Referer, user, password and the values of a query that have the name of a secret
/// ("token", "api_key") are left out.
void append_access_log_line(std::string& out, access_log_format f, const access_record& record);

struct access_log_options {
    /// A file that is appended to; empty or "-": standard output.
    std::string path;
    access_log_format format = access_log_format::common;
    /// Default: 256 KiB for each loop, written every 200 ms.
    fs::line_file_options lines = {};
};

/// The access log of a server, or of several: a line for each response, from a buffer of each loop,
/// which a thread of the log writes. A request never waits for the disk: while it is full or slow,
/// lines are dropped and counted.
///
///     access_log_file log({.path = "access.log"});
///     options.observe(log);
///
/// Made in a task of a simulation, it writes to the simulated disk (`fs::line_file`).
///
/// It must outlive the server. `reopen` and `counters` may be called from any thread.
class access_log_file {
public:
    /// Throws `exception` when the file cannot be opened.
    explicit access_log_file(access_log_options options);

    /// Writes the line of a response; for `server_options::observe`.
    void observe(const access_record& record);

    /// Opens the path again, for log rotation: see `fs::line_file::reopen`.
    void reopen() noexcept { lines_.reopen(); }
    /// Waits until all is written. Blocks: not on the thread of a loop.
    bool flush(duration most = duration::max()) { return lines_.flush(most); }
    fs::line_file_counters counters() const noexcept { return lines_.counters(); }

private:
    access_log_format format_;
    fs::line_file lines_;
};

}  // namespace coracle::http
