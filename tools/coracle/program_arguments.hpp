#pragma once

#include <string_view>

namespace coracle::tool {

/// Notes the arguments of this process, which every user of the machine can read (ps(1)).
void note_arguments(int argc, char** argv) noexcept;
/// Overwrites this value of an option. Others may have read it before.
void hide_argument(std::string_view secret) noexcept;

}  // namespace coracle::tool
