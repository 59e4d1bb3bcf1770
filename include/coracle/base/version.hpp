#pragma once

namespace coracle {

/// The version of the headers that a program is compiled with. The build fails unless it is the
/// version in CMakeLists.txt.
inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;

/// The version of the library that a program runs with, as "major.minor.patch". The characters live
/// as long as the program; safe from any thread.
const char* version() noexcept;

}  // namespace coracle
