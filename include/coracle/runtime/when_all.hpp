#pragma once

#include <coracle/runtime/detail/child.hpp>

#include <tuple>
#include <vector>

namespace coracle {

namespace detail {

template <class T>
using stored = std::conditional_t<std::is_void_v<T>, unit, T>;

/// The group that the children of a `when_all` or `when_any` report to.
class join_group : public joint {
public:
    join_group() noexcept = default;
    join_group(join_group&&) noexcept = default;

    using joint::awaiter_limit;

    /// Child `index` has ended. Returns what to resume.
    virtual std::coroutine_handle<> member_ended(std::size_t index, bool stopped,
                                                 bool failed) noexcept = 0;

protected:
    ~join_group() = default;

    /// Starts the members, one inside the other's first wait; where join groups start join groups
    /// too deep, in the next turn. Returns what to resume.
    std::coroutine_handle<> begin() noexcept {
        loop& l = owner();
        if (!l.may_start_inline()) {
            start_in_next_turn();
            return std::noop_coroutine();
        }
        start_members();
        l.start_ended();
        return one_less();
    }

private:
    virtual void start_members() noexcept = 0;
    /// Counts down by one: `begin` counts one more than there are members. Returns what to resume.
    virtual std::coroutine_handle<> one_less() noexcept = 0;
    void start_late() noexcept override { begin().resume(); }
};

template <class T>
class member final : public child<T> {
public:
    explicit member(task<T> t) noexcept : waiting_(std::move(t)) {}
    member(member&&) noexcept = default;

    /// Starts the member. With `cancelled`, its first wait does not even begin, and so takes
    /// nothing.
    void start(join_group& c, std::size_t index, loop& owner, context& parent, const char* name,
               bool cancelled) {
        group_ = &c;
        index_ = index;
        const auto first = this->begin(std::move(waiting_), owner, &parent, name);
        if (cancelled) this->cancel();
        first.resume();
    }
    stored<T> value() {
        if constexpr (std::is_void_v<T>) {
            this->take();
            return {};
        } else {
            return this->take();
        }
    }

private:
    std::coroutine_handle<> ended() noexcept override {
        return group_->member_ended(index_, this->was_stopped(), this->exception() != nullptr);
    }
    limit_step time_limit() const noexcept override { return group_->awaiter_limit(); }

    task<T> waiting_;
    join_group* group_ = nullptr;
    std::size_t index_ = 0;
};

/// The members of a join group: a tuple of them.
template <class... T>
class pack {
public:
    explicit pack(task<T>... tasks) noexcept : members_(std::move(tasks)...) {}
    pack(pack&&) noexcept = default;

    static constexpr std::size_t size() noexcept { return sizeof...(T); }

    template <class Visitor>
    void visit(Visitor&& v) {
        std::apply(
            [&v](auto&... m) {
                std::size_t index = 0;
                (v(m, index++), ...);
            },
            members_);
    }
    std::tuple<stored<T>...> values() {
        // Braces, so that the first exception in order is the one that is thrown.
        return std::apply([](auto&... m) { return std::tuple<stored<T>...>{m.value()...}; },
                          members_);
    }
    template <std::size_t I>
    auto& at() noexcept {
        return std::get<I>(members_);
    }

private:
    std::tuple<member<T>...> members_;
};

/// The members of a join group: any number of one type.
template <class T>
class range {
public:
    template <class R>
    explicit range(std::in_place_t, R&& source) {
        if constexpr (requires { source.size(); }) members_.reserve(source.size());
        for (auto&& each : source) members_.emplace_back(to_task(std::move(each)));
    }
    range(range&&) noexcept = default;

    std::size_t size() const noexcept { return members_.size(); }

