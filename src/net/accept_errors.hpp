#pragma once

#include <coracle/base/error.hpp>

namespace coracle::net::detail {

inline bool is_out_of_descriptors(const error& e) noexcept {
    return e == std::errc::too_many_files_open || e == std::errc::too_many_files_open_in_system;
}

/// Returns true for failures of accept(2) that pass when others give back what they hold.
inline bool is_out_of_resources(const error& e) noexcept {
    return is_out_of_descriptors(e) || e == std::errc::no_buffer_space ||
           e == std::errc::not_enough_memory ||
           e == std::errc::no_space_on_device;  // of epoll(7), at its limit of watches
}

}  // namespace coracle::net::detail
