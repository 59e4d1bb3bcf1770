#pragma once

#include <coracle/runtime/when_all.hpp>

#include <variant>

namespace coracle {

/// The index and the value of the operation that ended first.
template <class T>
struct when_any_result {
    std::size_t index;
    T value;
};

/// The index of the operation that ended first, and the result of each: a tuple or a vector of
/// `std::expected<T, error>`.
template <class T>
struct any_results {
    std::size_t first;
    T results;
};

namespace detail {

template <class First, class... Rest>
struct any_value {
    using type = std::conditional_t<(std::is_same_v<First, Rest> && ...), First,
                                    std::variant<First, Rest...>>;
};

template <class... T>
struct any_traits {
    using value = typename any_value<stored<T>...>::type;

    static value take(pack<T...>& members, std::size_t index) {
        return take_at(members, index, std::index_sequence_for<T...>());
    }

private:
    template <std::size_t I>
    static value one(pack<T...>& members) {
        if constexpr (std::is_same_v<value, stored<std::tuple_element_t<I, std::tuple<T...>>>>) {
            return members.template at<I>().value();
        } else {
            return value(std::in_place_index<I>, members.template at<I>().value());
        }
    }
    template <std::size_t... I>
    static value take_at(pack<T...>& members, std::size_t index, std::index_sequence<I...>) {
        using taker = value (*)(pack<T...>&);
        static constexpr taker takers[] = {&one<I>...};
        return takers[index](members);
    }
};

template <class... T>
any_traits<T...> traits_of(const pack<T...>&);

template <class T>
struct range_traits {
    using value = stored<T>;
    static value take(range<T>& members, std::size_t index) { return members.at(index).value(); }
};
template <class T>
range_traits<T> traits_of(const range<T>&);

/// Starts all members; the first that ends of itself wins, the others are cancelled and awaited.
/// `Derived` says what is made of that: a `result_type`, and `result_type taken()` when one has
/// won.
template <class Derived, class Members>
class race : join_group {
public:
    template <class... Source>
    race(const char* name, Source&&... s) : members_(std::forward<Source>(s)...), name_(name) {}
    race(race&&) noexcept = default;

    using join_group::give_errors;
    bool await_ready() const noexcept { return false; }

    template <task_promise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        joins(h);
        left_ = members_.size() + 1;
        return begin();
    }

    auto await_resume() {
        if (!won_) throw_exception(no_winner());
        return self().taken();
    }

    auto outcome() {
        using result = std::expected<typename Derived::result_type, error>;
        if (!won_) return result(std::unexpect, no_winner());
        try {
            return result(self().taken());
        } catch (const exception& e) {
            return result(std::unexpect, e.error());
        }
    }

protected:
    ~race() = default;
    Members& members() noexcept { return members_; }
    std::size_t winner() const noexcept { return winner_; }

private:
    Derived& self() noexcept { return static_cast<Derived&>(*this); }

    std::coroutine_handle<> member_ended(std::size_t index, bool stopped, bool) noexcept override {
        if (!stopped && !won_) {
            won_ = true;
            winner_ = index;
            members_.visit([index](auto& m, std::size_t i) {
                if (i != index) m.cancel();
            });
        }
        return one_less();
    }

    error no_winner() const noexcept {
        if (members_.size() == 0) return {std::errc::invalid_argument, name_};
        return stopped_error(name_);
    }

    void start_members() noexcept override {
        members_.visit([this](auto& m, std::size_t index) {
            m.start(*this, index, owner(), parent(), name_, won_);
        });
    }

    std::coroutine_handle<> one_less() noexcept override {
        if (--left_ != 0) return std::noop_coroutine();
        return finish(!won_);
    }

    Members members_;
    const char* name_;
    std::size_t left_ = 0;
    std::size_t winner_ = 0;
    bool won_ = false;
};

template <class Members>
class [[nodiscard]] when_any_operation final : public race<when_any_operation<Members>, Members> {
    using traits = decltype(traits_of(std::declval<Members&>()));

public:
    using result_type = when_any_result<typename traits::value>;

    template <class... Source>
    explicit when_any_operation(std::in_place_t, Source&&... s)
        : when_any_operation::race("when_any", std::forward<Source>(s)...) {}

    result_type taken() { return {this->winner(), traits::take(this->members(), this->winner())}; }
};

template <class... T>
std::tuple<std::expected<T, error>...> results_of(pack<T...>& members, const char* name) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        // Braces, so that the members are read in order.
        return std::tuple<std::expected<T, error>...>{
            outcome_of<T>(members.template at<I>(), name)...};
    }(std::index_sequence_for<T...>());
}

template <class T>
std::vector<std::expected<T, error>> results_of(range<T>& members, const char* name) {
    std::vector<std::expected<T, error>> all;
    all.reserve(members.size());
    members.visit([&](auto& m, std::size_t) { all.push_back(outcome_of<T>(m, name)); });
    return all;
}

template <class Members>
class [[nodiscard]] when_any_results_operation final
    : public race<when_any_results_operation<Members>, Members> {
    static constexpr const char* name = "when_any_results";

public:
    using result_type = any_results<decltype(results_of(std::declval<Members&>(), name))>;

    template <class... Source>
    explicit when_any_results_operation(std::in_place_t, Source&&... s)
        : when_any_results_operation::race(name, std::forward<Source>(s)...) {}

    result_type taken() { return {this->winner(), results_of(this->members(), name)}; }
};

}  // namespace detail

/// Runs all of them until the first one ends, by a value or by an exception; the others are
/// cancelled and awaited. Returns the index of the winner and its value (a `std::variant` when the
/// types differ, `unit` for void), or throws its exception. Cancelling it cancels all.
template <detail::awaitable... A>
    requires(sizeof...(A) != 0)
auto when_any(A&&... operations) {
    using members = detail::pack<detail::await_result<A>...>;
    return detail::when_any_operation<members>(std::in_place,
                                               detail::to_task(std::forward<A>(operations))...);
}

/// Awaits a range of tasks or operations of one type, which are moved out of it (so a container is
/// passed by `std::move`). Without members it fails with `std::errc::invalid_argument`.
template <detail::awaitable_range R>
auto when_any(R&& operations) {
    return detail::when_any_operation<detail::range_of<R>>(std::in_place, std::in_place,
                                                           std::forward<R>(operations));
}

/// `when_any` that drops nothing: gives the index of the first that ended, and the result of each
/// as `std::expected<T, error>`, in their order. One that was cancelled has
/// `std::errc::operation_canceled`; one that ended in spite of it, because it could not be stopped
/// any more, has what it gave. For what `when_any` would lose: a task of several steps that has
/// taken something, `shielded`, `on`. An error of the first is in its place too, and not thrown;
/// exceptions other than `coracle::exception` are.
template <detail::awaitable... A>
    requires(sizeof...(A) != 0)
auto when_any_results(A&&... operations) {
    using members = detail::pack<detail::await_result<A>...>;
    return detail::when_any_results_operation<members>(
        std::in_place, detail::to_task(std::forward<A>(operations))...);
}

/// Awaits a range, which must have a member; the results are a vector.
template <detail::awaitable_range R>
auto when_any_results(R&& operations) {
    return detail::when_any_results_operation<detail::range_of<R>>(std::in_place, std::in_place,
                                                                   std::forward<R>(operations));
}

/// Refuses all else, with a sentence.
template <class... A>
auto when_any(A&&...) {
    return detail::refuse_members<A...>();
}

/// Refuses all else, with a sentence.
template <class... A>
auto when_any_results(A&&...) {
    return detail::refuse_members<A...>();
}

}  // namespace coracle
