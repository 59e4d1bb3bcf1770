#include "tls/file_times.hpp"

#include "tls/openssl.hpp"

#include <sys/stat.h>

#include <string>

namespace coracle::tls::detail {

std::vector<std::int64_t> file_times(std::span<const std::string_view> sources) {
    std::vector<std::int64_t> times;
    for (const std::string_view path : sources) {
        struct stat s{};
        const bool there =
            !path.empty() && !is_inline(path) && ::stat(std::string(path).c_str(), &s) == 0;
        times.push_back(there ? std::int64_t{s.st_mtim.tv_sec} : 0);
        times.push_back(there ? std::int64_t{s.st_mtim.tv_nsec} : 0);
        times.push_back(there ? static_cast<std::int64_t>(s.st_ino) : 0);
        times.push_back(there ? static_cast<std::int64_t>(s.st_size) : 0);
    }
    return times;
}

}  // namespace coracle::tls::detail
