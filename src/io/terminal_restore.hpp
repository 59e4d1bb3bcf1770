#pragma once

#include <termios.h>

namespace coracle::io {

/// Terminals that have to be put back into the modes that they had, whichever way the program ends.
/// The only state of the process that the library keeps: a handler of a signal finds nothing else.

/// Notes that `before` is what `fd`, which stays open until it is taken back, goes back to; when
/// the program ends in a mode that `hides` what is typed, that is dropped first. Its slot, or
/// negative when all are taken.
int remember_mode(int fd, const termios& before, bool hides) noexcept;
/// Puts it back, closes the descriptor and frees the slot.
void take_back_mode(int slot) noexcept;

/// Sets a mode also from the background, where that would stop the program.
int set_terminal_mode(int fd, const termios& mode) noexcept;

/// Drops what was typed and nobody has read, also from the background.
void drop_typed(int fd) noexcept;

}  // namespace coracle::io
