#include "base/exception_text.hpp"

#include <coracle/runtime/spawn.hpp>

#include <string>

namespace coracle::detail {

void log_unhandled(loop& owner, const char* name, std::exception_ptr e) noexcept {
    try {
        owner.log().write(
            log_layer::runtime, log_level::error,
            std::string("task ") + name + " ended by an exception: " + describe_exception(e));
    } catch (...) {
        owner.log().write(log_layer::runtime, log_level::error, "a task ended by an exception");
    }
}

}  // namespace coracle::detail
