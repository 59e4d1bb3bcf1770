#include <coracle/base/version.hpp>

namespace coracle {

const char* version() noexcept {
    return CORACLE_VERSION;  // defined for this file by CMakeLists.txt
}

}  // namespace coracle
