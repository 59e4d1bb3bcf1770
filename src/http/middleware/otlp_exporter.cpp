#include "base/exception_text.hpp"
#include "http/middleware/otlp_json.hpp"

#include <coracle/base/url.hpp>
#include <coracle/http/middleware/otlp_exporter.hpp>
#include <coracle/runtime/detail/resident.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/spawn.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>

namespace coracle::http {

struct otlp_exporter::shared {
    shared(client& by, std::string where, otlp_options o)
        : from(by), url(std::move(where)), options(std::move(o)) {
        const bool is_good = options.queue != 0 && options.batch != 0 &&
                             options.batch <= options.queue && options.interval.count() > 0 &&
                             options.patience.count() > 0 && options.drain.count() >= 0;
        if (is_good && coracle::url::parse(url)) return;
        error e(std::errc::invalid_argument, "otlp_exporter");
        throw_exception(std::move(e.on(is_good ? url : "options")));
    }

    client& from;
    const std::string url;
    const otlp_options options;
    std::atomic<std::uint64_t> sent{0};
    std::atomic<std::uint64_t> dropped{0};
    std::atomic<std::uint64_t> failures{0};
};

namespace {

enum class verdict : std::uint8_t { taken, later, refused };

/// Bytes of a response that are looked at: more belongs to no collector.
constexpr std::size_t longest_response = 64 * 1024;

/// The spans of one loop that wait, and the task that sends them.
class span_queue final : public resident {
public:
    explicit span_queue(std::shared_ptr<otlp_exporter::shared> of)
        : resident(of.get()), shared_(std::move(of)) {}
    void loop_ended() noexcept override { delete this; }

    static span_queue& here(const std::shared_ptr<otlp_exporter::shared>& of) {
        loop& l = *loop::current();
        auto* q = static_cast<span_queue*>(l.find_resident(of.get()));
        if (q == nullptr) {
            auto made = std::make_unique<span_queue>(of);
            l.settle(*made);
            q = made.release();
        }
        if (!q->has_begun_) spawn([q] { return run(q); }, "OTLP exporter");
        q->has_begun_ = true;
        return *q;
    }

