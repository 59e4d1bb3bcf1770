#include <coracle/base/error.hpp>
#include <coracle/runtime/task.hpp>

namespace coracle {

std::exception_ptr detail::no_value() noexcept {
    return std::make_exception_ptr(exception(error(errc::no_value, "task")));
}

}  // namespace coracle
