#include "fs/part_file.hpp"

#include "fs/kept_permissions.hpp"
#include "fs/late_failure.hpp"
#include "fs/replacement.hpp"

#include <coracle/fs/names.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/spawn.hpp>

#include <sys/xattr.h>

#include <array>
#include <exception>
#include <utility>

namespace coracle::fs::detail {
namespace {

using nothing = std::expected<void, error>;

constexpr const char* attribute = "user.coracle.validator";
constexpr std::size_t longest_validator = 1024;

/// Descriptors of a simulated disk mean nothing to the system. Simulated files have no attributes
/// either.
bool numbers_are_of_the_system() noexcept {
    return loop::current()->backend().is_of_the_system();
}

}  // namespace

part_file::part_file(std::string path) : path_(std::move(path)), part_(path_ + ".part") {}

part_file::~part_file() {
    if (!file_ || !is_ours_ || (kept_ && size_ != 0)) return;
    try {
        // The lock is released last, after the removal.
        spawn([locked = std::move(file_), name = part_] { return remove_temporary(name); });
    } catch (const std::exception&) {
        return;  // no memory: it stays
    }
}

task<nothing> part_file::open(bool keep) {
    auto target = co_await replaceable(path_);
    if (!target) co_return std::unexpected(std::move(target).error());
    path_ = *std::move(target);
    part_ = path_ + ".part";
    auto asking = link_status(path_);
    const auto old = co_await as_result(asking);
    // The file to be replaced may be for few; so is the part.
    const bool replaces = old && old->kind == file_kind::regular;
    const unsigned mode = replaces ? (old->mode & 0777U) | 0600U : 0666U;
    auto opening = fs::open(part_, read_write | create | open_flags::no_follow, mode);
    auto opened = co_await as_result(opening);
    if (!opened) co_return std::unexpected(std::move(opened).error());
    file_ = *std::move(opened);
    auto locked = co_await lock();
    if (!locked) {
        // Another download holds the file.
        file_ = {};
        co_return locked;
    }
    auto read = co_await read_validator();
    if (!read) co_return read;
    if (!keep || validator_.empty()) co_return co_await start_anew({});
    auto status = co_await as_result(file_.status());
    if (!status) co_return std::unexpected(std::move(status).error());
    size_ = status->size;
    is_ours_ = true;
    co_return nothing();
}

task<nothing> part_file::lock() {
    auto locking = file_.try_lock(lock_kind::exclusive);
    auto locked = co_await as_result(locking);
    if (!locked) co_return std::unexpected(std::move(locked).error());
    if (*locked) {
        auto named = co_await has_its_name();
        if (!named) co_return std::unexpected(std::move(named).error());
        if (*named) co_return nothing();
    }
    error e(std::errc::device_or_resource_busy, "download");
    co_return std::unexpected(std::move(e.on(part_)));
}

/// Returns false when the holder of the lock has completed the file meanwhile.
task<std::expected<bool, error>> part_file::has_its_name() const {
    auto ours = co_await as_result(file_.status());
    if (!ours) co_return std::unexpected(std::move(ours).error());
    auto asking = fs::status(part_);
    auto there = co_await as_result(asking);
    co_return there && there->inode == ours->inode && there->device == ours->device;
}

task<nothing> part_file::read_validator() {
    if (!numbers_are_of_the_system()) co_return nothing();
    const auto read = [fd = file_.fd()] {
        std::array<char, longest_validator> text;
        const ssize_t n = ::fgetxattr(fd, attribute, text.data(), text.size());
        return n <= 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(n));
    };
    auto reading = coracle::detail::offload_file_work(read);
    auto text = co_await as_result(reading);
    if (!text) co_return std::unexpected(std::move(text).error());
    validator_ = *std::move(text);
    kept_ = !validator_.empty();
    co_return nothing();
}

task<nothing> part_file::keep_validator() {
    if (!numbers_are_of_the_system()) co_return nothing();
    const auto keep = [fd = file_.fd(), text = validator_] {
        if (text.empty() || text.size() > longest_validator) {
            ::fremovexattr(fd, attribute);
            return false;
        }
        if (::fsetxattr(fd, attribute, text.data(), text.size(), 0) == 0) return true;
        // That of what was there before must not stay with what comes.
        ::fremovexattr(fd, attribute);
        return false;
    };
    auto keeping = coracle::detail::offload_file_work(keep);
    auto kept = co_await as_result(keeping);
    if (!kept) co_return std::unexpected(std::move(kept).error());
    kept_ = *kept;
    co_return nothing();
}

task<nothing> part_file::start_anew(std::string validator) {
    is_ours_ = true;
    auto cut = co_await as_result(file_.truncate(0));
    if (!cut) co_return cut;
    size_ = 0;
    validator_ = std::move(validator);
    co_return co_await keep_validator();
}

task<nothing> part_file::write(std::string_view bytes) {
    auto written = co_await as_result(file_.write_at(size_, bytes));
    if (!written) co_return written;
    size_ += bytes.size();
    co_return nothing();
}

/// Makes the system report failures of earlier writes now; the file stays open and locked. Gives
/// the errno of one, or 0; fails where the system could not be asked.
task<std::expected<int, error>> part_file::settle() {
    if (!numbers_are_of_the_system()) co_return 0;
    const auto settle = [fd = file_.fd()] { return late_failure(fd); };
    auto settling = coracle::detail::offload_file_work(settle);
    co_return co_await as_result(settling);
}

task<nothing> part_file::complete(bool durable) {
    const auto failure = co_await settle();
    if (!failure) co_return std::unexpected(failure.error());
    nothing settled;
    if (*failure != 0) {
        error e(std::error_code(*failure, std::generic_category()), "write");
        settled = std::unexpected(std::move(e.on(part_)));
    } else if (durable) {
        settled = co_await as_result(file_.sync());
    }
    if (!settled) {
        if (!coracle::detail::is_cancellation(settled.error())) co_await give_up();
        co_return settled;
    }
    auto keeping = take_permissions();
    auto kept = co_await std::move(keeping);
    if (!kept) co_return kept;
    auto renaming = rename(part_, path_);
    auto renamed = co_await as_result(renaming);
    if (!renamed) co_return renamed;
    const file whole = std::move(file_);
    co_await forget_validator(whole.fd());
    if (!durable) co_return nothing();
    auto syncing = sync_directory(directory_of(path_));
    co_return co_await as_result(syncing);
}

/// Lets no later download go on with it: the system reports a lost write once, and then forgets it.
task<> part_file::give_up() {
    kept_ = false;
    validator_.clear();
    co_await forget_validator(file_.fd());
}

/// Takes those of the file that is to be replaced, if there is one; what cannot be had is no reason
/// to lose the content.
task<nothing> part_file::take_permissions() {
    auto asking = link_status(path_);
    const auto old = co_await as_result(asking);
    if (!old || old->kind != file_kind::regular) co_return nothing();
    auto keeping = keep_permissions(file_, path_, *old, access_bits);
    const auto kept = co_await std::move(keeping);
    if (!kept && coracle::detail::is_cancellation(kept.error())) co_return kept;
    co_return nothing();
}

/// The file has its name and is complete, even if this fails.
task<> part_file::forget_validator(int fd) {
    if (!numbers_are_of_the_system()) co_return;
    const auto forget = [fd] { ::fremovexattr(fd, attribute); };
    auto forgetting = coracle::detail::offload_file_work(forget);
    static_cast<void>(co_await as_result(forgetting));
}

}  // namespace coracle::fs::detail
