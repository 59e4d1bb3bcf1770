// Operations on files: when they happen, and what goes wrong with them.

#include "testing/loop_view.hpp"
#include "testing/world.hpp"

#include <cerrno>
#include <utility>

namespace coracle::testing::detail {
namespace {

bool moves_bytes(file_action a) noexcept {
    return a == file_action::read || a == file_action::write || a == file_action::copy_range;
}

/// Returns true for calls that a signal interrupts (signal(7)), or may on some file systems.
bool may_be_interrupted(file_action a) noexcept {
    return moves_bytes(a) || a == file_action::open || a == file_action::allocate;
}

std::uint64_t bytes_of(const file_operation& op) noexcept {
    if (op.action == file_action::copy_range) return op.size;
    std::uint64_t sum = 0;
    for (const slice& piece : op.pieces) sum += piece.size;
    return sum;
}

}  // namespace

simulated_disk& world::disk() {
    if (options.disk != nullptr) return *options.disk;
    if (own_disk_ == nullptr) {
        own_disk_ = std::make_unique<simulated_disk>();
        own_disk_->tree().begin_run(options.seed);
    }
    return *own_disk_;
}

ref<open_file> world::file_at(int fd) const {
    const auto index = static_cast<std::size_t>(fd - first_number);
    if (fd < first_number || index >= nodes_.size() || !nodes_[index].used) return {};
    return nodes_[index].file;
}

duration world::file_delay() {
    if (falters(4)) return duration::zero();
    const duration spread = options.file_delay_max - options.file_delay_min;
    const std::uint64_t more = chance_.up_to(static_cast<std::uint64_t>(spread.count()));
    return options.file_delay_min + duration(static_cast<std::int64_t>(more));
}

ref<pending> world::begin(file_operation& op, loop_view& home) {
    if (op.action == file_action::close) {
        op.result = close_file(op);
        return {};
    }
    ref<file_task> t(new file_task);
    t->op = &op;
    t->home = &home;
    t->on = file_at(op.fd);
    t->other = file_at(op.other_fd);
    t->crashes = disk().tree().crashes();
    const duration delay = op.at_once ? duration::zero() : file_delay();
    if (delay == duration::zero()) {
        op.result = perform(*t, op);
        return {};
    }
    schedule(event_kind::file_happens, now_ + delay, *t);
    return t.get();
}

void world::happens(file_task& t) {
    if (t.op == nullptr) return;
    t.result = perform(t, static_cast<file_operation&>(*t.op));
    t.has_happened = true;
    t.release_files();
    // A crash may come between an operation and its completion.
    schedule(event_kind::file_reported, now_ + file_delay(), t);
}

/// Linux gives the number back in any case.
std::int64_t world::close_file(const file_operation& op) {
    const bool is_open = static_cast<bool>(file_at(op.fd));
    if (is_open) close(op.fd, false);
    const std::int64_t result = is_open ? 0 : -EBADF;
    note_file(op, result);
    return result;
}

std::int64_t world::perform(const file_task& t, file_operation& op) {
    file_tree& tree = disk().tree();
    std::int64_t result = t.crashes == tree.crashes() ? -file_fault(op) : -EIO;
    if (result == 0) {
        file_request r{op, *this, t.on, t.other, wall_clock()};
        r.most = transfer_limit(op);
        r.fails_to_sync = op.action == file_action::sync && mishap(options.faults.sync_errors);
        if (options.reorder) r.order = &chance_;
        result = tree.perform(r);
        if (r.opened) {
            node n;
            n.file = std::move(r.opened);
            result = *new_node(std::move(n));
        }
    }
    note_file(op, result);
    return result;
}

/// Returns the errno with which the operation fails before it reaches the disk, or 0.
int world::file_fault(const file_operation& op) {
    const fault_options& f = options.faults;
    if (may_be_interrupted(op.action) && mishap(f.interruptions)) return EINTR;
    switch (op.action) {
        case file_action::open:
            return open_ >= options.descriptors || mishap(f.no_descriptors) ? EMFILE : 0;
        case file_action::read: return mishap(f.read_errors) ? EIO : 0;
        case file_action::write: return mishap(f.write_errors) ? EIO : 0;
        case file_action::copy_range:
            return mishap(f.read_errors) || mishap(f.write_errors) ? EIO : 0;
        default: return 0;
    }
}

std::size_t world::transfer_limit(const file_operation& op) {
    if (!moves_bytes(op.action)) return SIZE_MAX;
    const fault_options& f = options.faults;
    if (!mishap(op.action == file_action::read ? f.short_reads : f.short_writes)) return SIZE_MAX;
    const std::uint64_t bytes = bytes_of(op);
    return bytes < 2 ? SIZE_MAX : 1 + static_cast<std::size_t>(mishaps_.up_to(bytes - 2));
}

}  // namespace coracle::testing::detail
