#pragma once

namespace coracle::tool {

/// Prints what this machine can do for a server, and what to change.
void doctor();

}  // namespace coracle::tool
