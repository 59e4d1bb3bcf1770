#pragma once

#include <string>

namespace coracle {

class loop;

/// Returns every live task of `l` as an indented tree, a line each: its name, what it waits for,
/// and for how long. A task stands below the one that started it. On the loop's thread: `post` it
/// there.
std::string dump_tasks(loop& l);

}  // namespace coracle
