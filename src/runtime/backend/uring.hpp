#pragma once

#include "runtime/backend/readiness_backend.hpp"
#include "runtime/backend/uring_buffers.hpp"
#include "runtime/backend/uring_files.hpp"
#include "runtime/backend/uring_probe.hpp"

#include <cerrno>
#include <memory>
#include <vector>

namespace coracle::detail {

struct uring_ready_link : list_hook {};
struct uring_change_link : list_hook {};

/// The user_data of the requests of one descriptor. It outlives the descriptor until the kernel has
/// completed every request for it.
struct alignas(64) uring_entry : uring_ready_link, uring_change_link {
    descriptor* owner = nullptr;
    foreign_operation* foreign = nullptr;
    int fd = -1;
    std::int32_t end_result = 0;   ///< how the stream ended: 0 or a negated errno
    std::uint32_t generation = 0;  ///< changes when the descriptor is closed
    std::uint8_t armed = 0;        ///< requests in the kernel, see `uring_request`
    std::uint8_t ending = 0;       ///< requests being cancelled
    bool ended = false;
    /// Its receives are polled: it is one of more that receive at once than there are buffers for.
    bool crowded = false;
    bool watches_end = false;  ///< `watching` hears the end of the stream, not resets alone
    uring_buffers::number first = uring_buffers::none;  ///< received and unread buffers
    uring_buffers::number last = uring_buffers::none;

    bool open() const noexcept { return owner != nullptr || foreign != nullptr; }
    bool has(unsigned request) const noexcept { return (armed & request) != 0; }
    bool stays(unsigned request) const noexcept { return (armed & ~ending & request) != 0; }
};

/// io_uring. Receives are multishot, into buffers that the kernel chooses; accepts, datagrams, bulk
/// reads and sends that must wait are polled through the ring, and then made as system calls. So
/// the kernel never uses the memory of an operation, and cancelling one need not wait for the
/// kernel. Only operations on files are made by the kernel, because files cannot be polled. All
/// requests of a turn are submitted by the call that waits.
class uring_backend final : public readiness_backend {
public:
    /// `buffers`: the most buffers to receive into.
    static std::expected<std::unique_ptr<backend>, error> open(
        unsigned allowed = all_uring_features, unsigned buffers = uring_buffers::numbers_at_most);
    ~uring_backend() override;

    std::string_view name() const noexcept override { return "uring"; }
    bool submit(io_operation& op) noexcept override;
    void cancel(io_operation& op) noexcept override;
    void wait(time_point until) noexcept override;
    void wake() noexcept override;
    std::expected<void, error> attach(descriptor& d, int fd) noexcept override;
    void close(descriptor& d, bool reset) noexcept override;
    int detach(descriptor& d) noexcept override;
    bool watch_hangup(descriptor& d, hangup_watch* w) noexcept override;
    bool has_input(descriptor& d) noexcept override;
    void leaves_thread() noexcept override;

    unsigned features() const noexcept { return features_; }

private:
    enum uring_request : std::uint8_t { receiving = 1, reading = 2, writing = 4, watching = 8 };

    uring_backend(unsigned allowed, unsigned buffers, int event) noexcept
        : allowed_(allowed), event_(event), buffers_(buffers) {
        closed_.ended = true;
        closed_.end_result = -EBADF;
    }

    // The ring, which belongs to one thread at a time (uring_ring.cpp).
    bool settle_on_this_thread() noexcept;
    bool on_its_thread() const noexcept;
    bool enable_ring() noexcept;
    void count_wait() noexcept;
    void abandon_ring() noexcept;
    io_uring_sqe* next_request() noexcept;
    int submit_and_wait(time_point until) noexcept;
    void enter(time_point until) noexcept;
    void take_deferred() noexcept;
    void withdraw_requests(uring_entry& e) noexcept;
    void arm_wake() noexcept;

