#include "base/exception_text.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>
#include <typeinfo>
#include <utility>

namespace coracle::detail {
namespace {

struct freed {
    void operator()(char* text) const noexcept { std::free(text); }
};

std::string name_of(const std::type_info& type) {
    int status = 0;
    const std::unique_ptr<char, freed> name(
        abi::__cxa_demangle(type.name(), nullptr, nullptr, &status));
    return name == nullptr ? type.name() : name.get();
}

/// Returns the exception that is nested in the current one, or null.
template <class T>
std::exception_ptr nested_in(const T& x) noexcept {
    const auto* const holder = dynamic_cast<const std::nested_exception*>(std::addressof(x));
    return holder == nullptr ? nullptr : holder->nested_ptr();
}

/// The type that was thrown, where std::throw_with_nested has put one of its own around it.
std::string thrown_type(std::string name) {
    constexpr std::string_view around = "std::_Nested_exception<";  // of libstdc++
    if (!name.starts_with(around) || !name.ends_with('>')) return name;
    return name.substr(around.size(), name.size() - around.size() - 1);
}

exception_link link_of(const std::exception_ptr& e, std::exception_ptr& next) {
    try {
        std::rethrow_exception(e);
    } catch (const std::exception& x) {
        next = nested_in(x);
        return {thrown_type(name_of(typeid(x))), x.what()};
    } catch (const std::nested_exception& x) {
        next = x.nested_ptr();
        return {thrown_type(name_of(typeid(x))), {}};
    } catch (...) {
        next = nullptr;
        return {name_of(*abi::__cxa_current_exception_type()), {}};
    }
}

}  // namespace

std::vector<exception_link> exception_chain(std::exception_ptr e) {
    constexpr std::size_t most = 32;
    std::vector<exception_link> all;
    while (e != nullptr && all.size() != most) {
        std::exception_ptr next;
        all.push_back(link_of(e, next));
        e = std::move(next);
    }
    return all;
}

std::string describe_exception(const std::exception_ptr& e) {
    try {
        std::rethrow_exception(e);
    } catch (const std::exception& x) {
        return name_of(typeid(x)) + ": " + x.what();
    } catch (...) {
        return name_of(*abi::__cxa_current_exception_type());
    }
}

}  // namespace coracle::detail