    template <class Visitor>
    void visit(Visitor&& v) {
        for (std::size_t i = 0; i != members_.size(); ++i) v(members_[i], i);
    }
    std::vector<stored<T>> values() {
        std::vector<stored<T>> all;
        all.reserve(members_.size());
        for (auto& m : members_) all.push_back(m.value());
        return all;
    }
    auto& at(std::size_t i) noexcept { return members_[i]; }

private:
    std::vector<member<T>> members_;
};

template <class R>
using range_element = std::remove_cvref_t<decltype(*std::declval<R&>().begin())>;

/// A range of tasks or operations that may be moved out of it.
template <class R>
concept awaitable_range =
    !awaitable<R> && requires(R& r) { r.end(); } && awaitable<range_element<R>> &&
    (!std::is_lvalue_reference_v<R> ||
     !std::is_lvalue_reference_v<decltype(*std::declval<R&>().begin())>);

template <class R>
using range_of = range<await_result<range_element<R>>>;

/// Stands for a join group that is refused, so that awaiting it is no further error.
using refused_group = std::suspend_never;

/// Says why `A...` cannot be the members of a join group.
template <class... A>
constexpr refused_group refuse_members() {
    constexpr bool called = (std::is_invocable_v<A&> || ...);
    constexpr bool kept = (awaitable_range<std::remove_reference_t<A>> || ...);
    static_assert(!called,
                  "when_all and when_any take tasks and operations, not callables: "
                  "call the lambda, when_any(f(), g())");
    static_assert(called || !kept,
                  "when_all and when_any move the members out of a container: "
                  "pass it by std::move");
    static_assert(called || kept,
                  "when_all and when_any take tasks and operations, or a range of them");
    return {};
}

/// Starts all members and waits until all have ended; the first that fails stops the others.
template <class Members>
class [[nodiscard]] when_all_operation final : join_group {
public:
    template <class... Source>
    explicit when_all_operation(std::in_place_t, Source&&... s)
        : members_(std::forward<Source>(s)...) {}
    when_all_operation(when_all_operation&&) noexcept = default;

    using join_group::give_errors;
    bool await_ready() const noexcept { return members_.size() == 0; }

    template <task_promise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        joins(h);
        left_ = members_.size() + 1;
        return begin();
    }

    auto await_resume() {
        rethrow_first();
        return members_.values();
    }

    auto outcome() -> std::expected<decltype(std::declval<Members&>().values()), error> {
        if (stopped_ && !failed_) return std::unexpected(stopped_error("when_all"));
        try {
            return await_resume();
        } catch (const exception& e) {
            return std::unexpected(e.error());
        }
    }

private:
    std::coroutine_handle<> member_ended(std::size_t index, bool stopped,
                                         bool failed) noexcept override {
        stopped_ = stopped_ || stopped;
        if (failed && !failed_) {
            failed_ = true;
            first_failure_ = index;
            members_.visit([](auto& m, std::size_t) { m.cancel(); });
        }
        return one_less();
    }

    void start_members() noexcept override {
        members_.visit([this](auto& m, std::size_t index) {
            m.start(*this, index, owner(), parent(), "when_all", failed_);
        });
    }

    std::coroutine_handle<> one_less() noexcept override {
        if (--left_ != 0) return std::noop_coroutine();
        return finish(stopped_ && !failed_);
    }

    void rethrow_first() {
        if (!failed_) return;
        members_.visit([this](auto& m, std::size_t index) {
            if (index == first_failure_) m.take();
        });
    }

    Members members_;
    std::size_t left_ = 0;
    std::size_t first_failure_ = 0;
    bool stopped_ = false;
    bool failed_ = false;
};

}  // namespace detail

/// Runs all of them together and gives their values as a tuple (`unit` for void). When one throws,
/// the others are cancelled and awaited, and its exception is thrown. Resumes where the last one
/// ended. Cancelling it cancels all.
template <detail::awaitable... A>
    requires(sizeof...(A) != 0)
auto when_all(A&&... operations) {
    using members = detail::pack<detail::await_result<A>...>;
    return detail::when_all_operation<members>(std::in_place,
                                               detail::to_task(std::forward<A>(operations))...);
}

/// Awaits a range of tasks or operations of one type, which are moved out of it (so a container is
/// passed by `std::move`); gives a vector. Without members it completes at once.
template <detail::awaitable_range R>
auto when_all(R&& operations) {
    return detail::when_all_operation<detail::range_of<R>>(std::in_place, std::in_place,
                                                           std::forward<R>(operations));
}

/// Refuses all else, with a sentence.
template <class... A>
auto when_all(A&&...) {
    return detail::refuse_members<A...>();
}

}  // namespace coracle
