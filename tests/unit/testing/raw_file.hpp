#pragma once

// Operations on files as a backend has them, without the layer that users see.

#include <coracle/runtime/file_operation.hpp>
#include <coracle/runtime/operation.hpp>

#include <cstdint>

namespace simulated {

using namespace coracle;

class raw_file final : public coracle::detail::leaf<raw_file, std::int64_t>, public file_operation {
public:
    static constexpr const char* name = "file";
    explicit raw_file(file_action a) noexcept : file_operation(a, &done) {}
    bool start() { return owner().backend().submit(*this); }
    void cancel() noexcept override { owner().backend().cancel(*this); }
    std::expected<std::int64_t, error> result() const { return io_operation::result; }

private:
    static void done(io_operation& op) noexcept {
        auto& self = static_cast<raw_file&>(static_cast<file_operation&>(op));
        if (op.result == -ECANCELED) self.mark_cancelled();
        self.complete();
    }
};

}  // namespace simulated
