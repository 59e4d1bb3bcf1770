#include <coracle/fs/file.hpp>
#include <coracle/runtime/sleep.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::fs {
namespace {

using completion = detail::file_call::completion;

unsigned system_flags(open_flags f) noexcept {
    struct pair {
        open_flags ours;
        int system;
    };
    static constexpr pair pairs[] = {
        {open_flags::append, O_APPEND},       {open_flags::create, O_CREAT},
        {open_flags::exclusive, O_EXCL},      {open_flags::truncate, O_TRUNC},
        {open_flags::directory, O_DIRECTORY}, {open_flags::no_follow, O_NOFOLLOW},
        {open_flags::sync, O_SYNC},           {open_flags::data_sync, O_DSYNC},
        {open_flags::direct, O_DIRECT},       {open_flags::temporary, O_TMPFILE},
        {open_flags::no_atime, O_NOATIME},
    };
    int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    const bool writes = has(f, open_flags::write);
    flags |= !writes ? O_RDONLY : has(f, open_flags::read) ? O_RDWR : O_WRONLY;
    for (const pair& p : pairs) {
        if (has(f, p.ours)) flags |= p.system;
    }
    return static_cast<unsigned>(flags);
}

// Descriptors belong to the backend; in a simulation they are not those of the system.
void close_number(int fd) noexcept {
    if (fd < 0) return;
    if (loop* const l = loop::current())
        l->backend().discard(fd);
    else
        close_descriptor(fd);
}

// In a `file_operation` the largest offset means "the current position", so users must not pass it.
std::uint64_t position(std::uint64_t offset) noexcept {
    return std::min(offset, file_operation::no_offset - 1);
}

bool is_direct(int fd) noexcept {
    loop* const l = loop::current();
    if (l != nullptr && !l->backend().is_of_the_system()) return false;
    const int flags = ::fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_DIRECT) != 0;
}

int system_mode(allocation how) noexcept {
    switch (how) {
        case allocation::grow: return 0;
        case allocation::keep_size: return FALLOC_FL_KEEP_SIZE;
        case allocation::punch_hole: return FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    }
    return 0;
}

plain_operation locking(plain_operation op, int kind, byte_range range) noexcept {
    op.flags = static_cast<unsigned>(kind);
    op.offset = range.offset;
    op.size = range.size;
    return op;
}

int system_kind(lock_kind kind) noexcept {
    return kind == lock_kind::shared ? F_RDLCK : F_WRLCK;
}

bool is_locked_elsewhere(const error& e) noexcept {
    return e == std::errc::resource_unavailable_try_again || e == std::errc::permission_denied;
}

task<std::expected<bool, error>> lock_now(plain_operation op) {
    auto done = co_await as_result(op);
    if (done) co_return true;
    if (is_locked_elsewhere(done.error())) co_return false;
    co_return std::unexpected(std::move(done).error());
}

}  // namespace

// ---- the object ---------------------------------------------------------------------------------

file& file::operator=(file&& other) noexcept {
    if (this == &other) return *this;
    discard();
    fd_.reset(other.fd_.release());
    path_ = std::move(other.path_);
    direct_ = other.direct_;
    return *this;
}

file file::adopt(int fd, std::string path) {
    auto called = path.empty() ? nullptr : std::make_shared<const std::string>(std::move(path));
    return {fd, std::move(called), is_direct(fd)};
}

void file::discard() noexcept {
    close_number(fd_.release());
}

template <class Operation>
Operation file::on(file_action a, const char* verb) const noexcept {
    Operation op(a, verb, path());
    op.fd = fd_.get();
    if (a == file_action::read && direct_) op.flags = O_DIRECT;
    return op;
}

// ---- bytes --------------------------------------------------------------------------------------

byte_operation file::read_at(std::uint64_t offset, std::span<char> into) const noexcept {
    auto op = on<byte_operation>(file_action::read, "read");
    op.offset = position(offset);
    op.moves(into, completion::once);
    return op;
}

byte_operation file::readv_at(std::uint64_t offset,
                              std::span<const std::span<char>> into) const noexcept {
    auto op = on<byte_operation>(file_action::read, "read");
    op.offset = position(offset);
    op.moves(into, completion::once);
    return op;
}

plain_operation file::read_exactly_at(std::uint64_t offset, std::span<char> into) const noexcept {
    auto op = on<plain_operation>(file_action::read, "read");
    op.offset = position(offset);
    op.moves(into, completion::to_the_end);
    return op;
}

plain_operation file::write_at(std::uint64_t offset, std::string_view bytes) const noexcept {
    auto op = on<plain_operation>(file_action::write, "write");
    op.offset = position(offset);
    op.moves(bytes, completion::all);
    return op;
}

plain_operation file::writev_at(std::uint64_t offset, std::span<const slice> bytes) const noexcept {
    auto op = on<plain_operation>(file_action::write, "write");
    op.offset = position(offset);
    op.moves(bytes, completion::all);
    return op;
}

