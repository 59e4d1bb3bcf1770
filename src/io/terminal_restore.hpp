#pragma once

#include <termios.h>

namespace coracle::io {

/// Terminals that have to be put back into the modes that they had, whichever way the program ends.
/// The only state of the process that the library keeps: a handler of a signal finds nothing else.

/// Notes that `before` is what `fd`, which stays open until it is taken back, goes back to. Its
/// slot, or negative when all are taken.
int remember_mode(int fd, const termios& before) noexcept;
/// Puts it back, closes the descriptor and frees the slot.
void take_back_mode(int slot) noexcept;

/// Sets a mode also from the background, where that would stop the program.
int set_terminal_mode(int fd, const termios& mode) noexcept;

}  // namespace coracle::io