    // Requests to the kernel (uring_ring.cpp).
    void change(uring_entry& e) noexcept { changed_.push_back(e); }
    void apply_changes() noexcept;
    bool apply(uring_entry& e) noexcept;
    bool apply_input(uring_entry& e) noexcept;
    bool arm_receive(uring_entry& e) noexcept;
    bool arm_poll(uring_entry& e, uring_request which, unsigned events,
                  bool multishot = false) noexcept;
    bool arm_watch(uring_entry& e) noexcept;
    bool disarm(uring_entry& e, unsigned requests) noexcept;

    void waits_for_room(descriptor& d) noexcept override { change(entry_of(d)); }

    void queue_file_requests() noexcept;

    // Completions from the kernel.
    void absorb() noexcept;
    void absorb(const io_uring_cqe& c) noexcept;
    void absorb_received(uring_entry& e, const io_uring_cqe& c) noexcept;
    void absorb_polled(uring_entry& e, unsigned which, std::int32_t result, bool goes_on) noexcept;
    static void note_end(descriptor& d, std::uint32_t events) noexcept;
    void prefetch_ready() noexcept;
    void dispatch(uring_entry& e) noexcept;
    void complete_foreign(uring_entry& e) noexcept;

    bool submit_receive(uring_entry& e, receive_operation& op) noexcept;
    bool submit_other(io_operation& op) noexcept;
    bool receive_now(uring_entry& e, receive_operation& op) noexcept;
    bool splice_now(uring_entry& e, io_operation& op) noexcept;
    bool attempt_input(uring_entry& e, io_operation& op) noexcept;
    std::int64_t take_received(uring_entry& e, receive_operation& op) noexcept;
    bool submit_foreign(foreign_operation& op) noexcept;
    bool note_foreign(uring_entry& e) noexcept;
    uring_entry* take_entry() noexcept;
    void drop_unread(uring_entry& e) noexcept;
    void release_if_unused(uring_entry& e) noexcept;

    static uring_entry& entry_of(const descriptor& d) noexcept {
        return *static_cast<uring_entry*>(d.state);
    }
    /// Returns true for a receive that the lent blocks do not suit.
    static bool is_bulk(const receive_operation& op) noexcept {
        return op.into || op.capacity > buffer::default_capacity;
    }
    /// Returns true if no bytes have come, and an armed receive of the kernel will report those
    /// that do.
    static bool waits_for_bytes(const uring_entry& e) noexcept {
        return e.first == uring_buffers::none && !e.ended && e.stays(receiving);
    }
    static bool concerns(const uring_entry& e, const hangup_watch& w) noexcept {
        const bool told = e.ended && (e.end_result < 0 || !w.ignores_end);
        return told || readiness_backend::concerns(*e.owner, w);
    }
    bool can_multishot() const noexcept { return (features_ & multishot_receive) != 0; }

    static constexpr std::size_t chunk = 64;
    /// A run of fewer waits, as one turn in the loop of another library, does without registering.
    static constexpr unsigned char waits_of_a_short_run = 16;

    unsigned allowed_;
    unsigned features_ = 0;
    int event_;
    bool ring_is_open_ = false;
    bool wake_is_armed_ = false;
    bool ring_is_registered_ = false;
    unsigned char waits_until_registered_ = waits_of_a_short_run;
    std::uint64_t thread_ = 0;  ///< the thread that owns the ring; 0: none yet
    io_uring ring_{};
    uring_buffers buffers_;
    uring_files files_;
    uring_entry closed_;  ///< operations on closed descriptors, to end with EBADF
    intrusive_list<uring_ready_link> ready_;     ///< entries with completions in this turn
    intrusive_list<uring_change_link> changed_;  ///< entries whose requests may have changed
    intrusive_list<uring_change_link> unused_;   ///< entries for reuse
    std::vector<std::unique_ptr<uring_entry[]>> entries_;
    std::vector<uring_entry*> foreign_;
};

}  // namespace coracle::detail
