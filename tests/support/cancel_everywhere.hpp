#pragma once

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

/// Cancels an operation at every point where it may wait. A row describes one operation: `make`
/// gives it anew, `help` does what it waits for. The rest runs it again and again, each time
/// cancelled one step later, until it completes first.
namespace coracle::testing {

/// The defaults of a row.
struct cancel_row {
    /// It can be awaited once more after it was cancelled, with nothing lost.
    static constexpr bool again = false;
    /// It never completes by itself.
    static constexpr bool endless = false;
    /// It completes in spite of being cancelled.
    static constexpr bool stubborn = false;
    /// It needs the operating system, not a simulation.
    static constexpr bool real = false;

    /// Before the operation is made.
    task<> prepare() { co_return; }
    /// Beside it.
    task<> help() { co_return; }
    /// After it, and after `help`.
    task<> finish() { co_return; }
};

inline task<> turns(int n) {
    for (int i = 0; i != n; ++i) co_await yield();
}

/// The part of a turn of the loop in which the cancellation comes.
enum class moment : unsigned char { posted, ready, timer };

/// As long as a turn takes in a simulated world.
inline constexpr duration a_turn = std::chrono::microseconds(1);

/// Calls `strike` in one part of a turn, some turns from now.
class prodder final : public std::enable_shared_from_this<prodder>,
                      coracle::detail::runnable,
                      coracle::detail::timer {
public:
    prodder(loop& l, moment when, int after, unique_function<void()> strike)
        : loop_(l), when_(when), left_(after), strike_(std::move(strike)) {}
    void start() {
        switch (when_) {
            case moment::posted: loop_.post([self = shared_from_this()] { self->step(); }); break;
            case moment::ready: loop_.enqueue_for_next_turn(*this); break;
            case moment::timer: loop_.arm(*this, loop_.now() + a_turn); break;
        }
    }
    void stop() noexcept {
        stopped_ = true;
        loop_.disarm(*this);
        unlink();
    }

private:
    void run() noexcept override { step(); }
    void expired() noexcept override { step(); }
    void step() {
        if (stopped_) return;
        if (left_-- != 0) {
            start();
        } else {
            stopped_ = true;
            strike_();
        }
    }

    loop& loop_;
    moment when_;
    int left_;
    unique_function<void()> strike_;
    bool stopped_ = false;
};

/// The task that awaits the operation, in a context that can be cancelled alone.
class cancelled_child final : public coracle::detail::child<void> {
public:
    event over;

private:
    std::coroutine_handle<> ended() noexcept override {
        over.set();
        return std::noop_coroutine();
    }
};

struct cancel_outcome {
    bool went_on = false;
    bool failed = false;
    error why;
    int destroyed = 0;
};

template <class Row>
task<> await_it(Row& row, cancel_outcome& o, bool as_error) {
    struct counted {
        int& n;
        explicit counted(int& c) : n(c) {}
        counted(const counted&) = delete;
        counted& operator=(const counted&) = delete;
        ~counted() { ++n; }
    };
    const counted local(o.destroyed);
    if (as_error) {
        auto r = co_await as_result(row.make());
        o.went_on = true;
        if (!r) {
            o.failed = true;
            o.why = r.error();
        }
    } else {
        static_cast<void>(co_await row.make());
        o.went_on = true;
    }
}

/// An operation that is not awaited does nothing. Not inlined: g++ 12 would warn of what cannot
/// happen.
template <class Op>
[[gnu::noinline]] void drop(Op) {}

template <class Row>
task<> help_and_tell(Row& row, event& helped) {
    co_await row.help();
    helped.set();
}

/// One run; `after` turns, or before it starts when that is negative. Gives whether the
/// cancellation came before the end.
template <class Row>
task<bool> cancel_once(moment at, int after, bool as_error) {
    loop& l = *loop::current();
    Row row;
    co_await row.prepare();
    drop(row.make());
    cancel_outcome o;
    cancelled_child subject;
    bool struck = false;
    const auto first = subject.begin(await_it(row, o, as_error), l, &l.root(), "subject");
    auto strike = [&] {
        if (subject.over.is_set()) return;
        struck = true;
        subject.cancel();
        EXPECT_FALSE(subject.over.is_set()) << "it ended inside cancel";
        subject.cancel();
    };
    const auto prod = std::make_shared<prodder>(l, at, after, strike);
    if (after < 0) {
        strike();
    } else {
        prod->start();
    }
    event helped;
    spawn([&] { return help_and_tell(row, helped); });
    first.resume();
    co_await subject.over.wait();
    prod->stop();

    const bool cancelled = struck && (!o.went_on || o.failed);
    EXPECT_TRUE(struck || (o.went_on && !o.failed)) << o.why;
    EXPECT_TRUE(o.went_on || subject.was_stopped());
    EXPECT_TRUE(!o.failed || o.why == std::errc::operation_canceled) << o.why;
    EXPECT_FALSE(Row::stubborn && cancelled);
    EXPECT_EQ(subject.exception(), nullptr);
    subject.destroy();
    EXPECT_EQ(o.destroyed, 1);
    if constexpr (requires { row.ended(); }) row.ended();
    co_await helped.wait();
    if constexpr (Row::again && !Row::endless) {
        if (cancelled) {
            auto r = co_await as_result(row.make());
            EXPECT_TRUE(r) << r.error();
        }
    }
    co_await row.finish();
    co_return struck;
}

template <class Row>
bool run_cancelled(moment at, int after, bool as_error) {
    const auto main = [&] { return cancel_once<Row>(at, after, as_error); };
    if constexpr (Row::real) {
        return block_on(main);
    } else {
        simulation_options o;
        o.latency_min = std::chrono::microseconds(1);
        o.latency_max = std::chrono::microseconds(3);
        o.file_delay_min = std::chrono::microseconds(1);
        o.file_delay_max = std::chrono::microseconds(3);
        o.max_turns = 100'000;
        simulation world(o);
        if constexpr (requires { Row::set_up(world); }) Row::set_up(world);
        return world.run(main);
    }
}

/// A row of the table, and its test.
struct cancel_case {
    const char* name;
    void (*run)();

    friend std::ostream& operator<<(std::ostream& out, const cancel_case& c) {
        return out << c.name;
    }
};

template <class Row>
void cancel_everywhere() {
    constexpr int most = 200;
    for (const moment at : {moment::posted, moment::ready, moment::timer}) {
        for (const bool as_error : {false, true}) {
            SCOPED_TRACE("part of a turn " + std::to_string(static_cast<int>(at)) +
                         (as_error ? ", as_result" : ""));
            int after = -1;
            while (run_cancelled<Row>(at, after, as_error)) {
                if (::testing::Test::HasFailure()) break;
                if (++after == (Row::endless ? 5 : most)) break;
            }
            // A thread of the system may take longer than all these turns.
            if constexpr (!requires { Row::waits_for_a_thread; }) {
                EXPECT_LT(after, most) << "it never completes";
            }
            if (::testing::Test::HasFailure()) {
                ADD_FAILURE() << "cancelled in turn " << after;
                return;
            }
        }
    }
}

template <class Row>
constexpr cancel_case row(const char* name) {
    return {name, &cancel_everywhere<Row>};
}

/// The name of a row in the alphabet of GoogleTest.
inline std::string test_name(const std::string& row) {
    std::string name;
    for (const char c : row) {
        const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (word)
            name += c;
        else if (!name.empty() && name.back() != '_')
            name += '_';
    }
    while (name.ends_with('_')) name.pop_back();
    return name;
}

}  // namespace coracle::testing