    void add(finished_span&& span) {
        if (waiting_.size() >= shared_->options.queue || has_ended_) {
            shared_->dropped.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        waiting_.push_back(std::move(span));
        if (waiting_.size() >= shared_->options.batch) full_.set();
    }

private:
    static task<> run(span_queue* q) {
        const otlp_options& o = q->shared_->options;
        bool is_stopped = false;
        bool is_late = false;  // the collector failed: the next try comes after the interval
        while (!is_stopped) {
            bool is_starved = false;
            try {
                auto pausing = pause(q, is_late);
                const auto paused = co_await as_result(pausing);
                is_stopped = !paused;
                if (is_stopped) break;
                auto sending = send_all(q);
                const auto went = co_await as_result(sending);
                is_stopped = !went && went.error() == std::errc::operation_canceled;
                is_late = went && !*went;
            } catch (const std::bad_alloc&) {
                is_starved = true;
            }
            if (!is_starved) continue;
            auto sleeping = sleep_for(o.interval);
            const auto slept = co_await as_result(sleeping);
            is_stopped = !slept;
        }
        // The loop ends: what is left goes out in the time that there is.
        const auto rest = [q] { return operation<bool>(send_all_now(q)); };
        auto last = shielded(o.drain, rest);
        static_cast<void>(co_await as_result(last));
        q->has_ended_ = true;
        q->drop(q->waiting_.size());
    }

    /// Waits until a batch is full; with `is_late` for the whole interval.
    static operation<void> pause(span_queue* q, bool is_late) { return pause_now(q, is_late); }
    static task<std::expected<void, error>> pause_now(span_queue* q, bool is_late) {
        const duration interval = q->shared_->options.interval;
        if (is_late) {
            auto sleeping = sleep_for(interval);
            co_await std::move(sleeping);
        } else {
            const auto full = [q] { return q->full_.wait(); };
            auto limited = with_timeout(interval, full);
            const auto waited = co_await as_result(limited);
            if (!waited && waited.error() != std::errc::timed_out) co_return waited;
        }
        q->full_.reset();
        co_return {};
    }

    static operation<bool> send_all(span_queue* q) { return send_all_now(q); }

    /// Gives false where the collector does not take them now.
    static task<std::expected<bool, error>> send_all_now(span_queue* q) {
        while (!q->waiting_.empty()) {
            const std::size_t n = std::min(q->waiting_.size(), q->shared_->options.batch);
            verdict v = verdict::later;
            // An interceptor of the client may throw, and memory may be short: the task goes on.
            try {
                auto sending = send(q, n);
                v = co_await std::move(sending);
            } catch (...) {
                q->failed([e = std::current_exception()] {
                    return coracle::detail::describe_exception(e);
                });
            }
            if (v == verdict::later) co_return false;
            if (v == verdict::refused) q->drop(n);
            if (v == verdict::taken) q->erase(n);
        }
        co_return true;
    }

    static task<verdict> send(span_queue* q, std::size_t n) {
        std::string text = detail::otlp_json(q->shared_->options.service, {q->waiting_.data(), n});
        auto calling = q->shared_->from.post(q->shared_->url)
                           .body(http::body(std::move(text)), "application/json")
                           .timeout(q->shared_->options.patience);
        auto got = co_await as_result(calling);
        if (got && got->ok()) {
            auto reading = got->text(longest_response);
            const auto said = co_await as_result(reading);
            q->count_taken(n, said ? std::string_view(*said) : std::string_view());
            co_return verdict::taken;
        }
        q->failed([&got] {
            return got ? "status " + std::to_string(static_cast<int>(got->status()))
                       : got.error().message();
        });
        if (!got) co_return verdict::later;
        switch (got->status()) {
            case status::too_many_requests:
            case status::bad_gateway:
            case status::service_unavailable:
            case status::gateway_timeout: co_return verdict::later;
            default: co_return verdict::refused;
        }
    }

    /// `why()` describes it.
    template <class F>
    void failed(F why) noexcept {
        shared_->failures.fetch_add(1, std::memory_order_relaxed);
        log([&] { return "spans were not taken: " + why(); });
    }
    /// Counts `n` spans as sent, but those that the response says were rejected: they are lost, as
    /// a collector wants them not again (OTLP 1.0, "Partial Success").
    void count_taken(std::size_t n, std::string_view said) noexcept {
        const std::size_t rejected = std::min(detail::rejected_spans(said), n);
        shared_->sent.fetch_add(n - rejected, std::memory_order_relaxed);
        if (rejected == 0) return;
        shared_->dropped.fetch_add(rejected, std::memory_order_relaxed);
        log([said] { return "spans were rejected: " + std::string(said); });
    }
    template <class F>
    static void log(F text) noexcept try {
        loop::current()->log().write(log_layer::http, log_level::warning, text());
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it goes unsaid
    }

    void erase(std::size_t n) {
        waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(n));
    }
    void drop(std::size_t n) {
        shared_->dropped.fetch_add(n, std::memory_order_relaxed);
        erase(n);
    }

    std::shared_ptr<otlp_exporter::shared> shared_;
    std::vector<finished_span> waiting_;
    event full_;
    bool has_begun_ = false;
    bool has_ended_ = false;
};

}  // namespace

otlp_exporter::otlp_exporter(client& by, std::string url, otlp_options options)
    : shared_(std::make_shared<shared>(by, std::move(url), std::move(options))) {}

otlp_exporter::~otlp_exporter() = default;

void otlp_exporter::add(finished_span&& span) noexcept try {
    span_queue::here(shared_).add(std::move(span));
} catch (...) {  // no memory for it
    shared_->dropped.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t otlp_exporter::sent() const noexcept {
    return shared_->sent.load(std::memory_order_relaxed);
}
std::uint64_t otlp_exporter::dropped() const noexcept {
    return shared_->dropped.load(std::memory_order_relaxed);
}
std::uint64_t otlp_exporter::failures() const noexcept {
    return shared_->failures.load(std::memory_order_relaxed);
}

}  // namespace coracle::http
