#pragma once

namespace coracle {

/// The value of a task without a value, where one is needed.
struct unit {
    friend bool operator==(unit, unit) noexcept { return true; }
};

}  // namespace coracle
