#include <coracle/runtime/readiness.hpp>

#include <cerrno>

namespace coracle {

bool readiness::start() noexcept {
    if (!owner().backend().submit(*this)) return false;
    if (owner().may_complete_inline()) return true;
    owner().complete_later(*this);
    return false;
}

void readiness::cancel() noexcept {
    owner().backend().cancel(*this);
}

void readiness::done(io_operation& op) noexcept {
    auto& self = static_cast<readiness&>(op);
    if (op.result == -ECANCELED) self.mark_cancelled();
    self.complete();
}

std::expected<void, error> readiness::result() const {
    if (io_operation::result >= 0) return {};
    const int number = static_cast<int>(-io_operation::result);
    return std::unexpected(error(std::error_code(number, std::generic_category()), name));
}

}  // namespace coracle
