#include <coracle/net/byte_stream.hpp>

namespace coracle::net {

namespace {

error failure_of(const io_operation& op, const char* name, phase where, const byte_stream& stream) {
    error e(stream.code_of(op.result), name, where);
    return std::move(e.on(stream.subject()));
}

}  // namespace

std::expected<buffer, error> receive::result() {
    if (io_operation::result > 0) return std::move(into);
    if (io_operation::result == 0) {
        return std::unexpected(error(errc::end_of_stream, name, phase::receive));
    }
    return std::unexpected(failure_of(*this, name, phase::receive, *stream_));
}

std::expected<std::size_t, error> send::result() {
    if (io_operation::result >= 0) return static_cast<std::size_t>(sent);
    return std::unexpected(failure_of(*this, name, phase::send, *stream_)
                               .after_bytes(static_cast<std::uint64_t>(sent)));
}

std::expected<std::size_t, error> send_file::result() {
    if (io_operation::result >= 0) return static_cast<std::size_t>(sent);
    return std::unexpected(failure_of(*this, name, phase::send, *stream_)
                               .after_bytes(static_cast<std::uint64_t>(sent)));
}

}  // namespace coracle::net
