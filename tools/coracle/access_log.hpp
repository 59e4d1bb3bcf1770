#pragma once

#include <coracle/http/server.hpp>

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace coracle::tool {

/// One line in the common log format, with its line feed. Whatever a client chose is escaped, so it
/// can neither end the line nor the quotes around the request.
std::string common_log_line(const http::access_record& record);

/// Writes a line for each answer, with one write(2), to a file or to standard output.
/// `http::access_log` calls it from every loop.
class access_log {
public:
    /// Appends to the file `path`; empty or "-" is standard output. Throws `exception` when it
    /// cannot be opened.
    explicit access_log(const std::string& path);

    static void write(void* self, const http::access_record& record);

private:
    struct closer {
        void operator()(std::FILE* f) const noexcept;
    };
    std::unique_ptr<std::FILE, closer> file_;
    std::mutex one_line_;
};

}  // namespace coracle::tool
