#include "doctor_command.hpp"

#include <coracle/base/version.hpp>
#include <coracle/runtime/backend_report.hpp>

#include <sys/resource.h>
#include <sys/utsname.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

namespace coracle::tool {
namespace {

void line(const char* name, const std::string& value, const std::string& advice = {}) {
    std::printf("  %-24s %s\n", name, value.c_str());
    if (!advice.empty()) std::printf("  %-24s -> %s\n", "", advice.c_str());
}

void print_machine() {
    utsname system{};
    ::uname(&system);
    std::printf("coracle %s\n\nmachine\n", version());
    line("kernel", std::string(system.sysname) + ' ' + system.release + ' ' + system.machine);
    line("cores", std::to_string(std::thread::hardware_concurrency()));
}

void print_backend(const backend_status& s) {
    line(std::string(to_string(s.kind)).c_str(), s.usable ? "works" : "no: " + s.why_not);
    for (const backend_feature& f : s.features) {
        std::printf("    %s %s: %s\n", f.used ? "+" : "-", f.name.c_str(), f.effect.c_str());
    }
}

void print_backends() {
    const backend_report r = probe_backends();
    std::printf("\nbackends\n");
    for (const backend_status& s : r.backends) print_backend(s);
    line("chosen", std::string(to_string(r.chosen)) + ": " + r.why);
}

std::string text_of(rlim_t n) {
    return n == RLIM_INFINITY ? "unlimited" : std::to_string(n);
}

/// Reads the numbers in a file below /proc/sys.
std::optional<std::uint64_t> kernel_setting(const char* path, std::uint64_t* second = nullptr) {
    std::ifstream in(path);
    std::uint64_t n = 0;
    if (!(in >> n)) return std::nullopt;
    if (second != nullptr) in >> *second;
    return n;
}

void print_descriptors() {
    constexpr rlim_t comfortable = 65'536;
    rlimit r{};
    ::getrlimit(RLIMIT_NOFILE, &r);
    const std::string value =
        text_of(r.rlim_cur) + " (may be raised to " + text_of(r.rlim_max) + ')';
    line("open descriptors", value,
         r.rlim_max < comfortable
             ? "each connection takes one: LimitNOFILE= in the service, or nofile in limits.conf"
             : "");
}

void print_locked_memory() {
    rlimit r{};
    ::getrlimit(RLIMIT_MEMLOCK, &r);
    line("locked memory", text_of(r.rlim_cur) + (r.rlim_cur == RLIM_INFINITY ? "" : " bytes"));
}

void print_ports() {
    constexpr std::uint64_t few = 20'000;
    std::uint64_t last = 0;
    const auto first = kernel_setting("/proc/sys/net/ipv4/ip_local_port_range", &last);
    if (!first) return;
    line("ports for clients", std::to_string(*first) + " to " + std::to_string(last),
         last - *first < few
             ? "bounds the connections to one peer: net.ipv4.ip_local_port_range = 1024 65535"
             : "");
}

void print_queues() {
    constexpr std::uint64_t wanted = 4096;
    const auto accept = kernel_setting("/proc/sys/net/core/somaxconn");
    if (accept) {
        line(
            "accept queue", std::to_string(*accept),
            *accept < wanted ? "a burst of connections is dropped: net.core.somaxconn = 4096" : "");
    }
    const auto syn = kernel_setting("/proc/sys/net/ipv4/tcp_max_syn_backlog");
    if (syn) {
        line("half-open connections", std::to_string(*syn),
             *syn < 1024 ? "net.ipv4.tcp_max_syn_backlog = 4096" : "");
    }
}

}  // namespace

void doctor() {
    print_machine();
    print_backends();
    std::printf("\nlimits\n");
    print_descriptors();
    print_locked_memory();
    print_ports();
    print_queues();
}

}  // namespace coracle::tool
