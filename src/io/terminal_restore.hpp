#pragma once

#include <termios.h>

namespace coracle::io {

/// The terminals whose modes must be restored, however the program ends. This is the only global
/// state of the library, because a signal handler can reach nothing else.

/// Records the mode `before` of `fd`, which must stay open, to be restored. With `hides`, typed
/// characters are dropped first when the program ends. Returns the slot, or a negative number if
/// all are in use.
int remember_mode(int fd, const termios& before, bool hides) noexcept;
/// Restores the mode, closes the descriptor and frees the slot.
void take_back_mode(int slot) noexcept;

/// Sets a mode also from the background, where that would stop the program.
int set_terminal_mode(int fd, const termios& mode) noexcept;

/// Drops typed characters that were not read, also from the background.
void drop_typed(int fd) noexcept;

}  // namespace coracle::io
