#pragma once

#include <coracle/runtime/when_all.hpp>

#include <variant>

namespace coracle {

/// Which of several ended first, and with what.
template <class T>
struct when_any_result {
    std::size_t index;
    T value;
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
template <class Members>
class [[nodiscard]] when_any_operation final : crew {
    using traits = decltype(traits_of(std::declval<Members&>()));

public:
    using result_type = when_any_result<typename traits::value>;

    template <class... Source>
    explicit when_any_operation(std::in_place_t, Source&&... s)
        : members_(std::forward<Source>(s)...) {}
    when_any_operation(when_any_operation&&) noexcept = default;

    using crew::give_errors;
    bool await_ready() const noexcept { return false; }

    template <task_promise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        joins(h);
        left_ = members_.size() + 1;
        return begin();
    }

    result_type await_resume() {
        if (!won_) throw_exception(no_winner());
        return {winner_, traits::take(members_, winner_)};
    }

    std::expected<result_type, error> outcome() {
        if (!won_) return std::unexpected(no_winner());
        try {
            return await_resume();
        } catch (const exception& e) {
            return std::unexpected(e.error());
        }
    }

private:
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
        if (members_.size() == 0) return {std::errc::invalid_argument, "when_any"};
        return stopped_error("when_any");
    }

    void start_members() noexcept override {
        members_.visit([this](auto& m, std::size_t index) {
            m.start(*this, index, owner(), parent(), "when_any", won_);
        });
    }

    std::coroutine_handle<> one_less() noexcept override {
        if (--left_ != 0) return std::noop_coroutine();
        return finish(!won_);
    }

    Members members_;
    std::size_t left_ = 0;
    std::size_t winner_ = 0;
    bool won_ = false;
};

}  // namespace detail

/// Runs all of them until the first one ends, by a value or by an exception; the others are
/// cancelled and awaited. Gives the index of the winner and its value (a `std::variant` when the
/// types differ, `unit` for void), or throws its exception. Cancelling it cancels all.
template <detail::awaitable... A>
    requires(sizeof...(A) != 0)
auto when_any(A&&... operations) {
    using members = detail::pack<detail::await_result<A>...>;
    return detail::when_any_operation<members>(std::in_place,
                                               detail::to_task(std::forward<A>(operations))...);
}

/// The same for a range of tasks or operations of one type, which are moved out of it (so a
/// container is passed by `std::move`). Of no members it fails with `std::errc::invalid_argument`.
template <detail::awaitable_range R>
auto when_any(R&& operations) {
    return detail::when_any_operation<detail::range_of<R>>(std::in_place, std::in_place,
                                                           std::forward<R>(operations));
}

}  // namespace coracle
