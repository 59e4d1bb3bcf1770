#include "base/unprintable.hpp"

#include <coracle/base/error.hpp>

#include <cerrno>

namespace coracle {
namespace {

class category final : public std::error_category {
public:
    const char* name() const noexcept override { return "coracle"; }

    std::string message(int value) const override {
        switch (static_cast<errc>(value)) {
            case errc::end_of_stream: return "the peer closed the connection";
            case errc::limit_exceeded: return "a limit was exceeded";
            case errc::protocol_error: return "the peer broke the protocol";
            case errc::shutting_down: return "shutting down";
            case errc::too_slow: return "the peer is too slow";
            case errc::unknown_option: return "unknown option";
            case errc::unexpected_end: return "it ended too early";
            case errc::no_loop:
                return "no loop runs on this thread; call it in a task, as of block_on";
            case errc::already_exists: return "it exists already";
            case errc::no_value: return "a path of it ends without co_return";
        }
        return "unknown error";
    }
};

void append_detail(std::string& text, std::string_view name, std::uint64_t value) {
    text += ", ";
    text += name;
    text += ' ';
    text += std::to_string(value);
}

}  // namespace

const std::error_category& coracle_category() noexcept {
    static const category instance;
    return instance;
}

std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), coracle_category()};
}

std::string_view to_string(phase p) noexcept {
    switch (p) {
        case phase::none: return "";
        case phase::resolve: return "resolve";
        case phase::connect: return "connect";
        case phase::proxy: return "proxy";
        case phase::tls: return "tls";
        case phase::send: return "send";
        case phase::first_byte: return "first byte";
        case phase::receive: return "receive";
        case phase::close: return "close";
    }
    return "";
}

std::string_view advice(const std::error_code& code) noexcept {
    if (code.category() != std::generic_category() && code.category() != std::system_category()) {
        return {};
    }
    switch (code.value()) {
        case ENOSPC: return "free space on its file system, or write elsewhere";
        case EDQUOT: return "free space of this user, or have the quota raised";
        case EFBIG: return "write less, or raise the limit of the size of files (ulimit -f)";
        case EROFS: return "write elsewhere, or mount it writable";
        case EIO: return "look into the system's log: the device or its file system fails";
        case EACCES:
        case EPERM: return "check who may use it, or run as a user who may";
        case EMFILE: return "close some, or raise the limit of open files (ulimit -n)";
        case ENFILE: return "close some: the whole system has no more (fs.file-max)";
        case ETXTBSY: return "end the program that runs it, or replace it by a rename";
        case ENOTEMPTY: return "remove what is in it first";
        default: return {};
    }
}

error& error::on(std::string_view subject) {
    auto more = extras_ ? extras_->more : nullptr;
    extras_ = std::make_shared<const extras>(extras{std::string(subject), std::move(more)});
    return *this;
}

error& error::with(std::shared_ptr<const error_details> more) {
    extras_ = std::make_shared<const extras>(extras{std::string(subject()), std::move(more)});
    return *this;
}

std::string error::message() const {
    std::string text(operation_);
    if (extras_ && !extras_->subject.empty()) {
        if (!text.empty()) text += ' ';
        text += detail::escape_unprintable(extras_->subject);
    }
    if (!text.empty()) text += ": ";
    text += code_.message();
    if (phase_ != phase::none) {
        text += ", phase ";
        text += to_string(phase_);
    }
    if (attempt_ != 0) append_detail(text, "attempt", attempt_);
    if (details() != nullptr) {
        details()->describe(text);
    } else if (bytes_ != 0) {
        append_detail(text, "bytes", bytes_);
    }
    if (safe_to_retry_) text += ", safe to retry";
    if (const std::string_view what = advice(code_); !what.empty()) {
        text += "; ";
        text += what;
    }
    return text;
}

exception::exception(coracle::error e)
    : std::system_error(e.code()), error_(std::move(e)),
      text_(std::make_shared<const std::string>(error_.message())) {}

void throw_exception(error e) {
    throw exception(std::move(e));
}

}  // namespace coracle
