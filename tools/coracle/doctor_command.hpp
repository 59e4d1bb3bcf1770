#pragma once

namespace coracle::tool {

/// Prints the abilities of this machine as a server, and what to change.
void doctor();

}  // namespace coracle::tool
