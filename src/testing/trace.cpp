// The record of a simulated run: a hash always, lines on request.

#include "testing/world.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace coracle::testing::detail {
namespace {

const char* describe(event_kind kind) noexcept {
    switch (kind) {
        case event_kind::bytes: return "bytes";
        case event_kind::finish: return "end";
        case event_kind::reset: return "reset";
        case event_kind::room: return "room";
        case event_kind::call: return "call";
        case event_kind::established: return "established";
        case event_kind::refused: return "refused";
        case event_kind::doom: return "fault falls due";
        case event_kind::poke:
        case event_kind::poke_listener:
        case event_kind::poke_socket: return "tries again";
        case event_kind::datagram:
        case event_kind::late_datagram: return "datagram";
        case event_kind::resolved: return "response to a name query";
        case event_kind::file_happens:
        case event_kind::file_reported: return "file";
    }
    return "";
}

const char* describe(file_action action) noexcept {
    switch (action) {
        case file_action::open: return "open";
        case file_action::close: return "close";
        case file_action::read: return "read";
        case file_action::write: return "write";
        case file_action::sync: return "sync";
        case file_action::allocate: return "allocate";
        case file_action::truncate: return "truncate";
        case file_action::status: return "status";
        case file_action::set_mode: return "set mode";
        case file_action::set_times: return "set times";
        case file_action::make_directory: return "make directory";
        case file_action::remove: return "remove";
        case file_action::rename: return "rename";
        case file_action::link: return "link";
        case file_action::symlink: return "symlink";
        case file_action::read_link: return "read link";
        case file_action::list: return "list";
        case file_action::copy_range: return "copy range";
        case file_action::lock: return "lock";
    }
    return "";
}

/// The first of the bytes, so that a line stays a line.
std::string excerpt(std::string_view bytes) {
    constexpr std::size_t most = 48;
    std::string text = "\"";
    for (const char c : bytes.substr(0, most)) {
        if (c == '\r') {
            text += "\\r";
        } else if (c == '\n') {
            text += "\\n";
        } else if (c == '"' || c == '\\') {
            text += '\\';
            text += c;
        } else if (c >= ' ' && c <= '~') {
            text += c;
        } else {
            char code[5];
            std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned>(c) & 0xff);
            text += code;
        }
    }
    return text + (bytes.size() > most ? "\"..." : "\"");
}

}  // namespace

void world::mix(std::uint64_t word) noexcept {
    trace_ = (trace_ << 5 | trace_ >> 59) ^ word;
    trace_ *= 0x9e3779b97f4a7c15;
    trace_ ^= trace_ >> 29;
}

void world::mix(std::string_view bytes) noexcept {
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
        mix(word);
    }
}

void world::note(const event& e, std::uint64_t id, std::string_view bytes) {
    mix(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
    mix(static_cast<std::uint64_t>(e.kind) << 56 ^ static_cast<std::uint64_t>(e.towards) << 48 ^
        id);
    mix(e.amount);
    mix(bytes);
    if (options.trace == nullptr) return;
    std::string line;
    if (id != 0) line = "connection " + std::to_string(id) + ", ";
    if (id != 0) line += e.towards == side::client ? "client: " : "server: ";
    line += describe(e.kind);
    if (e.amount != 0) line += ' ' + std::to_string(e.amount);
    if (!bytes.empty()) line += ' ' + excerpt(bytes);
    tell(line);
}

void world::note_file(const file_operation& op, std::int64_t result) {
    mix(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
    mix(static_cast<std::uint64_t>(op.action));
    mix(static_cast<std::uint64_t>(result));
    mix(op.path);
    mix(op.other_path);
    std::string line = std::string("file ") + describe(op.action);
    if (*op.path != '\0') line.append(" ").append(op.path);
    if (*op.other_path != '\0') line.append(" to ").append(op.other_path);
    if (*op.path == '\0') line.append(" of ").append(std::to_string(op.fd));
    tell(line.append(": ").append(std::to_string(result)));
}

void world::note_turn(unsigned loop) {
    mix(loop);
    if (options.trace != nullptr) tell("loop " + std::to_string(loop));
}

void world::tell(const std::string& line) {
    if (options.trace == nullptr) return;
    char time[32];
    const long long ns = elapsed().count();
    std::snprintf(time, sizeof time, "%lld.%09lld ", ns / 1'000'000'000, ns % 1'000'000'000);
    options.trace(options.trace_user, time + line);
}

}  // namespace coracle::testing::detail
