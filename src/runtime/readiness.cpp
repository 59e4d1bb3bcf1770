#include <coracle/runtime/readiness.hpp>

#include <cerrno>

namespace coracle {

bool readiness::start() noexcept {
    return may_begin() && owner().backend().submit(*this);
}

void readiness::cancel() noexcept {
    if (withdrawn_before_start()) return;
    // A wait that has completed and not resumed yet is cancelled too: its task would take the event
    // from a task that still wants it.
    mark_cancelled();
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