plain_operation file::append(std::string_view bytes) const noexcept {
    auto op = on<plain_operation>(file_action::write, "write");
    op.offset = file_operation::no_offset;
    op.moves(bytes, completion::all);
    return op;
}

// ---- the disk -----------------------------------------------------------------------------------

plain_operation file::sync() const noexcept {
    return on<plain_operation>(file_action::sync, "sync");
}

plain_operation file::sync_data() const noexcept {
    auto op = on<plain_operation>(file_action::sync, "sync");
    op.flags = 1;
    return op;
}

plain_operation file::truncate(std::uint64_t size) const noexcept {
    auto op = on<plain_operation>(file_action::truncate, "truncate");
    op.size = size;
    return op;
}

plain_operation file::allocate(byte_range range, allocation how) const noexcept {
    auto op = on<plain_operation>(file_action::allocate, "allocate");
    op.flags = static_cast<unsigned>(system_mode(how));
    op.offset = range.offset;
    op.size = range.size;
    return op;
}

// ---- what is said of it -------------------------------------------------------------------------

status_operation file::status() const noexcept {
    return {fd_.get(), path()};
}

plain_operation file::set_mode(unsigned mode) const noexcept {
    auto op = on<plain_operation>(file_action::set_mode, "set_mode");
    op.mode = mode;
    return op;
}

plain_operation file::set_times(std::int64_t accessed_ns, std::int64_t modified_ns) const noexcept {
    auto op = on<plain_operation>(file_action::set_times, "set_times");
    op.offset = static_cast<std::uint64_t>(accessed_ns);
    op.size = static_cast<std::uint64_t>(modified_ns);
    return op;
}

// ---- locks --------------------------------------------------------------------------------------

operation<bool> file::try_lock(lock_kind kind, byte_range range) const {
    auto op = on<plain_operation>(file_action::lock, "lock");
    return lock_now(locking(std::move(op), system_kind(kind), range));
}

namespace {

// The system can wait too, but only in a thread that cannot be interrupted. The file may be moved
// meanwhile.
task<std::expected<void, error>> lock_soon(int fd, std::shared_ptr<const std::string> path,
                                           int kind, byte_range range) {
    constexpr duration longest = std::chrono::milliseconds(64);
    duration pause = std::chrono::milliseconds(1);
    const std::string_view called = path ? std::string_view(*path) : std::string_view();
    for (;;) {
        auto op = locking(plain_operation(file_action::lock, "lock", called), kind, range);
        op.fd = fd;
        auto locked = co_await as_result(op);
        if (locked || !is_locked_elsewhere(locked.error())) co_return locked;
        auto slept = co_await as_result(sleep_for(pause));
        if (!slept) co_return std::unexpected(std::move(slept).error());
        pause = std::min(pause * 2, longest);
    }
}

}  // namespace

operation<void> file::lock(lock_kind kind, byte_range range) const {
    return lock_soon(fd_.get(), path_, system_kind(kind), range);
}

plain_operation file::unlock(byte_range range) const noexcept {
    return locking(on<plain_operation>(file_action::lock, "unlock"), F_UNLCK, range);
}

// ---- closing ------------------------------------------------------------------------------------

close_operation file::close() noexcept {
    return close_operation(*this);
}

bool close_operation::prepare() noexcept {
    fd = file_->fd_.release();
    return true;
}

std::expected<void, error> close_operation::outcome() {
    auto r = file_call::outcome();
    if (!r) return std::unexpected(std::move(r).error());
    return {};
}

// ---- opening ------------------------------------------------------------------------------------

open_operation::open_operation(int from, std::string text, open_flags how, unsigned permissions)
    : file_call(file_action::open, "open"), path_(std::move(text)) {
    fd = from;
    flags = system_flags(how);
    if (has(how, open_flags::create) || has(how, open_flags::temporary)) mode = permissions;
}

open_operation::~open_operation() {
    if (asked_ && io_operation::result >= 0) close_number(static_cast<int>(io_operation::result));
}

bool open_operation::prepare() noexcept {
    asked_ = true;
    path = path_.c_str();
    return !detail::holds_nul(path_);
}

std::expected<file, error> open_operation::outcome() {
    auto r = file_call::outcome();
    if (!r) return std::unexpected(std::move(r).error());
    auto called = std::make_shared<const std::string>(std::move(path_));
    asked_ = false;
    return file(static_cast<int>(*r), std::move(called), (flags & O_DIRECT) != 0);
}

open_operation open(std::string path, open_flags flags, unsigned mode) {
    return {AT_FDCWD, std::move(path), flags, mode};
}

open_operation open_at(const file& directory, std::string path, open_flags flags, unsigned mode) {
    return {directory.fd(), std::move(path), flags, mode};
}

}  // namespace coracle::fs
