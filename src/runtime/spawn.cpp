#include <coracle/runtime/spawn.hpp>

#include <string>

namespace coracle::detail {

void log_unhandled(loop& owner, const char* name, std::exception_ptr e) noexcept {
    try {
        std::rethrow_exception(e);
    } catch (const std::exception& x) {
        owner.log().write(log_layer::runtime, log_level::error,
                          std::string("task ") + name + " ended by an exception: " + x.what());
    } catch (...) {
        owner.log().write(log_layer::runtime, log_level::error,
                          std::string("task ") + name + " ended by an unknown exception");
    }
}

}  // namespace coracle::detail
